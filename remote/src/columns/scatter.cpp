// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "columns/scatter.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "columns/runs.hpp"

namespace tensoa::remote {
namespace {

/// Copies `bytes` bytes, whatever pieces they are in.
void copy_out(protobuf::Bytes& from, std::byte* to, std::size_t bytes) {
  protobuf::Bytes taken = from.take(bytes);
  taken.for_each_part([&](protobuf::Piece part) {
    std::memcpy(to, part.data(), part.size());
    to += part.size();
  });
}

/// Rows of a few elements in pieces, to columns: [n, k] with any strides.
template <std::size_t kSize>
void scatter_rows(protobuf::Bytes& from, std::byte* to, const std::array<std::int64_t, 2>& sizes,
                  const std::array<std::int64_t, 2>& strides) {
  const auto row_bytes = static_cast<std::size_t>(sizes[1]) * kSize;
  const auto write_row = [&](const std::byte* row, std::byte* place) {
    for (std::int64_t i = 0; i < sizes[1]; ++i) {
      std::memcpy(place, row, kSize);
      row += kSize;
      place += strides[1] * static_cast<std::int64_t>(kSize);
    }
  };
  std::vector<std::byte> split(row_bytes);  // a row that lies in several pieces
  for (std::int64_t left = sizes[0]; left > 0;) {
    const protobuf::Piece piece = from.contiguous();
    const auto whole = std::min(left, static_cast<std::int64_t>(piece.size() / row_bytes));
    const std::byte* row = piece.data();
    for (std::int64_t i = 0; i < whole; ++i) {
      write_row(row, to);
      row += row_bytes;
      to += strides[0] * static_cast<std::int64_t>(kSize);
    }
    from.take(static_cast<std::size_t>(whole) * row_bytes);
    left -= whole;
    if (left == 0 || whole > 0) continue;
    copy_out(from, split.data(), row_bytes);
    write_row(split.data(), to);
    to += strides[0] * static_cast<std::int64_t>(kSize);
    --left;
  }
}

void scatter_rows(protobuf::Bytes& from, const TensorView& to) {
  auto* const data = static_cast<std::byte*>(to.data);
  const std::array sizes{to.size_of_dim[0], to.size_of_dim[1]};
  const std::array strides{to.stride_of_dim[0], to.stride_of_dim[1]};
  switch (size_of(to.dtype)) {
    case 1:
      return scatter_rows<1>(from, data, sizes, strides);
    case 2:
      return scatter_rows<2>(from, data, sizes, strides);
    case 4:
      return scatter_rows<4>(from, data, sizes, strides);
    default:
      return scatter_rows<8>(from, data, sizes, strides);
  }
}

}  // namespace

void scatter(protobuf::Bytes& from, const TensorView& to) {
  if (to.elements() == 0) return;
  const Runs runs(to);
  if (to.rank == 2 && runs.bytes() == size_of(to.dtype)) return scatter_rows(from, to);
  runs.for_each([&](std::byte* run) { copy_out(from, run, runs.bytes()); });
}

}  // namespace tensoa::remote
