// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/jit/api/module.h>

#include <string>

namespace tensoa::test {

/// A module in evaluation mode with the methods of `source` (TorchScript, each with the argument
/// self), the buffers mean (zeros), var (ones): float32[2], weight (halves): float32[4, 2], and the
/// attributes list (of two tensors) and numbers (of two integers).
inline torch::jit::Module module_of(const std::string& source) {
  torch::jit::Module module("Test");
  module.register_buffer("mean", at::zeros(2));
  module.register_buffer("var", at::ones(2));
  module.register_buffer("weight", at::full({4, 2}, 0.5));
  module.register_attribute("list", c10::ListType::ofTensors(),
                            c10::List<at::Tensor>({at::zeros(2), at::ones(2)}));
  module.register_attribute("numbers", c10::ListType::ofInts(), c10::List<int64_t>({1, 2}));
  module.define(source);
  module.eval();
  return module;
}

}  // namespace tensoa::test
