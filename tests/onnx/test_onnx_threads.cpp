// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support/process_threads.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/onnx/engines.hpp"
#include "tensors.hpp"

namespace tensoa {
namespace {

using test::binding_of;
using test::block_of;
using test::Lying;
using test::onnx_file;
using test::Tensor;

/// Calls the perceptron and compares. @return how many answers were others
int wrong_answers(const Model<>& model, std::int64_t rows, Lying lying) {
  const Queue queue(Device::cpu());
  const auto values = test::written_values("mlp", rows);
  int wrong = 0;
  for (int i = 0; i < 20; ++i) {
    Tensor features(DType::kF32, {rows, 15}, lying);
    features.set_bytes(values[0].bytes);
    Tensor score(DType::kF32, {rows, 1});
    model.forward(queue, binding_of({block_of("features", features)}, {block_of("score", score)}));
    wrong += score.bytes() == values[1].bytes ? 0 : 1;
  }
  return wrong;
}

TEST(OnnxThreads, ThreadsShareASessionThatHasNone) {
  onnx::register_engines();
  const std::size_t before = test::threads_of_this_process();
  const Model<> model(onnx_file("mlp"));
  EXPECT_EQ(wrong_answers(model, 257, Lying::kRowMajor), 0);
  EXPECT_EQ(test::threads_of_this_process(), before);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const std::int64_t rows = i % 3 == 0 ? 1 : i % 3 == 1 ? 16 : 257;
      wrong += wrong_answers(model, rows, i % 2 == 0 ? Lying::kRowMajor : Lying::kColumns);
    });
  }
  EXPECT_LE(test::threads_of_this_process(), before + threads.size());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(test::threads_of_this_process(), before);
}

}  // namespace
}  // namespace tensoa
