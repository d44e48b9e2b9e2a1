// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "strided.hpp"
#include "tensoa/core/dtype.hpp"
#include "tensoa/core/element.hpp"

// Common parts of the functions of ragged.hpp and their kernels. Compiled for the host and for GPUs.

namespace tensoa::detail {

/// Where groups of rows begin: group g is the rows [offset(g), offset(g + 1)).
struct Groups {
  const void* data = nullptr;
  std::int64_t stride = 1;  ///< in elements
  std::int64_t count = 0;   ///< groups; there is one offset more
  bool is_wide = false;     ///< int64, else int32

  TENSOA_HOST_DEVICE std::int64_t offset(std::int64_t g) const {
    return is_wide ? static_cast<const std::int64_t*>(data)[g * stride]
                   : std::int64_t{static_cast<const std::int32_t*>(data)[g * stride]};
  }

  /// The offset, limited to [0, rows].
  TENSOA_HOST_DEVICE std::int64_t limited(std::int64_t g, std::int64_t rows) const {
    const std::int64_t at = offset(g);
    return at < 0 ? 0 : at > rows ? rows : at;
  }
};

/// [groups, length, outer, inner], row-major, from [rows, outer, inner].
struct PaddedRows {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  Groups groups;
  DType dtype = DType::kF32;
  std::int64_t rows = 0;    ///< of `from`
  std::int64_t length = 0;  ///< rows of a group in `to`
  std::int64_t row_stride = 1;
  std::array<std::int64_t, 2> sizes{1, 1};  ///< of a row: outer, inner
  std::array<std::int64_t, 2> strides{0, 0};

  TENSOA_HOST_DEVICE std::int64_t row_elements() const { return sizes[0] * sizes[1]; }
  TENSOA_HOST_DEVICE std::int64_t elements() const {
    return groups.count * length * row_elements();
  }
};

/// [groups, length] bool.
struct GroupMask {
  bool* to = nullptr;
  Groups groups;
  std::int64_t length = 0;

  TENSOA_HOST_DEVICE std::int64_t elements() const { return groups.count * length; }
};

/// [rows] int64.
struct GroupSegments {
  std::int64_t* to = nullptr;
  Groups groups;
  std::int64_t rows = 0;

  TENSOA_HOST_DEVICE std::int64_t elements() const { return rows; }
};

/// More rows than a collection can have: the rows of a mask are not known.
constexpr std::int64_t kAnyRows = std::int64_t{1} << 62;

// Each writes element number `i`: what a thread of the kernel does.

TENSOA_HOST_DEVICE inline void write_element(const PaddedRows& padded, std::int64_t i) {
  const std::int64_t row_elements = padded.row_elements();
  const std::int64_t slot = i / row_elements;
  const std::int64_t element = i - slot * row_elements;
  const std::int64_t group = slot / padded.length;
  const std::int64_t row =
      padded.groups.limited(group, padded.rows) + (slot - group * padded.length);
  const bool is_there = row < padded.groups.limited(group + 1, padded.rows);
  const std::int64_t outer = element / padded.sizes[1];
  const std::int64_t inner = element - outer * padded.sizes[1];
  const std::int64_t place =
      row * padded.row_stride + outer * padded.strides[0] + inner * padded.strides[1];
  with_bits(padded.dtype, [&](auto bits) {
    using Bits = decltype(bits);
    reinterpret_cast<Bits*>(padded.to)[i] =
        is_there ? reinterpret_cast<const Bits*>(padded.from)[place] : Bits{0};
  });
}

TENSOA_HOST_DEVICE inline void write_element(const GroupMask& mask, std::int64_t i) {
  const std::int64_t group = i / mask.length;
  const std::int64_t rows =
      mask.groups.limited(group + 1, kAnyRows) - mask.groups.limited(group, kAnyRows);
  mask.to[i] = i - group * mask.length < rows;
}

/// The number of offsets up to row `i`, less one, by halving.
TENSOA_HOST_DEVICE inline void write_element(const GroupSegments& segments, std::int64_t i) {
  std::int64_t begin = 0;
  std::int64_t end = segments.groups.count + 1;
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (segments.groups.offset(middle) <= i) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  segments.to[i] = begin - 1;
}

}  // namespace tensoa::detail
