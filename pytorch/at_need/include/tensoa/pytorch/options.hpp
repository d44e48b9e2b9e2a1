// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "tensoa/core/dtype.hpp"

namespace tensoa::pytorch {

/// How a TorchScript file is loaded: `Model<> model("network.pt", pytorch::TorchScriptOptions{.dtype =
/// DType::kF64})`.
struct TorchScriptOptions {
  static constexpr std::string_view kOptionsOf = "TorchScript (pytorch::TorchScriptOptions)";

  /// The dtype that weights and buffers of floating point are converted to; that of the
  /// file where it is empty.
  std::optional<DType> dtype = {};
};

}  // namespace tensoa::pytorch
