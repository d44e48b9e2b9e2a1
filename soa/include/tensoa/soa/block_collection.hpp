// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <memory_resource>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/soa/impl/block_layout.hpp"
#include "tensoa/soa/portable_collection.hpp"

/// @file
/// Several layouts, each with its own number of rows, in one allocation.
///
///     template <template <class> class F>
///     struct Collision {
///       F<Block<Hit>> hits;
///       F<Block<Edge>> edges;
///     };
///     PortableCollection<Collision> event({n_hits, n_edges}, Device::cpu());
///     auto v = event.view();
///     v.hits.x[i] = v.edges.score[j];
///
/// Each member of the view is an ordinary View of its layout.

namespace tensoa {

/// One number of rows for each block, in their order: `{n_hits, n_edges}`, integers of any type.
template <std::size_t kBlocks>
class BlockSizes {
 public:
  /// @throws ConfigError for a negative number
  template <std::integral... Sizes>
  BlockSizes(Sizes... sizes)  // NOLINT(google-explicit-constructor): written as {n_hits, n_edges}
      : sizes_{checked(sizes)...} {
    static_assert(sizeof...(Sizes) == kBlocks,
                  "give one number of rows for each block, in the order of the blocks");
  }
  BlockSizes(const std::array<std::size_t, kBlocks>& sizes)  // NOLINT(google-explicit-constructor)
      : sizes_(sizes) {}

  const std::array<std::size_t, kBlocks>& get() const noexcept { return sizes_; }

 private:
  static std::size_t checked(std::integral auto size) {
    if (!std::in_range<std::size_t>(size)) {
      throw ConfigError("PortableCollection: a block of " + std::to_string(size) +
                        " rows is impossible; expected 0 or more");
    }
    return static_cast<std::size_t>(size);
  }

  std::array<std::size_t, kBlocks> sizes_;
};

/// The layout of blocks as views: `v.hits` is a View<Hit>. Trivially copyable, kernels take it by
/// value.
template <template <template <class> class> class Layout>
using BlockViews = Layout<detail::BlockView>;

/// The same over const data.
template <template <template <class> class> class Layout>
using ConstBlockViews = Layout<detail::ConstBlockView>;

/// Owns the blocks of a layout in one allocation, one behind the other, each placed as in a
/// separate PortableCollection.
///
/// Ownership, moving and threads: as for a PortableCollection of columns. All views share one lease.
template <template <template <class> class> class Layout, DeviceLike D>
  requires(detail::kBlockCount<Layout> > 0)
class PortableCollection<Layout, D> {
  static constexpr std::size_t kBlocks = kMemberCount<Layout>;
  static_assert(detail::kBlockCount<Layout> == kBlocks,
                "a layout has columns or blocks, not both: put the columns into a layout of their "
                "own and make that a Block");

 public:
  using Sizes = std::array<std::size_t, kBlocks>;

  /// Room for `capacities[b]` rows in block b, which are its sizes too.
  /// @throws ConfigError naming the block for a negative or absurd capacity; DeviceError when the
  /// device is missing or full.
  PortableCollection(const BlockSizes<kBlocks>& capacities, const D& device)
      : sizes_(checked(capacities.get())),
        capacities_(sizes_),
        buffer_(DeviceTraits<D>::get(device), detail::block_offsets<Layout>(sizes_).back()),
        views_(make_views()) {}

  /// The same in memory of the caller's, as a PortableCollection of columns.
  /// @param memory of `device`; must outlive the collection
  /// @throws ConfigError, DeviceError; what `memory` throws when it is full
  PortableCollection(const BlockSizes<kBlocks>& capacities, const D& device,
                     std::pmr::memory_resource& memory)
      : sizes_(checked(capacities.get())),
        capacities_(sizes_),
        buffer_(DeviceTraits<D>::get(device), detail::block_offsets<Layout>(sizes_).back(), memory),
        views_(make_views()) {}

  PortableCollection(PortableCollection&& other) noexcept
      : sizes_(std::exchange(other.sizes_, {})),
        capacities_(std::exchange(other.capacities_, {})),
        buffer_(std::move(other.buffer_)),
        views_(std::exchange(other.views_, {})) {}
  PortableCollection& operator=(PortableCollection&& other) noexcept {
    sizes_ = std::exchange(other.sizes_, {});
    capacities_ = std::exchange(other.capacities_, {});
    buffer_ = std::move(other.buffer_);
    views_ = std::exchange(other.views_, {});
    return *this;
  }
  ~PortableCollection() = default;
  // Compilers show the line of a deleted function, and its message.
  PortableCollection(const PortableCollection&) = delete;  // copy(queue, from, to) copies rows
  PortableCollection& operator=(const PortableCollection&) = delete;  // copy(queue, from, to)

