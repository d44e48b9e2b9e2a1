// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tensoa/engine/model.hpp"

namespace tensoa::sched {

/// What one batch costs on a device, in microseconds.
struct BatchCost {
  std::size_t rows = 0;    ///< of its largest collection; at least 1
  double call_us = 0;      ///< until the answer is there
  double transfer_us = 0;  ///< of columns that lie elsewhere: inputs there, answers back
};

/// Says on which device a batch of a model is done soonest, from what batches cost when they were
/// tried: a small network is not sent to a GPU where it would be slower.
///
///     sched::Placement placement("mlp");
///     for (const auto& [points, answers] : typical_batches) {        // small ones, large ones
///       placement.measure(Device::cpu(), cpu_model, plan, points, answers);
///       placement.measure(Device::cuda(0), gpu_model, plan, points, answers);
///     }
///     const Queue& queue = queue_on(placement.device(batch.size()));
///
/// Between measured sizes costs are interpolated; a smaller batch than all of them costs as much as
/// the smallest, a larger one in proportion to the largest. Whoever runs the program has the last
/// word: TENSOA_PLACEMENT in the environment, "cpu", "cuda:1", or "auto" for a choice, goes before
/// `always`, which goes before measurements. Where one of them names a device, others are not
/// measured, so that no model is loaded there for nothing.
///
/// *Threads*: const members may be called from any number of threads once all is measured.
class Placement {
 public:
  /// @param name of the model, for messages
  /// @param always the device of all batches; none where there shall be a choice
  /// @throws ConfigError, DeviceError when TENSOA_PLACEMENT is no device, or one that is not there
  explicit Placement(std::string name, std::optional<Device> always = {});

  /// Runs `model` on `device`, with copies of the columns of a typical batch: the model is then warm
  /// there, and this size of batch has a cost. Waits. Where two or more devices have costs it logs
  /// the line of explain() for this size, at LogLevel::kInfo.
  ///
  /// The transfers that are counted are those of columns that are not on `device`: the collections of
  /// the inputs go there, the columns that the model writes come back.
  ///
  /// @param model the one that would run on `device`: the same everywhere, or a package for each
  /// @param plan what will run; stays as it is
  /// @param typical a batch, one collection for each layout of the plan in its order, all on one
  /// device; stays as it is, also the collections of outputs
  /// @throws as Model::forward and Plan::rebind
  template <CompilationType kCompilation, template <template <class> class> class... Layouts,
            DeviceLike D>
  void measure(Device device, const Model<kCompilation>& model, const Plan<Layouts...>& plan,
               const PortableCollection<Layouts, D>&... typical) {
    if (always_ && *always_ != device) return;
    const Queue queue(device);
    std::tuple<PortableCollection<Layouts>...> there{room_for(typical, device)...};
    Plan<Layouts...> bound = plan;
    std::apply([&](auto&... collections) { bound.rebind(collections.view()...); }, there);
    const auto bring = [&](const Queue& by) {
      std::size_t place = 0;
      std::apply(
          [&](auto&... to) {
            ((place++ < bound.binding().input_collections
                  ? tensoa::detail::copy_rows(by, typical, to, to.capacity())
                  : 0),
             ...);
          },
          there);
    };
    const Device columns = std::array{typical.const_view().device_...}.front();
    time(device, columns, std::max({typical.size()...}), queue, bound.binding(), bring,
         [&] { model.forward(queue, bound); });
  }

  /// A cost that was found in another way. Takes the place of one of the same rows.
  /// @throws ConfigError for 0 rows
  void add(Device device, BatchCost cost);

  /// Where a batch whose largest collection has so many rows is done soonest. Allocates nothing.
  /// @throws ConfigError where there are no costs
  Device device(std::size_t rows) const;

  /// Why: "placed mlp, 16 rows, on cpu: 1.4 us against 5.2 us + 9.8 us transfers on cuda:0".
  /// @throws ConfigError where there are no costs
  std::string explain(std::size_t rows) const;

 private:
  struct OfDevice {
    Device device;
    std::vector<BatchCost> costs;  ///< by rows
  };

  /// Room for the rows of `typical`, and where it has one, for the row behind them: offsets of as many
  /// groups as it has rows end there.
  template <template <template <class> class> class Layout, DeviceLike D>
  static PortableCollection<Layout> room_for(const PortableCollection<Layout, D>& typical,
                                             Device device) {
    tensoa::detail::require_memory(typical.bytes(), "from");
    PortableCollection<Layout> room(std::min(typical.size() + 1, typical.capacity()), device);
    room.resize(typical.size());
    return room;
  }

  void time(Device device, Device columns, std::size_t rows, const Queue& queue,
            const Binding& binding, const std::function<void(const Queue& by)>& bring,
            const std::function<void()>& call);
  void require_costs() const;

  std::string name_;
  std::optional<Device> always_;
  std::string reason_;              ///< of always_
  std::vector<OfDevice> measured_;  ///< in the order they came
};

}  // namespace tensoa::sched
