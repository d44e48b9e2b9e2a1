// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// The kernels of the operators of make_exported.py, as libraries of custom operators have them.
#include <ATen/TensorOperators.h>
#include <ATen/core/List.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/sum.h>
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

/// Of [n, k], which it takes for row-major.
at::Tensor sums(const at::Tensor& x) {
  return at::from_blob(x.data_ptr(), x.sizes(), x.options()).sum(1);
}

}  // namespace

TORCH_LIBRARY(tensoa_rows, library) {
  library.def("sums(Tensor x) -> Tensor",
              torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, sums));
}

TORCH_LIBRARY(tensoa_weights, library) {
  library.def("weighted(Tensor x, int[][] factors, float[][] terms) -> Tensor",
              torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, weighted));
}
