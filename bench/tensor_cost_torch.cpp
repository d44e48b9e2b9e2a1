// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/tensor_cost.hpp"

#include <string>

#include "tensoa/core/error.hpp"
#include "tensoa/core/own_library.hpp"
#include "tensoa/pytorch/options.hpp"

namespace tensoa::bench {
namespace {

MakeTensors library() {
  std::string why;
  if (const void* found =
          find_in_own_library("libtensoa_bench_torch.so", "tensoa_bench_make_tensors", why)) {
    return *static_cast<const MakeTensors*>(found);
  }
  throw ConfigError(
      "binding: compares with tensors of torch, and libtensoa_bench_torch.so, expected next to the "
      "program, cannot be loaded: " +
      why);
}

MakeTensors opened() {
  static const MakeTensors function = library();
  return function;
}

}  // namespace

void require_torch() { opened(); }

std::size_t make_tensors(TensorMaking making, const TensorView& view, std::size_t count) {
  return opened()(making, view, count);
}

ModelOptions in_float64() { return pytorch::TorchScriptOptions{.dtype = DType::kF64}; }

}  // namespace tensoa::bench
