// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "tensoa/core/dtype.hpp"

namespace tensoa::remote {

/// "FP32": what KServe calls a type.
std::string_view kserve_name(DType dtype) noexcept;

/// None: a type that columns cannot have, UINT16 or BYTES.
std::optional<DType> dtype_of(std::string_view kserve_name) noexcept;

}  // namespace tensoa::remote
