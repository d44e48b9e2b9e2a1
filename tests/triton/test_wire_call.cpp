// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/function_loader.hpp"
#include "support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"
#include "wire_call.hpp"

// Every kind of block: the engine is a double, which reads and writes what is bound by the strides of its tensors.

namespace tensoa {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using namespace test;
using triton::Wire;
using triton::WireBlock;
using triton::WireCall;

/// The element of a plane of a tensor over one column or several.
float* element(const TensorView& tensor, const FieldInfo& info, bool is_kcolumns,
               std::int64_t column, std::int64_t plane, std::int64_t row) {
  std::int64_t at = 0;
  std::size_t dim = 0;
  if (is_kcolumns) return static_cast<float*>(tensor.data) + column * tensor.stride_of_dim[0] + row;
  at += row * tensor.stride_of_dim[dim++];
  const std::size_t of_element = info.kind == ColumnKind::kMatrix ? 2U
                                 : info.has_planes()              ? 1U
                                                                  : 0U;
  if (tensor.rank > 1 + of_element) at += column * tensor.stride_of_dim[dim++];
  const auto rows = static_cast<std::int64_t>(info.rows);
  if (of_element > 0) at += plane % rows * tensor.stride_of_dim[dim];
  if (of_element > 1) at += plane / rows * tensor.stride_of_dim[dim + 1];
  return static_cast<float*>(tensor.data) + at;
}

/// `action(block, element)` for each element of a block in the order in which it is sent.
template <class Action>
void for_each_element(const BoundBlock& block, const Action& action) {
  for (std::size_t i = 0; i < block.columns.size(); ++i) {
    const FieldInfo& info = block.columns[i].info;
    const std::int64_t rows = block.tensor.size_of_dim[block.row_dimension()];
    for (std::size_t plane = 0; plane < info.planes(); ++plane) {
      for (std::int64_t row = 0; row < (info.is_scalar() ? 1 : rows); ++row) {
        const bool is_in_place = block.form == BlockForm::kInPlace;
        action(*element(is_in_place ? block.tensor : block.sources[i], info,
                        block.shape == BlockShape::kColumns,
                        is_in_place ? static_cast<std::int64_t>(i) : 0,
                        static_cast<std::int64_t>(plane), row));
      }
    }
  }
}

std::vector<float> seen;

/// Appends all inputs to `seen`, writes 100, 101, … to the outputs.
class Recorder final : public Engine {
 public:
  const Signature& signature() const noexcept override { return signature_; }
  std::vector<std::size_t> match(const Binding& binding, const std::string&) const override {
    return std::vector<std::size_t>(binding.inputs.size());
  }
  CopyReport run(const Queue&, const Binding& binding, const Prepared&) const override {
    float next = 100;
    for (const BoundBlock& block : binding.inputs) {
      for_each_element(block, [&](const float& value) { seen.push_back(value); });
    }
    for (const BoundBlock& block : binding.outputs) {
      for_each_element(block, [&](float& value) { value = next++; });
    }
    return {};
  }

 private:
  Signature signature_;
};

constexpr FieldInfo kPlain{ColumnKind::kPlain, DType::kF32, 1, 1};
constexpr FieldInfo kScalar{ColumnKind::kScalar, DType::kF32, 1, 1};
constexpr FieldInfo kVector{ColumnKind::kVector, DType::kF32, 3, 1};
constexpr FieldInfo kMatrix{ColumnKind::kMatrix, DType::kF32, 2, 3};

/// A block over collection `collection` whose columns lie at `planes`.
WireBlock wire_block(const std::string& name, FieldInfo info, const std::vector<unsigned>& planes,
                     std::optional<std::size_t> collection = 0,
                     BlockShape shape = BlockShape::kRows) {
  WireBlock wire;
  wire.block = {.name = name,
                .collection = collection.value_or(0),
                .shape = shape,
                .element = info,
                .dtype = DType::kF32,
                .columns = {}};
  for (const unsigned plane : planes) {
    wire.block.columns.push_back({name + std::to_string(plane), plane});
  }
  wire.planes = static_cast<std::int64_t>(planes.size() * info.planes());
  wire.collection = collection;
  return wire;
}

class WireCalls : public testing::Test {
 protected:
  void SetUp() override {
    register_engine_of<Recorder>("recorder", ".recorder");
    file_ = folder_.write("model.recorder", "");
    seen.clear();
  }

