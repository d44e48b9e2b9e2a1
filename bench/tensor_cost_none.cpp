// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/tensor_cost.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::bench {

void require_torch() {
  throw ConfigError(
      "binding: compares with tensors of torch, which this tensoa was built without; use one "
      "that is built with TENSOA_PYTORCH=ON");
}

std::size_t make_tensors(TensorMaking /*making*/, const TensorView& /*view*/,
                         std::size_t /*count*/) {
  require_torch();
  return 0;
}

ModelOptions in_float64() {
  throw ConfigError(
      "this needs TorchScript in float64, which this tensoa was built without; use one that is "
      "built with TENSOA_PYTORCH=ON");
}

}  // namespace tensoa::bench
