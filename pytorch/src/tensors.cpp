// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensors.hpp"

#include <ATen/Context.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tensoa::pytorch {
namespace {

constexpr std::array<std::pair<DType, c10::ScalarType>, 10> kDTypes{{
    {DType::kBool, c10::ScalarType::Bool},
    {DType::kU8, c10::ScalarType::Byte},
    {DType::kI8, c10::ScalarType::Char},
    {DType::kI16, c10::ScalarType::Short},
    {DType::kI32, c10::ScalarType::Int},
    {DType::kI64, c10::ScalarType::Long},
    {DType::kF16, c10::ScalarType::Half},
    {DType::kBF16, c10::ScalarType::BFloat16},
    {DType::kF32, c10::ScalarType::Float},
    {DType::kF64, c10::ScalarType::Double},
}};
static_assert(std::ranges::all_of(kDTypes, [](const auto& pair) {
  return &pair == &kDTypes[static_cast<std::size_t>(pair.first)];
}));

}  // namespace

c10::ScalarType to_torch(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].second; }

c10::Device to_torch(Device device) {
  if (device.is_cpu()) return c10::kCPU;
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(device.index)};
}

at::Tensor wrap(const TensorView& view) {
  const c10::Device device = to_torch(view.device);
  return at::for_blob(view.data, {view.size_of_dim.data(), view.rank})
      .strides(at::IntArrayRef(view.stride_of_dim.data(), view.rank))
      .options(c10::TensorOptions().dtype(to_torch(view.dtype)).device(device))
      .target_device(device)
      .make_tensor();
}

std::string describe(const at::Tensor& tensor) {
  const auto* known = std::ranges::find(kDTypes, tensor.scalar_type(),
                                        [](const auto& pair) { return pair.second; });
  std::string text = known != kDTypes.end() ? std::string(name_of(known->first))
                                            : c10::toString(tensor.scalar_type());
  text += '[';
  for (std::int64_t dim = 0; dim < tensor.dim(); ++dim) {
    text += (dim > 0 ? ", " : "") + std::to_string(tensor.size(dim));
  }
  return text + "] on " + tensor.device().str();
}

}  // namespace tensoa::pytorch
