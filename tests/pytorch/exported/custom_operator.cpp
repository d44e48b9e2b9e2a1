// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// The kernel of the operator of make_exported.py, as a library of custom operators has it.
#include <ATen/TensorOperators.h>
#include <ATen/core/List.h>
#include <ATen/ops/tensor.h>
#include <torch/library.h>

#include <cstdint>
#include <vector>

namespace {

template <class T>
using Lists = c10::List<c10::List<T>>;

template <class T>
at::Tensor tensor_of(const c10::List<T>& elements, const at::Tensor& like) {
  return at::tensor(std::vector<T>(elements.begin(), elements.end())).to(like.options());
}

at::Tensor weighted(const at::Tensor& x, const Lists<std::int64_t>& factors,
                    const Lists<double>& terms) {
  return x * tensor_of<std::int64_t>(factors.get(1), x) + tensor_of<double>(terms.get(1), x);
}

}  // namespace

TORCH_LIBRARY(tensoa_weights, library) {
  library.def("weighted(Tensor x, int[][] factors, float[][] terms) -> Tensor",
              torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, weighted));
}
