// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/packing_baseline.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "tensoa/core/strided_copy.hpp"

namespace tensoa::bench {
namespace {

enum class Way { kToRows, kToColumns };

/// The elements of `columns`, one after the other in `rows`, or back.
template <Way kWay, class T>
void repack_as(const TensorView& columns, T* rows) {
  // Dimensions of one element fall away, so that the inner loop is as long as it can be.
  std::array<std::int64_t, kMaxRank> sizes{1, 1, 1, 1};
  std::array<std::int64_t, kMaxRank> strides{};
  std::size_t place = kMaxRank;
  for (std::size_t dim = columns.rank; dim-- > 0;) {
    if (columns.size_of_dim[dim] == 1) continue;
    sizes[--place] = columns.size_of_dim[dim];
    strides[place] = columns.stride_of_dim[dim];
  }
  T* const start = static_cast<T*>(columns.data);
  for (std::int64_t a = 0; a < sizes[0]; ++a) {
    for (std::int64_t b = 0; b < sizes[1]; ++b) {
      for (std::int64_t c = 0; c < sizes[2]; ++c) {
        T* const line = start + a * strides[0] + b * strides[1] + c * strides[2];
        if constexpr (kWay == Way::kToColumns) {
          for (std::int64_t d = 0; d < sizes[3]; ++d) line[d * strides[3]] = *rows++;
        } else if (strides[3] == 1) {
          rows = std::copy_n(line, sizes[3], rows);
        } else {
          for (std::int64_t d = 0; d < sizes[3]; ++d) *rows++ = line[d * strides[3]];
        }
      }
    }
  }
}

/// In host memory, as plain loops: what users write. @return bytes
template <Way kWay>
std::size_t repack(const TensorView& columns, void* rows) {
  switch (size_of(columns.dtype)) {
    case 1:
      repack_as<kWay>(columns, static_cast<std::uint8_t*>(rows));
      break;
    case 2:
      repack_as<kWay>(columns, static_cast<std::uint16_t*>(rows));
      break;
    case 4:
      repack_as<kWay>(columns, static_cast<std::uint32_t*>(rows));
      break;
    default:
      repack_as<kWay>(columns, static_cast<std::uint64_t*>(rows));
  }
  return columns.bytes();
}

std::size_t copy_whole(const Queue& queue, const TensorView& to, const TensorView& from) {
  copy_bytes(queue, to.data, to.device, from.data, from.device, from.bytes());
  return from.bytes();
}

}  // namespace

TensorView as_planes(TensorView view, std::size_t row_dimension) {
  std::int64_t stride = view.size_of_dim[row_dimension];
  view.stride_of_dim[row_dimension] = 1;
  for (std::size_t dim = view.rank; dim-- > 0;) {
    if (dim == row_dimension) continue;
    view.stride_of_dim[dim] = stride;
    stride *= view.size_of_dim[dim];
  }
  return view;
}

PackingBaseline::PackingBaseline(const Queue& queue, const Binding& columns, Packed form)
    : queue_(queue), rows_(columns), form_(form) {
  for (BoundBlock& block : rows_.inputs) inputs_.push_back(stage(block));
  for (BoundBlock& block : rows_.outputs) outputs_.push_back(stage(block));
}

TensorView PackingBaseline::allocate(TensorView view, Device device) {
  view.device = device;
  view.read_only = false;
  view.data = device.is_cpu() ? host_memory_.emplace_back(queue_.device(), view.bytes()).data()
                              : memory_.emplace_back(device, view.bytes()).data();
  return view;
}

PackingBaseline::Staged PackingBaseline::stage(BoundBlock& block) {
  Staged staged;
  const TensorView planes = as_planes(block.tensor, block.row_dimension());
  staged.columns = block.tensor;
  staged.columns_in_host = on_cpu() ? block.tensor : allocate(planes, Device::cpu());
  TensorView packed = planes;
  if (form_ == Packed::kRows) make_row_major(packed);
  staged.rows_in_host = lands_packed() ? staged.columns_in_host : allocate(packed, Device::cpu());
  staged.rows = on_cpu() ? staged.rows_in_host : allocate(packed, queue_.device());
  block.tensor = staged.rows;
  block.is_evenly_spaced = false;
  block.lease = {};
  return staged;
}

std::size_t PackingBaseline::to_host() {
  if (on_cpu()) return 0;
  std::size_t copied = 0;
  for (const Staged& block : inputs_) {
    copied += strided_copy(queue_, block.columns_in_host, block.columns);
  }
  queue_.wait();
  return copied;
}

std::size_t PackingBaseline::pack() {
  std::size_t copied = 0;
  if (lands_packed()) return copied;
  for (const Staged& block : inputs_) {
    copied += form_ == Packed::kPlanes
                  ? strided_copy(queue_, block.rows_in_host, block.columns_in_host)
                  : repack<Way::kToRows>(block.columns_in_host, block.rows_in_host.data);
  }
  return copied;
}

std::size_t PackingBaseline::to_device() {
  if (on_cpu()) return 0;
  std::size_t copied = 0;
  for (const Staged& block : inputs_) copied += copy_whole(queue_, block.rows, block.rows_in_host);
  return copied;
}

std::size_t PackingBaseline::bring_back() {
  if (on_cpu() && form_ == Packed::kPlanes) return unpack_on_device();
  std::size_t copied = 0;
  for (const Staged& block : outputs_) {
    if (!on_cpu()) copied += copy_whole(queue_, block.rows_in_host, block.rows);
  }
  queue_.wait();
  for (const Staged& block : outputs_) {
    if (!lands_packed()) {
      copied += repack<Way::kToColumns>(block.columns_in_host, block.rows_in_host.data);
    }
    if (!on_cpu()) copied += strided_copy(queue_, block.columns, block.columns_in_host);
  }
  queue_.wait();
  return copied;
}

std::size_t PackingBaseline::pack_on_device() {
  return strided_copies(queue_, inputs_.size(), [this](std::size_t i) {
    return TensorCopy{inputs_[i].rows, inputs_[i].columns};
  });
}

std::size_t PackingBaseline::unpack_on_device() {
  return strided_copies(queue_, outputs_.size(), [this](std::size_t i) {
    return TensorCopy{outputs_[i].columns, outputs_[i].rows};
  });
}

std::size_t PackingBaseline::run(const Model<>& model) {
  std::size_t copied = to_host() + pack() + to_device();
  const CopyReport report = model.forward(queue_, rows_);
  copied += report.bytes_in + report.bytes_out;
  return copied + bring_back();
}

}  // namespace tensoa::bench