  /// Rows of each block.
  const Sizes& sizes() const noexcept { return sizes_; }
  const Sizes& capacities() const noexcept { return capacities_; }
  Device device() const noexcept { return buffer_.device(); }

  /// Bytes of the allocation, padding included.
  std::size_t bytes() const noexcept { return buffer_.size(); }

  /// Start of the allocation, kAlignment-aligned.
  std::byte* data() noexcept { return buffer_.data(); }
  const std::byte* data() const noexcept { return buffer_.data(); }

  /// Exposes `sizes[b]` rows of block b from now on: O(1), rows keep their contents and addresses.
  /// Views made before keep the old sizes; where one was another, a model refuses those of all
  /// blocks: bind or rebind `view()` again.
  /// @throws ConfigError naming the block whose capacity is less; then no size changes.
  void resize(const BlockSizes<kBlocks>& sizes) {
    detail::check_block_sizes<Layout>(sizes.get(), capacities_);
    if (sizes.get() == sizes_) return;
    sizes_ = sizes.get();
    const Lease lease = buffer_.renew_lease();
    detail::apply_fields<kBlocks>(views_, [&](auto&... view) {
      std::size_t block = 0;
      ((view.size_ = sizes_[block++], view.lease_ = lease), ...);
    });
  }

  /// A view of each block, writable. A copy of pointers.
  BlockViews<Layout> view() noexcept { return views_; }

  /// A view of each block, const. A copy of pointers.
  ConstBlockViews<Layout> const_view() const noexcept {
    return detail::map_fields<detail::ConstBlockView>(
        views_, [](const auto& view) { return detail::as_const(view); });
  }

 private:
  static const Sizes& checked(const Sizes& capacities) {
    std::size_t block = 0;
    detail::for_each_tag<Layout>(
        [&]<template <template <class> class> class Inner>(detail::Tag<Block<Inner>>) {
          detail::checked_capacity<Inner>(capacities[block], detail::name_of_block<Layout>(block));
          ++block;
        });
    return capacities;
  }

  BlockViews<Layout> make_views() noexcept {
    const auto offsets = detail::block_offsets<Layout>(capacities_);
    std::size_t block = 0;
    return detail::map_fields<detail::BlockView>(
        Layout<detail::Tagged>{},
        [&]<template <template <class> class> class Inner>(detail::Tag<Block<Inner>>) {
          const std::size_t b = block++;
          return view_at<Inner>(buffer_.data() + offsets[b], capacities_[b], device(),
                                buffer_.lease());
        });
  }

  Sizes sizes_;
  Sizes capacities_;
  Buffer buffer_;
  BlockViews<Layout> views_;
};

/// Copies the rows of every block of `from` into `to`, in the order of the queue; `to` gets the sizes
/// of `from`. One copy of memory where all capacities are equal, else plane by plane.
/// @param on a queue, of the CUDA device that takes part, if any
/// @return bytes enqueued
/// *Stream order*: both collections must stay alive, and `from` unchanged, until the queue has got
/// there.
/// @throws ConfigError naming the block of `from` that has more rows than `to` has room for, or when
/// one was moved from; DeviceError. `to` then keeps its sizes
template <QueueLike Q, template <template <class> class> class Layout, DeviceLike D, DeviceLike E>
  requires(detail::kBlockCount<Layout> > 0)
std::size_t copy(const Q& on, const PortableCollection<Layout, D>& from,
                 PortableCollection<Layout, E>& to) {
  const Queue& queue = QueueTraits<Q>::get(on);
  detail::require_memory(from.bytes(), "from");
  detail::require_memory(to.bytes(), "to");
  detail::check_block_sizes<Layout>(from.sizes(), to.capacities());
  std::size_t copied = 0;
  if (from.capacities() == to.capacities()) {
    copied = from.bytes();
    copy_bytes(queue, to.data(), to.device(), from.data(), from.device(), copied);
  } else {
    const auto from_offsets = detail::block_offsets<Layout>(from.capacities());
    const auto to_offsets = detail::block_offsets<Layout>(to.capacities());
    std::size_t block = 0;
    detail::for_each_tag<Layout>(
        [&]<template <template <class> class> class Inner>(detail::Tag<Block<Inner>>) {
          copied += detail::copy_planes<Inner>(
              queue, {from.data() + from_offsets[block], from.capacities()[block], from.device()},
              {to.data() + to_offsets[block], to.capacities()[block], to.device()},
              from.sizes()[block]);
          ++block;
        });
  }
  to.resize(from.sizes());
  return copied;
}

}  // namespace tensoa
