// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensoa/core/tensor_view.hpp"

namespace tensoa::remote {

/// The stretches of memory, all of one length, that a strided tensor consists of in row-major order.
class Runs {
 public:
  explicit Runs(const TensorView& view) : view_(view), outer_(view.rank) {
    std::int64_t elements = 1;
    while (outer_ > 0 &&
           (view.size_of_dim[outer_ - 1] == 1 || view.stride_of_dim[outer_ - 1] == elements)) {
      elements *= view.size_of_dim[--outer_];
    }
    bytes_ = static_cast<std::size_t>(elements) * size_of(view.dtype);
  }

  /// Of one.
  std::size_t bytes() const noexcept { return bytes_; }

  /// Calls `visit(first byte)` with each in order; of a tensor that has elements.
  template <class Visit>
  void for_each(const Visit& visit) const {
    std::array<std::int64_t, kMaxRank> index{};
    const auto element = static_cast<std::int64_t>(size_of(view_.dtype));
    auto* run = static_cast<std::byte*>(view_.data);
    for (;;) {
      visit(run);
      std::size_t dim = outer_;
      for (;;) {
        if (dim == 0) return;
        --dim;
        run += view_.stride_of_dim[dim] * element;
        if (++index[dim] < view_.size_of_dim[dim]) break;
        run -= view_.size_of_dim[dim] * view_.stride_of_dim[dim] * element;
        index[dim] = 0;
      }
    }
  }

 private:
  TensorView view_;
  std::size_t outer_;  ///< dimensions that are not inside a run
  std::size_t bytes_;
};

}  // namespace tensoa::remote
