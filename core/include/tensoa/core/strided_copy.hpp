// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

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

}  // namespace tensoa
