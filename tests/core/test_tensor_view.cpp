// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/tensor_view.hpp"

#include <gtest/gtest.h>

namespace tensoa {
namespace {

TEST(TensorView, CountsElementsAndBytes) {
  TensorView view;
  view.dtype = DType::kI64;
  view.rank = 2;
  view.size_of_dim = {5, 3};
  EXPECT_EQ(view.elements(), 15);
  EXPECT_EQ(view.bytes(), 120U);
  EXPECT_EQ(to_string(view), "int64[5, 3] on cpu");
}

}  // namespace
}  // namespace tensoa
