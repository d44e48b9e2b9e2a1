// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

#include "tensoa/core/tensor_view.hpp"

namespace tensoa::pytorch {

c10::ScalarType to_torch(DType dtype);

/// Nothing for a dtype that columns do not have.
std::optional<DType> from_torch(c10::ScalarType dtype);

c10::Device to_torch(Device device);

/// The same memory as a torch tensor: no copy, any strides from 0 on, no query of the pointer. Read-only
/// views are handed out as mutable, because torch has no others; the caller must have a proof that
/// the model does not write them (mutation_analysis.hpp).
at::Tensor wrap(const TensorView& view);

/// Makes of `tensor`, which is undefined or came from here with a view of the same dtype and device,
/// what wrap(view) would be: allocates nothing, unless the tensor has another owner.
void wrap_again(at::Tensor& tensor, const TensorView& view);

/// "float32[1000, 3] on cuda:0", as to_string(TensorView).
std::string describe(const at::Tensor& tensor);

}  // namespace tensoa::pytorch
