// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <vector>

#include "tensoa/core/tensor_view.hpp"
#include "tensoa/package/impl/per_queue.hpp"

namespace tensoa::pytorch {

/// Memory for the copies that one call makes of its inputs. Only grows.
class Scratch {
 public:
  /// Returns a packed tensor of the shape and dtype of `like`, in the memory of place `i`. Its contents
  /// are not defined; it is valid until the next `take` of the same place.
  TensorView take(std::size_t i, const TensorView& like);

 private:
  std::vector<at::Tensor> buffers_;  ///< bytes
};

/// The scratch memory of an engine.
using ScratchPool = package::PerQueue<Scratch>;

}  // namespace tensoa::pytorch
