// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/tensor_view.hpp"

namespace tensoa {

std::string to_string(const TensorView& view) {
  std::string text(name_of(view.dtype));
  text += '[';
  for (std::size_t dim = 0; dim < view.rank; ++dim) {
    if (dim > 0) text += ", ";
    text += std::to_string(view.size_of_dim[dim]);
  }
  return text + "] on " + to_string(view.device);
}

}  // namespace tensoa
