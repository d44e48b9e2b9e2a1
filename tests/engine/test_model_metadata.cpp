// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/model_metadata.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fake_engine.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "tensoa/soa/slice.hpp"

namespace tensoa {
namespace {

using test::Points;
using test::Scores;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Metadata : public testing::Test {
 protected:
  Metadata() {
    inputs_.append_block("x", points_.view().records().x(), points_.view().records().y());
    outputs_.append_block("score", scores_.view().records().score());
  }

  PortableCollection<Points> points_{10, Device::cpu()};
  PortableCollection<Scores> scores_{10, Device::cpu()};
  SoAMetadata<Points> inputs_{10};
  SoAMetadata<Scores> outputs_{10};
};

TEST_F(Metadata, DeducesTheLayoutsOfInputsThenOfOutputs) {
  ModelMetadata metadata(inputs_, outputs_);
  static_assert(std::is_same_v<decltype(metadata), ModelMetadata<Points, Scores>>);
  const ModelMetadata<Points, Scores> spelled_out(inputs_, outputs_);
  EXPECT_EQ(spelled_out.binding().inputs.size(), 1U);
}

TEST_F(Metadata, KeepsTheBlocksInOrder) {
  PortableCollection<Scores> more(10, Device::cpu());
  outputs_.append_block("again", more.view().records().score());
  const ModelMetadata metadata(inputs_, outputs_);
  const Binding& binding = metadata.binding();
  ASSERT_EQ(binding.inputs.size(), 1U);
  ASSERT_EQ(binding.outputs.size(), 2U);
  EXPECT_EQ(binding.inputs[0].name, "x");
  EXPECT_EQ(binding.outputs[1].name, "again");
  EXPECT_EQ(binding.input_collections, 1U);
}

TEST_F(Metadata, ALayoutMayBeInputAndOutput) {
  SoAMetadata<Points> outputs(10);
  outputs.append_block("z", points_.view().records().z());
  const ModelMetadata metadata(inputs_, outputs);
  EXPECT_EQ(metadata.binding().outputs[0].tensor.data, points_.view().z.data());
}

TEST_F(Metadata, SeveralCollectionsTakePart) {
  SoAMetadata<Points, Scores> inputs(10, 10);
  inputs.append_block("score", scores_.const_view().records().score());
  const ModelMetadata metadata(inputs, outputs_);
  static_assert(std::is_same_v<decltype(metadata), const ModelMetadata<Points, Scores, Scores>>);
  EXPECT_EQ(metadata.binding().input_collections, 2U);
  EXPECT_EQ(metadata.binding().inputs[0].collection, 1U);
}

TEST_F(Metadata, RefusesAReadOnlyOutput) {
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("score", scores_.const_view().records().score());
  EXPECT_THAT([&] { ModelMetadata(inputs_, outputs); },
              ThrowsMessage<BindingError>(HasSubstr(
                  "block \"score\": an output is bound to a const view; use view() instead of "
                  "const_view()")));
}

TEST_F(Metadata, RefusesAScalarAsOutput) {
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("sum", scores_.view().records().sum());
  EXPECT_THAT(
      [&] { ModelMetadata(inputs_, outputs); },
      ThrowsMessage<BindingError>(HasSubstr("block \"sum\": an output is bound to a scalar")));
}

TEST_F(Metadata, RefusesBlocksOnSeveralDevices) {
  const View<Scores> elsewhere{scores_.view().columns(), 10, 10, Device::cuda(1)};
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("score", elsewhere.records().score());
  EXPECT_THAT(
      [&] { ModelMetadata(inputs_, outputs); },
      ThrowsMessage<BindingError>(HasSubstr(
          "block \"score\" lies on cuda:1, block \"x\" on cpu; all blocks of a call lie on one "
          "device")));
}

// ---- outputs that share memory

template <template <class> class F>
struct Wide {
  F<float> a, b, c, d;
  F<Vector<float, 2>> u, v;
  F<double> e;
};

class SharedOutputs : public testing::Test {
 protected:
  /// `append` adds the output blocks.
  template <class Append>
  void bind(const View<Wide>& view, const Append& append) {
    SoAMetadata<Wide> inputs(view.size());
    inputs.append_block("x", view.records().a());
    SoAMetadata<Wide> outputs(view.size());
    append(outputs, view.records());
    const ModelMetadata metadata(inputs, outputs);
    EXPECT_EQ(metadata.binding().outputs.size(), outputs.blocks().size());
  }

  template <class Append>
  void expect_error(const View<Wide>& view, const std::string& message, const Append& append) {
    EXPECT_THAT([&] { bind(view, append); }, ThrowsMessage<BindingError>(HasSubstr(message)));
  }

