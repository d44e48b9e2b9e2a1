// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "tensoa/engine/loader.hpp"
#include "tensoa/engine/model_metadata.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {

/// Binds all blocks to other views, one for each collection: the inputs', then the outputs'. Allocates nothing.
/// @throws BindingError as append_block does; the binding is refused by calls then, until a rebind succeeds
void rebind(Binding& binding, std::span<const ViewReference> views);

/// A binding, and what the engine of one model on one device found out about it: what a Plan holds.
struct Planned {
  Binding binding;
  std::shared_ptr<const Prepared> prepared;
  std::uint64_t model;  ///< number of the model that made it
  Device device;
};

/// As for a binding. @throws BindingError for views that do not lie on the device of the plan
void rebind(Planned& plan, std::span<const ViewReference> views);

/// What rebind() needs of a view.
/// @param view a View or ConstView of `Layout`, which must outlive the reference
template <template <template <class> class> class Layout, class SomeView>
ViewReference reference_to(const SomeView& view) noexcept {
  constexpr bool kIsConst = std::is_same_v<SomeView, ConstView<Layout>>;
  static_assert(
      std::is_same_v<SomeView, View<Layout>> || kIsConst,
      "Plan::rebind: the view is not one of the layout at its place in the ModelMetadata");
  return {reinterpret_cast<const std::byte*>(&view.columns()),
          view.size_,
          view.capacity_,
          view.device_,
          kIsConst,
          view.lease_};
}

namespace detail {

/// @throws BindingError that names two blocks of one layout that lie, or whose offsets lie, in two
/// collections: a rebind would move both to one
void require_one_collection_each(const Binding& binding);

/// A collection of `rows` rows with room for one more, so that its columns can be offsets of `rows`
/// groups: the last one is where the last group ends.
/// @throws ConfigError, DeviceError
template <template <template <class> class> class Layout, std::integral Rows>
PortableCollection<Layout> collection_with_end(Rows rows, Device device) {
  // Its constructor throws, with the number as the caller gave it.
  if (!std::in_range<std::size_t>(rows)) return PortableCollection<Layout>(rows, device);
  PortableCollection<Layout> collection(static_cast<std::size_t>(rows) + 1, device);
  collection.resize(static_cast<std::size_t>(rows));
  return collection;
}

}  // namespace detail

/// A binding that a model has checked for one device, made once and rebound for each event: only
/// addresses, pitches and numbers of rows change.
///
///     auto plan = model.plan(metadata);
///     plan.rebind(hits.view(), edges.view(), edges.view());
///     model.forward(queue, plan);
///
/// Calls with another model, or on another device, are refused.
/// *Lifetime*: as its views; the collections must outlive the calls that use it. It may outlive the model.
/// *Threads*: belongs to one event in flight; every thread has its own. Copies are independent.
template <template <template <class> class> class... Layouts>
class Plan {
 public:
  /// Binds to other collections of the same layouts; each block gets the number of rows of its
  /// view. O(bound columns), allocates nothing.
  /// @param views one for each layout of the metadata, in its order: the inputs, then the outputs
  /// @throws BindingError, as append_block and ModelMetadata, and for views on another device; calls are
  /// then refused until a rebind succeeds. Also when the metadata had two collections of one layout, which
  /// one view cannot stand for: give the second a separate layout (one with a Sub of the first)
  template <class... Views>
    requires(sizeof...(Views) == sizeof...(Layouts))
  void rebind(const Views&... views) {
    if (!is_checked_) detail::require_one_collection_each(planned_.binding);
    is_checked_ = true;
    const ViewReference references[] = {reference_to<Layouts>(views)...};
    tensoa::rebind(planned_, references);
  }

  const Binding& binding() const noexcept { return planned_.binding; }

 private:
  template <CompilationType>
  friend class Model;

  explicit Plan(Planned planned) : planned_(std::move(planned)) {}

  Planned planned_;
  bool is_checked_ = false;  ///< that each layout has one collection; a rebind keeps it so
};

}  // namespace tensoa
