// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// TENSOA_RANDOM_PROGRAMS programs from seed TENSOA_TEST_SEED on; `make fuzz-scripts` runs thousands.

#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "random_program.hpp"
#include "script.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/pytorch/engines.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

constexpr std::size_t kRows = 4;
constexpr std::size_t kBlockBytes = kRows * 2 * sizeof(float);

template <template <class> class F>
struct Inputs {
  F<float> x0, x1, y0, y1, z0, z1;
};
template <template <class> class F>
struct Outputs {
  F<float> out0, out1;
};

using Numbers = std::array<float, kRows * 2>;  ///< a block of two columns, one after the other

/// float32[4, 2] over columns, as the engine binds them.
at::Tensor tensor_of(Numbers& numbers) {
  return at::from_blob(numbers.data(), {kRows, 2}, {1, kRows}, at::kFloat);
}

/// The results of torch itself for the file and for its own inputs.
std::optional<Numbers> reference(torch::jit::Module& frozen, std::array<Numbers, 3>& inputs) {
  const c10::InferenceMode no_gradients;
  const torch::jit::GraphOptimizerEnabledGuard as_frozen(false);
  std::vector<c10::IValue> arguments;
  for (Numbers& input : inputs) arguments.emplace_back(tensor_of(input));
  try {
    const at::Tensor result = frozen.forward(arguments).toTensor();
    Numbers numbers;
    tensor_of(numbers).copy_(result);
    return numbers;
  } catch (const std::exception&) {
    return {};
  }
}

/// How many programs there were of each kind; arguments are counted one by one.
struct Counts {
  int programs = 0, refused = 0, failed = 0;
  int arguments = 0, unwritten = 0, proven = 0;
};

class RandomPrograms : public testing::Test {
 protected:
  static void SetUpTestSuite() { pytorch::register_engines(); }
  void TearDown() override { std::remove(file_.c_str()); }

  void run(unsigned seed) {
    const std::string source = test::RandomProgram(seed).source();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + source);
    test::module_of(source).save(file_);
    const package::ModelDescription description = package::inspect(file_);
    ++counts_.programs;
    Model<CompilationType::kJustInTime> model(file_);
    const Queue queue(Device::cpu());
    try {
      model.to(queue);
    } catch (const LoadError&) {
      EXPECT_TRUE(description.keeps_state);
      ++counts_.refused;
      return;
    }
    EXPECT_FALSE(description.keeps_state);
    torch::jit::Module loaded = torch::jit::load(file_);
    loaded.eval();
    torch::jit::Module frozen = torch::jit::freeze(loaded);

    std::array<bool, 3> is_written{};
    for (const float shift : {0.F, 1.F, 0.F, -1.F}) {
      PortableCollection<Inputs> in(kRows, Device::cpu());
      fill(in.view(), shift);
      const auto before = blocks_of(in.const_view());
      auto own = before;
      const std::optional<Numbers> expected = reference(frozen, own);
      for (std::size_t i = 0; i < own.size(); ++i) is_written[i] |= own[i] != before[i];

      PortableCollection<Outputs> out(kRows, Device::cpu());
      std::size_t copied = 0;
      for (const auto& input : description.inputs) copied += input.may_be_written ? kBlockBytes : 0;
      try {
        EXPECT_EQ(model.forward(bind(in, out.view())).bytes_in, copied);
        EXPECT_TRUE(expected) << "torch fails";
        if (expected) {
          const auto view = out.const_view();
          EXPECT_EQ(std::memcmp(view.out0.data(), expected->data(), kBlockBytes / 2), 0);
          EXPECT_EQ(std::memcmp(view.out1.data(), expected->data() + kRows, kBlockBytes / 2), 0);
        }
      } catch (const EngineError& error) {
        EXPECT_FALSE(expected) << error.what();
        ++counts_.failed;
      }
      EXPECT_EQ(blocks_of(in.const_view()), before) << "an input was overwritten";
    }
    for (std::size_t i = 0; i < is_written.size(); ++i) {
      const bool is_proven = !description.inputs[i].may_be_written;
      EXPECT_FALSE(is_written[i] && is_proven) << "argument " << i;
      ++counts_.arguments;
      counts_.unwritten += !is_written[i];
      counts_.proven += is_proven;
    }
  }

  Counts counts_;

 private:
  static void fill(const View<Inputs>& view, float shift) {
    float value = shift;
    for (const auto& column : {view.x0, view.x1, view.y0, view.y1, view.z0, view.z1}) {
      for (std::size_t i = 0; i < kRows; ++i) column[i] = value = value * -0.75F + 0.3F;
    }
  }

  static std::array<Numbers, 3> blocks_of(const ConstView<Inputs>& view) {
    std::array<Numbers, 3> blocks;
    std::size_t column = 0;
    for (const auto& numbers : {view.x0, view.x1, view.y0, view.y1, view.z0, view.z1}) {
      std::copy_n(numbers.data(), kRows, blocks[column / 2].begin() + (column % 2) * kRows);
      ++column;
    }
    return blocks;
  }

  static ModelMetadata<Inputs, Outputs> bind(const PortableCollection<Inputs>& in,
                                             View<Outputs> out) {
    const auto from = in.const_view().records();
    SoAMetadata<Inputs> inputs(kRows);
    inputs.append_block("x", from.x0(), from.x1());
    inputs.append_block("y", from.y0(), from.y1());
    inputs.append_block("z", from.z0(), from.z1());
    SoAMetadata<Outputs> outputs(kRows);
    outputs.append_block("out", out.records().out0(), out.records().out1());
    return {inputs, outputs};
  }

  const std::string file_ =
      testing::TempDir() + "tensoa-program-" + std::to_string(getpid()) + ".pt";
};

unsigned number_from(const char* variable, unsigned otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

TEST_F(RandomPrograms, LeaveInputsAsTheyAreAndGiveTheSameAnswersAgain) {
  const unsigned first = number_from("TENSOA_TEST_SEED", 1);
  const unsigned count = number_from("TENSOA_RANDOM_PROGRAMS", 64);
  for (unsigned seed = first; seed != first + count && !HasFailure(); ++seed) run(seed);
  std::printf(
      "%d programs: %d refused because they change the model, %d calls failed; of %d arguments %d "
      "were "
      "not written, %d of these proven\n",
      counts_.programs, counts_.refused, counts_.failed, counts_.arguments, counts_.unwritten,
      counts_.proven);
  EXPECT_GT(counts_.programs - counts_.refused, counts_.programs / 4);
  EXPECT_GT(counts_.proven, counts_.arguments / 4);
}

}  // namespace
}  // namespace tensoa