  /// Sends 1, 2, … and returns what came back.
  std::vector<std::vector<float>> call(const Wire& wire, std::vector<std::int64_t> values) {
    if (!call_) call_ = std::make_unique<WireCall>(AnyModel(file_, {}, {}), wire, Device::cpu());
    const auto outputs = call_->set_rows(values);
    std::vector<std::vector<float>> memory;
    float next = 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      memory.emplace_back(static_cast<std::size_t>(wire.inputs[i].planes * values[i]) + 1);
      for (float& value : memory.back()) value = next++;
      --next;
    }
    std::vector<std::vector<float>> answers;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      answers.emplace_back(static_cast<std::size_t>(wire.outputs[i].planes * outputs[i]) + 1, -1.F);
    }
    std::vector<std::byte*> in;
    std::vector<std::byte*> out;
    for (auto& one : memory) in.push_back(reinterpret_cast<std::byte*>(one.data()));
    for (auto& one : answers) out.push_back(reinterpret_cast<std::byte*>(one.data()));
    call_->run(in, out);
    for (auto& one : answers) {
      EXPECT_EQ(one.back(), -1.F);  // nothing after the end was written
      one.pop_back();
    }
    return answers;
  }

  TemporaryFolder folder_;
  std::filesystem::path file_;
  std::unique_ptr<WireCall> call_;
};

TEST_F(WireCalls, BlocksOfEveryKindAreReadAndWrittenInTheOrderOfTheDescription) {
  const Wire wire{
      .inputs = {wire_block("even", kPlain, {0, 1, 2}), wire_block("gap", kPlain, {0, 2}),
                 wire_block("turned", kPlain, {3, 0, 5}),
                 wire_block("columns", kPlain, {0, 1}, 0, BlockShape::kColumns),
                 wire_block("columns_gap", kPlain, {0, 2}, 0, BlockShape::kColumns),
                 wire_block("one", kPlain, {0}), wire_block("vectors", kVector, {0, 3}),
                 wire_block("vectors_gap", kVector, {0, 5}), wire_block("matrix", kMatrix, {0}),
                 wire_block("scalars", kScalar, {0, 1}), wire_block("scalar", kScalar, {0})},
      .outputs = {wire_block("out_gap", kPlain, {0, 4}), wire_block("out_vector", kVector, {0}),
                  wire_block("out_columns_gap", kPlain, {1, 3}, 0, BlockShape::kColumns)}};
  for (const std::int64_t rows : {4, 1, 7, 3}) {
    seen.clear();
    const auto answers = call(wire, {rows, rows, rows, rows, rows, rows, rows, rows, rows, 1, 1});
    const std::size_t planes = 3 + 2 + 3 + 2 + 2 + 1 + 6 + 6 + 6;
    ASSERT_EQ(seen.size(), planes * static_cast<std::size_t>(rows) + 3);
    for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], static_cast<float>(i + 1));
    float next = 100;
    for (const auto& answer : answers) {
      for (const float value : answer) ASSERT_EQ(value, next++);
    }
  }
}

TEST_F(WireCalls, RowsFollowFromTheCollections) {
  WireBlock fixed = wire_block("fixed", kPlain, {0}, std::nullopt);
  fixed.rows = 2;
  const Wire wire{.inputs = {wire_block("a", kPlain, {0}, 0), wire_block("b", kPlain, {0, 1}, 1),
                             wire_block("of_b", kScalar, {0}, 1)},
                  .outputs = {wire_block("like_b", kPlain, {0}, 1), fixed,
                              wire_block("like_a", kPlain, {0}, 0)}};
  const auto answers = call(wire, {3, 5, 1});
  EXPECT_EQ(answers[0].size(), 5U);
  EXPECT_EQ(answers[1].size(), 2U);
  EXPECT_EQ(answers[2].size(), 3U);
  EXPECT_THAT(
      [&] {
        call(wire, {3, 5, 2});
      },
      ThrowsMessage<BindingError>(HasSubstr("got 2 values in a plane, expected 1")));
}

TEST_F(WireCalls, InputsOfOneCollectionHaveOneNumberOfRows) {
  const Wire wire{.inputs = {wire_block("a", kPlain, {0}), wire_block("b", kPlain, {0})},
                  .outputs = {wire_block("c", kPlain, {0})}};
  EXPECT_THAT(
      [&] {
        call(wire, {3, 4});
      },
      ThrowsMessage<BindingError>(
          HasSubstr("input \"b\": got 4 rows, expected 3, as input \"a\"")));
}

}  // namespace
}  // namespace tensoa
