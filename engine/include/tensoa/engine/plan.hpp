// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"
#include "tensoa/engine/model_metadata.hpp"

namespace tensoa {

namespace detail {

/// The records of a view in layout order.
template <template <template <class> class> class Layout, class SomeView>
std::array<ColumnRecord, kFieldCount<Layout>> columns_of(const SomeView& view) {
  return apply_fields<kFieldCount<Layout>>(view.records(), [](const auto&... record) {
    return std::array<ColumnRecord, sizeof...(record)>{record.column...};
  });
}

/// Binds all blocks of one collection to the columns of another view of its layout.
void rebind(std::span<BoundBlock> blocks, std::size_t collection,
            std::span<const ColumnRecord> columns);

}  // namespace detail

/// A checked binding that is made once and rebound for each event: only addresses, pitches and
/// numbers of rows change.
///
///     Plan plan(metadata);
///     plan.rebind(hits.view(), edges.view(), edges.view());
///     model.forward(queue, plan);
///
/// *Lifetime*: as its views; the collections must outlive the calls that use it.
/// *Threads*: belongs to one event in flight; every thread has its own.
template <template <template <class> class> class... Layouts>
class Plan {
 public:
  explicit Plan(const ModelMetadata<Layouts...>& metadata) : binding_(metadata.binding()) {}

  /// Binds to other collections of the same layouts; each block takes the number of rows of its
  /// view. O(columns).
  /// @param views one for each layout of the metadata, in its order: the inputs, then the outputs
  /// @throws BindingError, as append_block
  template <class... Views>
    requires(sizeof...(Views) == sizeof...(Layouts))
  void rebind(const Views&... views) {
    std::size_t position = 0;
    (rebind_one<Layouts>(position++, views), ...);
    check(binding_);
  }

  const Binding& binding() const noexcept { return binding_; }

 private:
  template <template <template <class> class> class Layout, class SomeView>
  void rebind_one(std::size_t position, const SomeView& view) {
    static_assert(
        std::is_same_v<SomeView, View<Layout>> || std::is_same_v<SomeView, ConstView<Layout>>,
        "Plan::rebind: the view is not one of the layout at its place in the ModelMetadata");
    const auto columns = detail::columns_of<Layout>(view);
    if (position < binding_.input_collections) {
      detail::rebind(binding_.inputs, position, columns);
    } else {
      detail::rebind(binding_.outputs, position - binding_.input_collections, columns);
    }
  }

  Binding binding_;
};

}  // namespace tensoa
