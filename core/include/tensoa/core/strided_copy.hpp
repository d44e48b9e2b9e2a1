// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "tensoa/core/queue.hpp"
#include "tensoa/core/tensor_view.hpp"

namespace tensoa {

/// Copies each element of `from` to the same place of `to`, in the order of `queue`: between any strides,
/// and from one dtype to another.
///
/// Elements are converted as C++ does: to bool by `!= 0`, to float16 and bfloat16 by way of float32, to
/// the nearest, even where two are as near. What an integer cannot hold becomes an unspecified number.
///
/// On the CPU, and within one GPU, all of that works. A build without a CUDA compiler has no kernels: within
/// a GPU it does not convert and not broadcast, and is slow where elements do not lie side by side. The same
/// holds between host and GPU, in all builds.
/// @param to,from of the same sizes, which do not share memory; strides are 0 or more, those of `to` at
///     least 1 in dimensions of several elements
/// @return the bytes written
/// @throws ConfigError for other sizes or strides, or where a kernel is missing; DeviceError
/// *Stream order*: as copy_bytes.
std::size_t strided_copy(const Queue& queue, const TensorView& to, const TensorView& from);

/// One of several copies.
struct TensorCopy {
  TensorView to;
  TensorView from;
};

/// Makes several copies, as strided_copy makes one. None writes what another one reads or writes. Those within
/// one GPU are one kernel for each 32, and tensors of one form at one distance from each other count as one: a
/// launch for each would take longer than the copies of a small event.
/// @return the bytes written
/// @throws as strided_copy; copies before the one at fault may have been enqueued
/// *Stream order*: as copy_bytes.
std::size_t strided_copies(const Queue& queue, std::span<const TensorCopy> copies);

/// Makes the copies `copy_of(i)`, 0 <= i < `count`, and allocates nothing.
template <class CopyOf>
std::size_t strided_copies(const Queue& queue, std::size_t count, const CopyOf& copy_of) {
  std::array<TensorCopy, 32> some;
  std::size_t bytes = 0;
  for (std::size_t first = 0; first < count; first += some.size()) {
    const std::size_t now = std::min(some.size(), count - first);
    for (std::size_t i = 0; i < now; ++i) some[i] = copy_of(first + i);
    bytes += strided_copies(queue, std::span(some).first(now));
  }
  return bytes;
}

}  // namespace tensoa
