// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "engine/wire_plan.hpp"
#include "shared/device_region.hpp"
#include "shared/pinned_pool.hpp"
#include "shared/sharing.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/core/strided_copy.hpp"
#include "tensoa/engine/copy_report.hpp"

namespace tensoa::remote {

/// The columns of a call that are on a GPU, and where servers get them: in host memory, from which they go by
/// the wire, or in a region of the GPU's memory. All copies are in the order of the call's queue.
class DeviceColumns {
 public:
  /// By which way the columns go.
  enum class Way : std::uint8_t { kWire, kRegion };

  DeviceColumns(Queue queue, const Binding& binding, std::shared_ptr<PinnedPool> pool);
  ~DeviceColumns();
  DeviceColumns(const DeviceColumns&) = delete;
  DeviceColumns& operator=(const DeviceColumns&) = delete;

  const Queue& queue() const noexcept { return queue_; }

  /// The binding in host memory, which is there when Way::kWire is staged.
  const Binding& in_host_memory() const noexcept { return host_; }

  /// Where all blocks go by the region that one of their columns lies in; none where no column lies in one, where it
  /// has no room, or where blocks are made on the host (ragged, or converted).
  Sharing find_sharing(const ModelMetadataReply& metadata, const WirePlan& plan,
                       const std::string& subject);

  bool is_staged(Way way) const noexcept { return side(way).is_staged; }

  /// Enqueues the copies of the inputs. @throws DeviceError
  void stage(Way way);

  /// Enqueues the copies of the outputs. @throws DeviceError
  void write_back(Way way, CopyReport& copies);

  /// Of the inputs.
  const CopyReport& copies(Way way) const noexcept { return side(way).copies; }

  /// A server that was given up may still write to the region.
  void abandon();

 private:
  struct Side {
    std::vector<TensorCopy> inputs;
    std::vector<TensorCopy> outputs;
    CopyReport copies = {};
    bool is_staged = false;
  };

  Side& side(Way way) noexcept { return sides_[static_cast<std::size_t>(way)]; }
  const Side& side(Way way) const noexcept { return sides_[static_cast<std::size_t>(way)]; }

  void place_in_host_memory();

  Queue queue_;
  Binding binding_;
  Binding host_;
  std::shared_ptr<PinnedPool> pool_;
  PinnedBuffer pinned_;
  std::vector<DeviceScratch> scratch_;
  std::array<Side, 2> sides_;
};

}  // namespace tensoa::remote