  PortableCollection<Wide> wide_{33, Device::cpu()};
};

TEST_F(SharedOutputs, OfTwoBlocksAreRefused) {
  expect_error(wide_.view(),
               "block \"first\" (columns a, b) and block \"second\" (column b) are written to the "
               "same memory; outputs need columns of their own",
               [](auto& outputs, const auto& records) {
                 outputs.append_block("first", records.a(), records.b());
                 outputs.append_block("second", records.b());
               });
  expect_error(wide_.view(), "block \"first\" (column u) and block \"third\" (columns u, v) are",
               [](auto& outputs, const auto& records) {
                 outputs.append_block("first", records.u());
                 outputs.append_block("second", records.e());
                 outputs.append_block("third", records.u(), records.v());
               });
  expect_error(wide_.view(), "block \"rows\" (columns a, b, c) and block \"packed\" (columns d, c)",
               [](auto& outputs, const auto& records) {
                 outputs.append_block(BlockShape::kColumns, "rows", records.a(), records.b(),
                                      records.c());
                 outputs.append_block(Repack{}, "packed", records.d(), records.c());
               });
}

TEST_F(SharedOutputs, OfOneBlockAreRefused) {
  expect_error(wide_.view(), "block \"out\" (columns a, b, a): two of its columns are written to",
               [](auto& outputs, const auto& records) {
                 outputs.append_block(Repack{}, "out", records.a(), records.b(), records.a());
               });
}

TEST_F(SharedOutputs, ThatOnlyStandBetweenEachOtherAreAllowed) {
  bind(wide_.view(), [](auto& outputs, const auto& records) {
    outputs.append_block("first", records.a(), records.c());
    outputs.append_block("second", records.b(), records.d());
    outputs.append_block(Repack{}, "third", records.v(), records.u());
    outputs.append_block("fourth", records.e());
  });
  bind(wide_.view(), [](auto& outputs, const auto& records) {
    outputs.append_block(BlockShape::kColumns, "first", records.a(), records.c());
    outputs.append_block(Repack{}, "second", records.d(), records.b());
  });
}

TEST_F(SharedOutputs, AreAllowedWhereThereAreNoRows) {
  wide_.resize(0);
  bind(wide_.view(), [](auto& outputs, const auto& records) {
    outputs.append_block("first", records.a(), records.b());
    outputs.append_block("second", records.b());
  });
}

/// An input may be an output: that is how a model works in place.
TEST_F(SharedOutputs, AreNotAboutInputs) {
  bind(wide_.view(), [](auto& outputs, const auto& records) {
    outputs.append_block("x", records.a());  // the input
  });
}

TEST_F(SharedOutputs, OfSlicesAreTheRowsThatBothHave) {
  SoAMetadata<Points> inputs(0);
  const auto bind_slices = [&](std::size_t first, std::size_t rows, std::size_t second) {
    SoAMetadata<Wide> outputs(rows);
    outputs.append_block("first", slice(wide_.view(), first, rows).records().a());
    outputs.append_block("second", slice(wide_.view(), second, rows).records().a());
    ModelMetadata(inputs, outputs);
  };
  EXPECT_NO_THROW(bind_slices(0, 10, 10));
  EXPECT_NO_THROW(bind_slices(20, 10, 10));
  EXPECT_NO_THROW(bind_slices(5, 0, 5));
  EXPECT_THROW(bind_slices(0, 10, 9), BindingError);
  EXPECT_THROW(bind_slices(9, 10, 0), BindingError);
}

/// Planes of foreign memory that lie closer than there are rows; as an input that is a window that
/// moves along.
TEST_F(SharedOutputs, OfPlanesThatLieOnEachOtherAreRefused) {
  std::vector<float> memory(1000);
  std::vector<double> doubles(100);
  const auto view_of = [&](std::size_t step, std::size_t pitch, std::size_t vectors) {
    float* const at = memory.data();
    return View<Wide>{{{at},
                       {at + step},
                       {at + 2 * step},
                       {at + 3 * step},
                       {at + 400, pitch},
                       {at + 400 + vectors, pitch},
                       {doubles.data()}},
                      33,
                      33,
                      Device::cpu()};
  };
  const auto plain = [](auto& outputs, const auto& records) {
    outputs.append_block("out", records.a(), records.b(), records.c());
  };
  const auto vectors = [](auto& outputs, const auto& records) {
    outputs.append_block("out", records.u(), records.v());
  };
  bind(view_of(33, 33, 66), plain);
  bind(view_of(33, 33, 66), vectors);
  bind(view_of(33, 66, 33), vectors);  // u0 v0 u1 v1
  const std::string message = "the planes of an output lie on each other";
  expect_error(view_of(32, 33, 66), message, plain);
  expect_error(view_of(33, 32, 66), message, vectors);
  expect_error(view_of(33, 33, 65), message, vectors);
  expect_error(view_of(33, 33, 33), message, vectors);  // u1 is v0
  expect_error(view_of(33, 0, 66), message, vectors);
}

/// A tensor that no columns make, as other libraries hand them over.
BoundBlock hand_made(const char* name, float* data, std::vector<std::int64_t> sizes,
                     std::vector<std::int64_t> strides) {
  BoundBlock block;
  block.name = name;
  block.tensor.data = data;
  block.tensor.rank = static_cast<std::uint8_t>(sizes.size());
  std::ranges::copy(sizes, block.tensor.size_of_dim.begin());
  std::ranges::copy(strides, block.tensor.stride_of_dim.begin());
  return block;
}

TEST(Binding, TakesRowMajorOutputsOfTheCallersOwnMaking) {
  std::vector<float> memory(100);
  Binding binding;
  binding.outputs = {hand_made("a", memory.data(), {10, 3}, {3, 1}),
                     hand_made("b", memory.data() + 30, {10, 2, 3}, {6, 3, 1})};
  EXPECT_NO_THROW(require_valid(binding));
}

TEST(Binding, RefusesOutputsOfTheCallersOwnMakingThatShareMemory) {
  std::vector<float> memory(100);
  const auto expect_error = [](std::vector<BoundBlock> outputs, const char* message) {
    Binding binding;
    binding.outputs = std::move(outputs);
    EXPECT_THAT([&] { require_valid(binding); }, ThrowsMessage<BindingError>(HasSubstr(message)));
  };
  const BoundBlock row_major = hand_made("a", memory.data(), {10, 3}, {3, 1});
  expect_error({row_major, hand_made("b", memory.data() + 29, {10}, {1})},
               "block \"a\" and block \"b\" are written to the same memory");
  expect_error({hand_made("a", memory.data(), {}, {}), hand_made("b", memory.data(), {}, {})},
               "block \"a\" and block \"b\" are written to the same memory");
  expect_error({hand_made("a", memory.data(), {10, 3}, {2, 1})}, "lie on each other");
  expect_error({hand_made("a", memory.data(), {10, 3}, {3, 0})}, "lie on each other");
}

TEST(Binding, IsEmptyWhenNoOutputHasElements) {
  PortableCollection<Points> points(10, Device::cpu());
  PortableCollection<Scores> scores(10, Device::cpu());
  const auto binding_of = [&](int n_points, int n_scores) {
    SoAMetadata<Points> inputs(n_points);
    inputs.append_block("x", points.view().records().x());
    SoAMetadata<Points, Scores> outputs(n_points, n_scores);
    outputs.append_block("z", points.view().records().z());
    outputs.append_block("score", scores.view().records().score());
    return ModelMetadata(inputs, outputs).binding();
  };
  EXPECT_TRUE(binding_of(0, 0).is_empty());
  EXPECT_FALSE(binding_of(0, 1).is_empty());
  EXPECT_FALSE(binding_of(1, 0).is_empty());
  EXPECT_FALSE(Binding{}.is_empty()) << "a model without outputs runs for what else it does";
}

// ---- outputs of forms that cannot be written

template <template <class> class F>
struct Offsets {
  F<std::int32_t> first;
};

TEST_F(Metadata, RefusesRaggedOutputs) {
  PortableCollection<Offsets> offsets(4, Device::cpu());
  const auto expect_refused = [&](const auto& append, const std::string& block) {
    SoAMetadata<Scores, Offsets> outputs(10, 3);
    append(outputs, offsets.view().records().first());
    EXPECT_THAT([&] { ModelMetadata(inputs_, outputs); },
                ThrowsMessage<BindingError>(
                    HasSubstr(block + ": ragged forms (padded, mask, segments) are for inputs")));
  };
  expect_refused(
      [&](auto& outputs, const auto& first) {
        outputs.append_padded("score", first, 4, scores_.view().records().score());
      },
      "block \"score\" (column score)");
  expect_refused([](auto& outputs, const auto& first) { outputs.append_mask("mask", first, 4); },
                 "block \"mask\"");
  expect_refused(
      [](auto& outputs, const auto& first) {
        outputs.template append_segments<Scores>("group", first);
      },
      "block \"group\"");
}

TEST_F(Metadata, RefusesAScalarAmongTheColumnsOfARepackedOutput) {
  SoAMetadata<Scores> outputs(10);
  outputs.append_block(Repack{}, "both", scores_.view().records().score(),
                       scores_.view().records().sum());
  EXPECT_THAT([&] { ModelMetadata(inputs_, outputs); },
              ThrowsMessage<BindingError>(HasSubstr(
                  "block \"both\": an output is bound to a scalar, which cannot hold 10 rows")));
}

}  // namespace
}  // namespace tensoa
