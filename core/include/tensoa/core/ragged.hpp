// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tensoa/core/queue.hpp"
#include "tensoa/core/tensor_view.hpp"

/// @file
/// Dense tensors of groups of rows that differ in number. Group g is the rows
/// [offsets[g], offsets[g + 1]); offsets are [groups + 1], int32 or int64, ascending. No function reads
/// outside the tensors that it is given: offsets below 0 or above the number of rows are limited to these.
///
/// On a GPU each function is one kernel; a build without a CUDA compiler has none and throws ConfigError.
/// All tensors lie on the device of the queue.
/// *Stream order*: as copy_bytes.

namespace tensoa {

/// Writes the first rows of each group, and zeros after them.
/// @param to [groups, length, …], row-major, of the dtype of `values`
/// @param values [rows, …], strides from 0 on
/// @return the bytes of `to`
/// @throws ConfigError for sizes, dtypes or strides that do not fit; DeviceError
std::size_t pad_rows(const Queue& queue, const TensorView& to, const TensorView& values,
                     const TensorView& offsets);

/// Writes which rows of a padded tensor are rows of a group.
/// @param to [groups, length] bool, row-major
/// @return the bytes of `to` @throws as pad_rows
std::size_t write_mask(const Queue& queue, const TensorView& to, const TensorView& offsets);

/// Writes the number of the group of each row: -1 before the first group, the number of groups after the
/// last.
/// @param to [rows] int64, row-major
/// @return the bytes of `to` @throws as pad_rows
std::size_t write_segments(const Queue& queue, const TensorView& to, const TensorView& offsets);

}  // namespace tensoa
