// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <alpaka/alpaka.hpp>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "tensoa/core/error.hpp"

namespace tensoa::accel {
namespace detail {

/// The kernel around a functor of one row.
struct RowKernel {
  ALPAKA_NO_HOST_ACC_WARNING
  template <class Acc, class Functor>
  ALPAKA_FN_ACC void operator()(const Acc& acc, const Functor& functor,
                                ::alpaka::Idx<Acc> rows) const {
    for (const auto row : ::alpaka::uniformElements(acc, rows)) {
      functor(static_cast<std::size_t>(row));
    }
  }
};

/// Threads side by side where the accelerator is a GPU; on the CPU one thread takes a block of rows.
template <class Acc>
auto divide_rows(::alpaka::Idx<Acc> rows) {
  using Idx = ::alpaka::Idx<Acc>;
  using WorkDiv = ::alpaka::WorkDivMembers<::alpaka::Dim<Acc>, Idx>;
  constexpr bool kCpu = std::is_same_v<::alpaka::Dev<Acc>, ::alpaka::DevCpu>;
  constexpr Idx kThreads = kCpu ? 1 : 256;
  constexpr Idx kElements = kCpu ? 1024 : 1;
  constexpr Idx kRows = kThreads * kElements;
  // The most blocks of a grid; uniformElements strides over the remaining rows.
  constexpr Idx kMostBlocks = std::numeric_limits<int>::max();
  const Idx blocks = std::min<Idx>(rows / kRows + (rows % kRows != 0 ? 1 : 0), kMostBlocks);
  return WorkDiv(blocks, kThreads, kElements);
}

}  // namespace detail

/// Calls `functor(i)` for each row i below `rows`, on an alpaka queue.
///
///     for_each_row<Acc>(queue, view.size(), Fill{view});
///
/// @tparam Acc alpaka's accelerator, of one dimension, on the device of the queue
/// @param functor has `void operator()(std::size_t) const`, for the device too (ALPAKA_FN_ACC);
/// trivially copyable, and copied at the call. Rows are taken in any order, several at a time. Views
/// of collections are fit for members
/// @throws ConfigError where `rows` is more than the index type of `Acc` can count
///
/// *Stream order*: enqueued, before and after models and other kernels; what its views show must stay
/// alive until the queue has got there.
template <class Acc, class Queue, class Functor>
void for_each_row(Queue& queue, std::size_t rows, const Functor& functor) {
  static_assert(::alpaka::Dim<Acc>::value == 1,
                "for_each_row: expected an accelerator of 1 dimension");
  static_assert(std::is_trivially_copyable_v<Functor>,
                "for_each_row: the functor goes to the device");
  using Idx = ::alpaka::Idx<Acc>;
  if (rows == 0) return;
  if (!std::in_range<Idx>(rows)) {
    throw ConfigError("for_each_row: " + std::to_string(rows) +
                      " rows are more than the accelerator's index type can count, " +
                      std::to_string(std::numeric_limits<Idx>::max()) + "; take a wider one");
  }
  const auto count = static_cast<Idx>(rows);
  ::alpaka::exec<Acc>(queue, detail::divide_rows<Acc>(count), detail::RowKernel{}, functor, count);
}

}  // namespace tensoa::accel
