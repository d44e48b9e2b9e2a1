// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/tensor_cost.hpp"

#include <ATen/Context.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>

#include "runtime/tensors.hpp"

// The library libtensoa_bench_torch.so.

namespace tensoa::bench {
namespace {

template <class Make>
std::size_t repeat(const TensorView& view, std::size_t count, Make make) {
  const c10::InferenceMode no_gradients;
  std::size_t elsewhere = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const at::Tensor tensor = make();
    elsewhere = tensor.const_data_ptr() == view.data ? 0 : tensor.nbytes();
  }
  return elsewhere;
}

std::size_t make(TensorMaking making, const TensorView& view, std::size_t count) {
  const at::IntArrayRef sizes(view.size_of_dim.data(), view.rank);
  const at::IntArrayRef strides(view.stride_of_dim.data(), view.rank);
  const c10::Device device = pytorch::to_torch(view.device);
  const auto options = c10::TensorOptions().dtype(pytorch::to_torch(view.dtype)).device(device);
  switch (making) {
    case TensorMaking::kBind:
      return repeat(view, count, [&] { return pytorch::wrap(view); });
    case TensorMaking::kFromBlob:
      return repeat(view, count, [&] {
        return at::from_blob(view.data, sizes, strides, /*deleter=*/{}, options, device);
      });
    case TensorMaking::kFromBlobQuery:
      return repeat(view, count, [&] { return at::from_blob(view.data, sizes, strides, options); });
  }
  return 0;
}

}  // namespace
}  // namespace tensoa::bench

extern "C" __attribute__((visibility("default")))
const tensoa::bench::MakeTensors tensoa_bench_make_tensors = tensoa::bench::make;
