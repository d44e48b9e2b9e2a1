// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "kserve/datatypes.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tensoa::remote {
namespace {

using Name = std::pair<DType, std::string_view>;

constexpr std::array kNames{Name{DType::kBool, "BOOL"}, Name{DType::kU8, "UINT8"},
                            Name{DType::kI8, "INT8"},   Name{DType::kI16, "INT16"},
                            Name{DType::kI32, "INT32"}, Name{DType::kI64, "INT64"},
                            Name{DType::kF16, "FP16"},  Name{DType::kBF16, "BF16"},
                            Name{DType::kF32, "FP32"},  Name{DType::kF64, "FP64"}};

}  // namespace

std::string_view kserve_name(DType dtype) noexcept {
  const auto* const found = std::ranges::find(kNames, dtype, &Name::first);
  return found == kNames.end() ? "unknown" : found->second;
}

std::optional<DType> dtype_of(std::string_view kserve_name) noexcept {
  const auto* const found = std::ranges::find(kNames, kserve_name, &Name::second);
  if (found == kNames.end()) return std::nullopt;
  return found->first;
}

}  // namespace tensoa::remote
