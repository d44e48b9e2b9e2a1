// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "pytorch/jit_fixture.hpp"
#include "runtime/torch_memory.hpp"
#include "support/process_threads.hpp"
#include "tensoa/core/log.hpp"

namespace tensoa {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::ThrowsMessage;

template <template <class> class F>
struct PointsInDouble {
  F<double> x, y, z, m, n;
};

template <template <class> class F>
struct Links {
  F<std::int64_t> source, target;
  F<float> score;
};

// ---- the MLP, with the weights and the float64 answer that torch wrote
// -----------------------------------------------

class Mlp {
 public:
  static constexpr std::size_t kRows = 33;
  static constexpr std::size_t kInputs = 3;
  static constexpr std::size_t kOutputs = 2;

  Mlp() : file_(TENSOA_TEST_MODELS "mlp.bin", std::ios::binary) {
    for (const auto& [inputs, outputs] :
         {std::pair{3U, 64U}, std::pair{64U, 64U}, std::pair{64U, 2U}}) {
      Layer layer{read<float>(inputs * outputs), read<float>(outputs)};
      layers_.push_back(std::move(layer));
    }
    x = read<float>(kRows * kInputs);
    answer = read<double>(kRows * kOutputs);
    EXPECT_TRUE(file_) << "mlp.bin is too short";
  }

  /// The answer of one row by three loops, no library.
  std::vector<double> evaluate(std::vector<double> values) const {
    for (const Layer& layer : layers_) {
      std::vector<double> next;
      for (std::size_t out = 0; out < layer.bias.size(); ++out) {
        double sum = layer.bias[out];
        for (std::size_t in = 0; in < values.size(); ++in)
          sum += layer.weight[out * values.size() + in] * values[in];
        next.push_back(&layer == &layers_.back() ? sum : std::max(0., sum));
      }
      values = std::move(next);
    }
    return values;
  }

  std::vector<float> x;        ///< [33, 3]
  std::vector<double> answer;  ///< [33, 2]

 private:
  struct Layer {
    std::vector<float> weight;
    std::vector<float> bias;
  };

  template <class T>
  std::vector<T> read(std::size_t count) {
    std::vector<T> values(count);
    file_.read(reinterpret_cast<char*>(values.data()),
               static_cast<std::streamsize>(count * sizeof(T)));
    return values;
  }

  std::ifstream file_;
  std::vector<Layer> layers_;
};

TEST(Mlp, TorchAndThreeLoopsAgreeInDouble) {
  const Mlp mlp;
  for (std::size_t i = 0; i < Mlp::kRows; ++i) {
    const auto expected = mlp.evaluate({mlp.x[3 * i], mlp.x[3 * i + 1], mlp.x[3 * i + 2]});
    for (std::size_t k = 0; k < 2; ++k) EXPECT_NEAR(mlp.answer[2 * i + k], expected[k], 1e-13);
  }
}

// ---- every test on each device
// ---------------------------------------------------------------------------------------

class JitEngine : public JitTest {};
TENSOA_ON_EACH_DEVICE(JitEngine);

// ---- right answers
// ---------------------------------------------------------------------------------------------------

TEST_P(JitEngine, MlpEqualsFloat64AndNaiveLoopsForAnyNumberOfRows) {
  const Mlp mlp;
  for (const std::size_t rows : {0U, 1U, 31U, 33U}) {
    const auto in = upload<Points>(rows, [&](auto view) {
      for (std::size_t i = 0; i < rows; ++i) {
        view.x[i] = mlp.x[3 * i];
        view.y[i] = mlp.x[3 * i + 1];
        view.z[i] = mlp.x[3 * i + 2];
      }
    });
    auto out = answers(rows);
    EXPECT_EQ(run("mlp", in.const_view(), out.view(), kM, kN),
              (CopyReport{.bytes_in = 0, .bytes_out = rows * 2 * sizeof(float)}));
    const auto host = download(out);
    const auto view = host.const_view();
    for (std::size_t i = 0; i < rows; ++i) {
      const auto naive = mlp.evaluate({mlp.x[3 * i], mlp.x[3 * i + 1], mlp.x[3 * i + 2]});
      EXPECT_NEAR(view.m[i], mlp.answer[2 * i], 1e-6);
      EXPECT_NEAR(view.n[i], mlp.answer[2 * i + 1], 1e-6);
      EXPECT_NEAR(view.m[i], naive[0], 1e-6);
      EXPECT_NEAR(view.n[i], naive[1], 1e-6);
      EXPECT_EQ(view.o[i], kUntouched) << "a column that is not bound";
    }
  }
}

TEST_P(JitEngine, WeightsAreConvertedToTheDtypeOfTheOptions) {
  const Mlp mlp;
  auto columns = upload<PointsInDouble>(Mlp::kRows, [&](auto view) {
    for (std::size_t i = 0; i < Mlp::kRows; ++i) {
      view.x[i] = mlp.x[3 * i];
      view.y[i] = mlp.x[3 * i + 1];
      view.z[i] = mlp.x[3 * i + 2];
    }
  });
  const auto in = columns.const_view().records();
  const auto out = columns.view().records();
  SoAMetadata<PointsInDouble> inputs(Mlp::kRows);
  inputs.append_block("x", in.x(), in.y(), in.z());
  SoAMetadata<PointsInDouble> outputs(Mlp::kRows);
  outputs.append_block("out", out.m(), out.n());
  const ModelMetadata metadata(inputs, outputs);
  EXPECT_EQ(run("mlp", metadata, pytorch::TorchScriptOptions{.dtype = DType::kF64}).bytes_out,
            Mlp::kRows * 2 * sizeof(double));
  const auto host = download(columns);
  for (std::size_t i = 0; i < Mlp::kRows; ++i) {
    EXPECT_NEAR(host.const_view().m[i], mlp.answer[2 * i], 1e-13);
    EXPECT_NEAR(host.const_view().n[i], mlp.answer[2 * i + 1], 1e-13);
  }
  EXPECT_THAT([&] { run("mlp", metadata); }, ThrowsMessage<EngineError>(is_short()))
      << "columns in double, weights in float";
}

TEST_P(JitEngine, RunsOnTheLegacyDefaultStream) {
  if (GetParam().is_cpu()) GTEST_SKIP() << "for GPUs";
  const auto in = points(33);
  auto on_own = answers(33);
  auto on_legacy = answers(33);
  run("mlp", in.const_view(), on_own.view(), kM, kN);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the default streams are numbers
  queue_ = Queue::borrow(GetParam(), reinterpret_cast<void*>(std::uintptr_t{1}));
  run("mlp", in.const_view(), on_legacy.view(), kM, kN);
  const auto expected = download(on_own);
  const auto host = download(on_legacy);
  for (std::size_t i = 0; i < 33; ++i) {
    EXPECT_EQ(host.const_view().m[i], expected.const_view().m[i]);
    EXPECT_EQ(host.const_view().n[i], expected.const_view().n[i]);
  }
}

TEST_P(JitEngine, IdentityCopiesColumnsToColumns) {
  const auto in = points(33);
  auto out = answers(33);
  EXPECT_EQ(run("identity", in.const_view(), out.view(), kM, kN, kO), (CopyReport{0, 33 * 3 * 4}));
  const auto host = download(out);
  for (std::size_t i = 0; i < 33; ++i) {
    EXPECT_EQ(host.const_view().m[i], static_cast<float>(i));
    EXPECT_EQ(host.const_view().o[i], static_cast<float>(i) + 2000.F);
  }
  expect_points(in);
}

template <template <class> class F>
struct EveryType {
  F<bool> a;
  F<std::uint8_t> b;
  F<std::int8_t> c;
  F<std::int16_t> d;
  F<std::int32_t> e;
  F<std::int64_t> f;
  F<Half> g;
  F<BFloat16> h;
  F<float> i;
  F<double> j;
};

TEST_P(JitEngine, IdentityPassesEveryDtype) {
  constexpr std::size_t kRows = 3;
  const auto in = upload<EveryType>(kRows, [](auto view) {
    for (std::size_t i = 0; i < kRows; ++i) {
      view.a[i] = i % 2 == 0;
      view.b[i] = static_cast<std::uint8_t>(253 + i);
      view.c[i] = static_cast<std::int8_t>(-128 + static_cast<int>(i));
      view.d[i] = static_cast<std::int16_t>(-30'000 - static_cast<int>(i));
      view.e[i] = 2'000'000'000 + static_cast<std::int32_t>(i);
      view.f[i] = (std::int64_t{1} << 60) + static_cast<std::int64_t>(i);
      view.g[i] = Half{static_cast<std::uint16_t>(0x3c01 + i)};
      view.h[i] = BFloat16{static_cast<std::uint16_t>(0x3f81 + i)};
      view.i[i] = 0.1F * static_cast<float>(i);
      view.j[i] = 0.1 * static_cast<double>(i);
    }
  });
  PortableCollection<EveryType> out(kRows, GetParam());
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  const auto pass = [&](const auto& source, const auto& target) {
    SoAMetadata<EveryType> inputs(kRows);
    inputs.append_block("in", source);
    SoAMetadata<EveryType> outputs(kRows);
    outputs.append_block("out", target);
    EXPECT_EQ(run("identity", ModelMetadata(inputs, outputs)).bytes_out,
              kRows * source.column.info.element_size());
  };
  pass(from.a(), to.a());
  pass(from.b(), to.b());
  pass(from.c(), to.c());
  pass(from.d(), to.d());
  pass(from.e(), to.e());
  pass(from.f(), to.f());
  pass(from.g(), to.g());
  pass(from.h(), to.h());
  pass(from.i(), to.i());
  pass(from.j(), to.j());
  const auto expected = download(in);
  const auto got = download(out);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto a = row(expected.const_view(), i);
    const auto b = row(got.const_view(), i);
    EXPECT_EQ(a.a, b.a);
    EXPECT_EQ(a.b, b.b);
    EXPECT_EQ(a.c, b.c);
    EXPECT_EQ(a.d, b.d);
    EXPECT_EQ(a.e, b.e);
    EXPECT_EQ(a.f, b.f);
    EXPECT_EQ(a.g.bits, b.g.bits);
    EXPECT_EQ(a.h.bits, b.h.bits);
    EXPECT_EQ(a.i, b.i);
    EXPECT_EQ(a.j, b.j);
  }
}

TEST_P(JitEngine, TuplesAndListsOfOutputsAreTakenInOrder) {
  for (const std::string name : {"pair", "list_of_two"}) {
    const auto in = points(7);
    auto first = answers(7);
    auto second = answers(7);
    SoAMetadata<Points> inputs(7);
    const auto records = in.const_view().records();
    inputs.append_block("x", records.x(), records.z());
    SoAMetadata<Answers> outputs(7);
    outputs.append_block("plus_one", first.view().records().m(), first.view().records().n());
    outputs.append_block("twice", second.view().records().m(), second.view().records().n());
    EXPECT_EQ(run(name, ModelMetadata(inputs, outputs)), (CopyReport{0, 2 * 7 * 2 * 4}));
    const auto host_first = download(first);
    const auto host_second = download(second);
    for (std::size_t i = 0; i < 7; ++i) {
      const auto value = static_cast<float>(i);
      EXPECT_EQ(host_first.const_view().m[i], value + 1.F);
      EXPECT_EQ(host_first.const_view().n[i], value + 2001.F);
      EXPECT_EQ(host_second.const_view().m[i], 2.F * value);
      EXPECT_EQ(host_second.const_view().n[i], 2.F * (value + 2000.F));
    }
  }
}

TEST_P(JitEngine, ANestedTupleIsFlattened) {
  const auto in = points(7);
  auto out = answers(7);
  SoAMetadata<Points> inputs(7);
  inputs.append_block("x", in.const_view().records().y());
  SoAMetadata<Answers> outputs(7);
  outputs.append_block("m", out.view().records().m());
  outputs.append_block("n", out.view().records().n());
  outputs.append_block("o", out.view().records().o());
  run("nested", ModelMetadata(inputs, outputs));
  const auto host = download(out);
  EXPECT_EQ(host.const_view().m[6], 1007.F);
  EXPECT_EQ(host.const_view().n[6], 2012.F);
  EXPECT_EQ(host.const_view().o[6], 3018.F);
}

TEST_P(JitEngine, TwoCollectionsOfDifferentLengthTakePart) {
  constexpr std::size_t kNodes = 10;
  constexpr std::size_t kLinks = 33;
  const auto nodes = points(kNodes);
  auto links = upload<Links>(kLinks, [](auto view) {
    for (std::size_t i = 0; i < kLinks; ++i) {
      view.source[i] = static_cast<std::int64_t>(i % kNodes);
      view.target[i] = static_cast<std::int64_t>((7 * i + 3) % kNodes);
      view.score[i] = kUntouched;
    }
  });
  const auto node = nodes.const_view().records();
  const auto link = links.view().records();
  SoAMetadata<Points, Links> inputs(kNodes, kLinks);
  inputs.append_block("x", node.x(), node.y(), node.z());
  inputs.append_block(BlockShape::kColumns, "edge_index", link.source(), link.target());
  SoAMetadata<Links> outputs(kLinks);
  outputs.append_block("score", link.score());
  EXPECT_EQ(run("graph", ModelMetadata(inputs, outputs)), (CopyReport{0, kLinks * 4}));
  const auto host = download(links);
  for (std::size_t i = 0; i < kLinks; ++i) {
    const auto a = static_cast<float>(i % kNodes);
    const auto b = static_cast<float>((7 * i + 3) % kNodes);
    EXPECT_EQ(host.const_view().score[i],
              a * b + (a + 1000.F) * (b + 1000.F) + (a + 2000.F) * (b + 2000.F));
  }
}

template <template <class> class F>
struct Kinds {
  F<Matrix<float, 2, 3>> matrix;
  F<Vector<float, 3>> vector;
  F<Vector<float, 2>> product;
  F<Scalar<float>> offset;
};

TEST_P(JitEngine, MatricesVectorsAndScalarsAreTensorsOfTheirShapes) {
  constexpr std::size_t kRows = 9;
  auto kinds = upload<Kinds>(kRows, [](auto view) {
    for (std::size_t i = 0; i < kRows; ++i) {
      const auto value = static_cast<float>(i);
      for (std::size_t k = 0; k < 3; ++k) {
        view.vector[i][k] = static_cast<float>(k) - value;
        for (std::size_t r = 0; r < 2; ++r)
          view.matrix[i](r, k) = value + 10.F * static_cast<float>(r) + static_cast<float>(k);
      }
    }
    *view.offset = 0.5F;
  });
  const auto in = kinds.const_view().records();
  SoAMetadata<Kinds> inputs(kRows);
  inputs.append_block("matrix", in.matrix());
  inputs.append_block("vector", in.vector());
  inputs.append_block("offset", in.offset());
  SoAMetadata<Kinds> outputs(kRows);
  outputs.append_block("product", kinds.view().records().product());
  EXPECT_EQ(run("moments", ModelMetadata(inputs, outputs)), (CopyReport{0, kRows * 2 * 4}));
  const auto host = download(kinds);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto all = row(host.const_view(), i);
    for (std::size_t r = 0; r < 2; ++r) {
      float expected = 0.5F;
      for (std::size_t k = 0; k < 3; ++k) expected += all.matrix(r, k) * all.vector[k];
      EXPECT_FLOAT_EQ(all.product[r], expected);
    }
  }
}

TEST_P(JitEngine, ABlockOfOneColumnTakesTensorsOfOneAndOfTwoDimensions) {
  for (const std::string name : {"row_sum", "row_sum_kept"}) {
    const auto in = points(31);
    auto out = answers(31);
    EXPECT_EQ(run(name, in.const_view(), out.view(), kN), (CopyReport{0, 31 * 4}));
    const auto host = download(out);
    for (std::size_t i = 0; i < 31; ++i)
      EXPECT_EQ(host.const_view().n[i], 3.F * static_cast<float>(i) + 3000.F);
    EXPECT_EQ(host.const_view().m[0], kUntouched);
  }
}

TEST_P(JitEngine, ABlockOfColumnsAsRowsTakesTheTransposedTensor) {
  const auto in = points(31);
  auto out = answers(31);
  SoAMetadata<Points> inputs(31);
  const auto from = in.const_view().records();
  inputs.append_block("x", from.x(), from.y(), from.z());
  SoAMetadata<Answers> outputs(31);
  const auto to = out.view().records();
  outputs.append_block(BlockShape::kColumns, "out", to.m(), to.n(), to.o());
  run("transposed", ModelMetadata(inputs, outputs));
  const auto host = download(out);
  EXPECT_EQ(host.const_view().m[30], 30.F);
  EXPECT_EQ(host.const_view().o[30], 2030.F);
}

TEST_P(JitEngine, ResultsThatLieInTheMemoryOfTheInputsAreNotOverwrittenBeforeTheyAreCopied) {
  auto both = points(20);
  const auto records = both.view().records();
  SoAMetadata<Points> inputs(20);
  inputs.append_block("a", records.x());
  inputs.append_block("b", records.z());
  SoAMetadata<Points> outputs(20);
  outputs.append_block("x", records.x());
  outputs.append_block("z", records.z());
  EXPECT_EQ(run("swap", ModelMetadata(inputs, outputs)), (CopyReport{0, 3 * 20 * 4}))
      << "two outputs, one copied aside";
  const auto host = download(both);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(host.const_view().x[i], static_cast<float>(i) + 2000.F);
    EXPECT_EQ(host.const_view().z[i], static_cast<float>(i));
  }
}

TEST_P(JitEngine, AResultIsShiftedByOneColumnInItsOwnMemory) {
  auto both = points(20);
  const auto records = both.view().records();
  SoAMetadata<Points> inputs(20);
  inputs.append_block("x", records.x(), records.y());
  SoAMetadata<Points> outputs(20);
  outputs.append_block("out", records.y(), records.z());
  run("identity", ModelMetadata(inputs, outputs));
  const auto host = download(both);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(host.const_view().y[i], static_cast<float>(i));
    EXPECT_EQ(host.const_view().z[i], static_cast<float>(i) + 1000.F);
  }
}

TEST_P(JitEngine, RunsInEvaluationMode) {
  const auto in = points(100);
  auto out = answers(100);
  run("dropout", in.const_view(), out.view(), kM, kN, kO);
  EXPECT_EQ(download(out).const_view().m[99], 99.F);
}

TEST_P(JitEngine, NothingRunsForNoRows) {
  const auto in = points(0);
  auto out = answers(0);
  EXPECT_EQ(run("raises", in.const_view(), out.view(), kM, kN, kO), CopyReport{});
}

// ---- inputs are the caller's
// -----------------------------------------------------------------------------------------

TEST_P(JitEngine, AModelThatWritesItsInputWorksOnAReportedCopy) {
  for (const std::string name : {"writes_input", "writes_sometimes"}) {
    const auto in = points(33);
    auto out = answers(33);
    EXPECT_EQ(run(name, in.const_view(), out.view(), kM, kN, kO),
              (CopyReport{33 * 3 * 4, 33 * 3 * 4}))
        << name;
    expect_points(in);
    const float expected = name == "writes_input" ? 2.F * 32.F + 1.F : 1.F;
    EXPECT_EQ(download(out).const_view().m[32], expected) << name;
  }
}

/// Alias analysis cannot tell inputs apart, and rightly: here they share a column.
TEST_P(JitEngine, AModelThatWritesOneInputWorksOnACopyOfThatOneAlone) {
  const auto in = points(33);
  auto out = answers(33);
  const auto from = in.const_view().records();
  SoAMetadata<Points> inputs(33);
  inputs.append_block("a", from.x(), from.y());
  inputs.append_block("b", from.y(), from.z());
  SoAMetadata<Answers> outputs(33);
  outputs.append_block("out", out.view().records().m(), out.view().records().n());
  EXPECT_EQ(run("writes_view", ModelMetadata(inputs, outputs)),
            (CopyReport{33 * 2 * 4, 33 * 2 * 4}));
  expect_points(in);
  const auto host = download(out);
  EXPECT_EQ(host.const_view().m[5], 5.F + 1005.F);
  EXPECT_EQ(host.const_view().n[5], 1005.F + 2005.F + 10.F);
}

// ---- outputs that do not fit
// -----------------------------------------------------------------------------------------

TEST_P(JitEngine, OutputsThatDoNotFitAreRefusedBeforeAnythingIsWritten) {
  struct Case {
    std::string model;
    int columns;
    std::string message;
  };
  const std::string where = " on " + to_string(GetParam());
  for (const Case& one : {
           Case{"affine", 2,
                "gives float32[8, 3]" + where +
                    " for output block \"out\" (columns m, n), which is float32[8, 2]" + where},
           Case{"double", 3,
                "gives float64[8, 3]" + where +
                    " for output block \"out\" (columns m, n, o), which is float32[8, 3]"},
           Case{"complex", 3, "block \"out\" (columns m, n, o), which is float32[8, 3]"},
           Case{"mean", 3, "gives float32[1, 3]" + where},          // would broadcast
           Case{"row_sum_kept", 3, "gives float32[8, 1]" + where},  // would broadcast
           Case{"row_sum", 3, "gives float32[8]" + where},
           Case{"transposed", 3, "gives float32[3, 8]" + where},
           Case{"pair", 3,
                "gives 2 outputs, got 1 output blocks (out); the outputs are float32[8, 3]"},
           Case{"pair", 3, "; append one block for each output"},
           Case{"dictionary", 3,
                "gives an output called \"x\", got output blocks called out; name them as the "
                "outputs"},
       }) {
    const auto in = points(8);
    auto out = answers(8);
    const auto call = [&] {
      if (one.columns == 2) {
        run(one.model, in.const_view(), out.view(), kM, kN);
      } else {
        run(one.model, in.const_view(), out.view(), kM, kN, kO);
      }
    };
    EXPECT_THAT(call, ThrowsMessage<BindingError>(AllOf(
                          HasSubstr(one.message), HasSubstr(one.model + ".pt: "), is_short())))
        << one.model;
    expect_untouched(out);
  }
}

TEST_P(JitEngine, AWrongSecondOutputLeavesTheFirstUntouched) {
  const auto in = points(8);
  auto first = answers(8);
  auto second = answers(8);
  SoAMetadata<Points> inputs(8);
  inputs.append_block("x", in.const_view().records().x());
  SoAMetadata<Answers> outputs(8);
  outputs.append_block("first", first.view().records().m());
  outputs.append_block("second", second.view().records().m());
  EXPECT_THAT([&] { run("pair_with_wrong_second", ModelMetadata(inputs, outputs)); },
              ThrowsMessage<BindingError>(HasSubstr("gives float64[8, 1]")));
  expect_untouched(first);
  expect_untouched(second);
}

TEST_P(JitEngine, MoreOutputBlocksThanOutputsAreRefused) {
  const auto in = points(8);
  auto out = answers(8);
  SoAMetadata<Points> inputs(8);
  inputs.append_block("x", in.const_view().records().x());
  SoAMetadata<Answers> outputs(8);
  outputs.append_block("first", out.view().records().m());
  outputs.append_block("second", out.view().records().n());
  EXPECT_THAT([&] { run("affine", ModelMetadata(inputs, outputs)); },
              ThrowsMessage<BindingError>(HasSubstr("gives 1 outputs, got 2 output blocks")));
}

TEST_P(JitEngine, TheNumberOfInputsIsChecked) {
  const auto in = points(8);
  auto out = answers(8);
  SoAMetadata<Points> inputs(8);
  inputs.append_block("x", in.const_view().records().x());
  SoAMetadata<Answers> outputs(8);
  outputs.append_block("score", out.view().records().m());
  EXPECT_THAT(
      [&] { run("graph", ModelMetadata(inputs, outputs)); },
      ThrowsMessage<BindingError>(HasSubstr("takes 2 inputs (x, edge_index), got 1 blocks")));
}

// ---- models that fail
// ------------------------------------------------------------------------------------------------

TEST_P(JitEngine, AModelThatRaisesIsAnEngineErrorWithItsMessage) {
  const auto in = points(8);
  auto out = answers(8);
  EXPECT_THAT([&] { run("raises", in.const_view(), out.view(), kM, kN, kO); },
              ThrowsMessage<EngineError>(AllOf(HasSubstr("raises.pt: failed while running: "),
                                               HasSubstr("all hits are on one side"), is_short())));
  expect_untouched(out);
}

TEST_P(JitEngine, AnOperatorThatFailsIsAnEngineErrorWithItsMessage) {
  const auto in = points(8);
  auto out = answers(8);
  EXPECT_THAT([&] { run("wrong_shape", in.const_view(), out.view(), kM, kN); },
              ThrowsMessage<EngineError>(AllOf(HasSubstr("wrong_shape.pt: failed while running: "),
                                               HasSubstr("8x3 and 5x2"), is_short())));
  expect_untouched(out);
}

/// torch names the functions that forward called, which are gone once it is frozen.
TEST_P(JitEngine, AnOperatorThatFailsInAFunctionOfTheModelIsTheSame) {
  const auto in = points(8);
  auto out = answers(8);
  for (const std::string part : {"method", "class", "fork"}) {
    const std::string name = "wrong_shape_in_" + part;
    EXPECT_THAT([&] { run(name, in.const_view(), out.view(), kM, kN); },
                ThrowsMessage<EngineError>(AllOf(HasSubstr(name + ".pt: failed while running: "),
                                                 HasSubstr("8x3 and 5x2"), is_short())));
  }
  expect_untouched(out);
}

TEST_P(JitEngine, AWrongNumberOfColumnsIsAnErrorWithTheWeightsThatTakeThem) {
  const auto in = points(8);
  auto out = answers(8);
  SoAMetadata<Points> inputs(8);
  const auto from = in.const_view().records();
  inputs.append_block("x", from.x(), from.y());
  SoAMetadata<Answers> outputs(8);
  const auto to = out.view().records();
  outputs.append_block("out", to.m(), to.n());
  EXPECT_THAT([&] { run("mlp", ModelMetadata(inputs, outputs)); },
              ThrowsMessage<EngineError>(AllOf(
                  HasSubstr("inputs: block \"x\" (columns x, y) float32[8, 2]"),
                  HasSubstr("; the first weights of the model: layers.0.weight float32[64, 3]"))));
}

TEST_P(JitEngine, WeightsOfAnotherDtypeThanTheColumnsAreNamedWithWhatToDo) {
  const auto in = points(8);
  auto out = answers(8);
  EXPECT_THAT(
      [&] { run("double_linear", in.const_view(), out.view(), kM, kN); },
      ThrowsMessage<EngineError>(
          AllOf(HasSubstr("the first weights of the model: layer.weight float64[2, 3]"),
                HasSubstr(", but block \"x\" is float32; make the columns float64, or convert the "
                          "weights with pytorch::TorchScriptOptions::dtype"))));
}

std::vector<std::string>& warnings() {
  static std::vector<std::string> all;
  return all;
}

TEST_P(JitEngine, AModelThatWasSavedInTrainingIsNamedWhereThatChangesItsAnswers) {
  warnings().clear();
  const LogSink before =
      set_log_sink([](LogLevel, std::string_view message) { warnings().emplace_back(message); });
  for (const char* name : {"mlp", "evaluated_norm", "trained_norm", "dropout"}) {
    JitModel(model_file(name)).deploy(GetParam());
  }
  set_log_sink(before);
  const auto says = [](const std::string& part) {
    return AllOf(HasSubstr(part + " was saved in training mode; it runs in evaluation"));
  };
  EXPECT_THAT(warnings(),
              ElementsAre(says("trained_norm.pt: its part norm"), says("dropout.pt: it")));
}

TEST_P(JitEngine, WhatTorchWasRefusedBeforeIsNotTheErrorOfThisCall) {
  const auto in = points(8);
  auto out = answers(8);
  JitModel model(model_file("wrong_shape"));
  model.to(*queue_);
  pytorch::note_allocation_failure(
      "torch requested too much");  // as where the program itself uses torch
  EXPECT_THAT([&] { model.forward(mlp_metadata(in.const_view(), out.view())); },
              ThrowsMessage<EngineError>(HasSubstr("8x3 and 5x2")));
}

TEST_P(JitEngine, AModelThatFailedRunsAgain) {
  auto in = points(8);
  auto out = answers(8);
  JitModel model(model_file("raises"));
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  SoAMetadata<Points> inputs(8);
  inputs.append_block("x", from.x());
  SoAMetadata<Answers> outputs(8);
  outputs.append_block("out", to.m());
  const Plan plan = model.plan(ModelMetadata(inputs, outputs));
  EXPECT_THROW(model.forward(*queue_, plan), EngineError);
  in = upload<Points>(8, [](auto view) { std::fill_n(view.x.data(), 8, -1.F); });
  Plan again = plan;
  again.rebind(in.const_view(), out.view());
  model.forward(*queue_, again);
  EXPECT_EQ(download(out).const_view().m[7], -1.F);
}

// ---- threads
// ---------------------------------------------------------------------------------------------------------

TEST_P(JitEngine, StartsNoThreads) {
  const auto in = points(33);
  auto out = answers(33);
  const std::size_t before = threads_of_this_process();
  run("mlp", in.const_view(), out.view(), kM, kN);
  EXPECT_EQ(threads_of_this_process(), before);
  std::thread([&] {
    const std::size_t with_this_one = threads_of_this_process();
    EXPECT_EQ(with_this_one, before + 1);
    run("mlp", in.const_view(), out.view(), kM, kN);
    EXPECT_EQ(threads_of_this_process(), with_this_one);
  }).join();
}

/// torch.jit.fork would run them on threads of torch's, on other streams.
TEST_P(JitEngine, TasksOfAModelRunInTheCallersThread) {
  const auto in = points(1000);
  auto out = answers(1000);
  const std::size_t before = threads_of_this_process();
  EXPECT_EQ(run("forks", in.const_view(), out.view(), kM, kN, kO).bytes_out, 1000 * 3 * 4);
  EXPECT_EQ(threads_of_this_process(), before);
  EXPECT_EQ(download(out).const_view().o[999], 2.F * 2999.F);
}

TEST_P(JitEngine, ThreadsShareOneModel) {
  constexpr std::size_t kThreads = 8;
  constexpr int kCalls = 50;
  const Mlp mlp;
  const JitModel model(model_file("mlp"));
  std::vector<PortableCollection<Points>> in;
  std::vector<PortableCollection<Answers>> out;
  for (std::size_t i = 0; i < kThreads; ++i) {
    in.push_back(upload<Points>(Mlp::kRows, [&](auto view) {
      for (std::size_t k = 0; k < Mlp::kRows; ++k) {
        view.x[k] = mlp.x[3 * k];
        view.y[k] = mlp.x[3 * k + 1];
        view.z[k] = mlp.x[3 * k + 2];
      }
    }));
    out.push_back(answers(Mlp::kRows));
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const Queue queue(GetParam());
      const auto from = in[i].const_view().records();
      const auto to = out[i].view().records();
      SoAMetadata<Points> inputs(Mlp::kRows);
      inputs.append_block("x", from.x(), from.y(), from.z());
      SoAMetadata<Answers> outputs(Mlp::kRows);
      outputs.append_block("out", to.m(), to.n());
      const Plan plan = model.plan(ModelMetadata(inputs, outputs));
      for (int call = 0; call < kCalls; ++call) {
        EXPECT_EQ(model.forward(queue, plan), (CopyReport{0, Mlp::kRows * 2 * 4}));
      }
      queue.wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < kThreads; ++i) {
    const auto host = download(out[i]);
    for (std::size_t k = 0; k < Mlp::kRows; ++k) {
      EXPECT_NEAR(host.const_view().m[k], mlp.answer[2 * k], 1e-6);
      EXPECT_NEAR(host.const_view().n[k], mlp.answer[2 * k + 1], 1e-6);
    }
  }
}

// ---- files
// -----------------------------------------------------------------------------------------------------------

TEST(JitEngineLoad, OfAFileThatIsNotTorchScriptIsALoadErrorOfOneLine) {
  pytorch::register_engines();
  for (const auto& [name, what] :
       {std::pair<std::string, std::string>{"truncated",
                                            "is not a TorchScript file that this libtorch can load "
                                            "(expected one written by torch.jit.save): it is not "
                                            "an archive: cut off, or a file of"},
        {"empty", "is empty"},
        {"text", "is text and not a model"}}) {
    EXPECT_THAT(
        [&] { JitModel(model_file(name)).deploy(Device::cpu()); },
        ThrowsMessage<LoadError>(AllOf(HasSubstr("model " + model_file(name).string() + ": "),
                                       HasSubstr(what), Not(HasSubstr("\n")))))
        << name;
  }
}

TEST(JitEngineLoad, OfAModelWithoutForwardIsALoadError) {
  pytorch::register_engines();
  EXPECT_THAT([] { JitModel(model_file("no_forward")).deploy(Device::cpu()); },
              ThrowsMessage<LoadError>(HasSubstr("no_forward.pt: has no forward method")));
}

TEST(JitEngineLoad, OfAModelThatTakesANumberIsALoadError) {
  pytorch::register_engines();
  EXPECT_THAT([] { JitModel(model_file("takes_number")).deploy(Device::cpu()); },
              ThrowsMessage<LoadError>(
                  HasSubstr("takes_number.pt: forward takes int number; expected tensors only")));
}

TEST(JitEngineLoad, OfAModelThatKeepsSomethingBetweenCallsIsALoadError) {
  pytorch::register_engines();
  const std::pair<const char*, const char*> models[] = {
      {"keeps_input", "prim::SetAttr"},
      {"counts_calls", "aten::add_"},
      {"counts_calls_in_secret", "aten::add_"},
      {"updates_statistics", "aten::batch_norm"},
      {"updates_statistics_natively", "aten::native_batch_norm"}};
  for (const auto& [name, by] : models) {
    EXPECT_THAT([&] { JitModel(model_file(name)).deploy(Device::cpu()); },
                ThrowsMessage<LoadError>(HasSubstr(
                    std::string("forward changes the model (an attribute or a buffer) by ") + by +
                    "; expected")))
        << name;
  }
}

TEST(JitEngineLoad, TakesOptionalTensorsAndLeavesOtherDefaultsAlone) {
  pytorch::register_engines();
  const JitModel model(model_file("takes_optional"));
  const Signature& signature = model.deploy(Device::cpu());
  EXPECT_THAT(signature.inputs, ElementsAre(testing::Field(&TensorSpec::name, "x"),
                                            testing::Field(&TensorSpec::name, "y")));
  EXPECT_EQ(signature.required_inputs, 1U);
}

TEST_P(JitEngine, AnOptionalInputMayBeLeftOut) {
  auto columns = upload<Points>(3, [](auto view) {
    for (std::size_t i = 0; i < 3; ++i) view.x[i] = view.y[i] = static_cast<float>(i + 1);
  });
  const auto in = columns.const_view().records();
  auto answers = upload<Answers>(3, [](auto) {});
  SoAMetadata<Points> one(3);
  one.append_block("x", in.x());
  SoAMetadata<Points> two(3);
  two.append_block("x", in.x());
  two.append_block("y", in.y());
  SoAMetadata<Answers> outputs(3);
  outputs.append_block("out", answers.view().records().m());
  run("takes_optional", ModelMetadata(one, outputs));
  EXPECT_EQ(download(answers).const_view().m[2], 3.F);
  run("takes_optional", ModelMetadata(two, outputs));
  EXPECT_EQ(download(answers).const_view().m[2], 6.F);
}

TEST_P(JitEngine, BuffersOfIntegersKeepTheirDtype) {
  auto columns = upload<PointsInDouble>(2, [](auto view) {
    for (std::size_t i = 0; i < 2; ++i) {
      view.x[i] = 1;
      view.y[i] = 2;
    }
  });
  const auto in = columns.const_view().records();
  const auto out = columns.view().records();
  SoAMetadata<PointsInDouble> inputs(2);
  inputs.append_block("x", in.x(), in.y());
  SoAMetadata<PointsInDouble> outputs(2);
  outputs.append_block("out", out.m(), out.n());
  run("picks_columns", ModelMetadata(inputs, outputs),
      pytorch::TorchScriptOptions{.dtype = DType::kF64});
  const auto host = download(columns);
  EXPECT_EQ(host.const_view().m[1], 2);
  EXPECT_EQ(host.const_view().n[1], 1);
}

TEST(JitEngineLoad, GivesTheSignatureOfTheModel) {
  pytorch::register_engines();
  const JitModel model(model_file("graph"));
  const Signature& signature = model.deploy(Device::cpu());
  EXPECT_THAT(signature.inputs, ElementsAre(testing::Field(&TensorSpec::name, "x"),
                                            testing::Field(&TensorSpec::name, "edge_index")));
  EXPECT_EQ(signature.inputs[0].type(), "tensor") << "the file does not state more";
  EXPECT_TRUE(signature.outputs.empty());
  EXPECT_EQ(signature.required_inputs, 2U);
}

TEST(JitEngineLoad, TakesWhatIsTorchScriptWhateverItIsCalled) {
  pytorch::register_engines();
  pytorch::register_engines();  // harmless
  // Not in a TemporaryFolder: the filesystem::remove_all that libtorch exports ends the process.
  const std::filesystem::path start =
      std::filesystem::temp_directory_path() / ("tensoa-jit-" + std::to_string(getpid()));
  for (const char* ending : {".pt", ".pt2", ""}) {
    const std::filesystem::path copy = start.string() + ending;
    std::filesystem::copy_file(model_file("affine"), copy);
    EXPECT_EQ(find_loader(copy)->name(), "TorchScript") << ending;
    EXPECT_THROW(find_loader(copy, CompilationType::kAheadOfTime), LoadError);
    EXPECT_NO_THROW(JitModel(copy).deploy(Device::cpu()));
    std::filesystem::remove(copy);
  }
}

TEST(JitEngineLoad, OfAFileOfTorchSaveSaysWhatItIs) {
  pytorch::register_engines();
  EXPECT_THAT([] { JitModel{model_file("state_dict")}; },
              ThrowsMessage<LoadError>(AllOf(
                  HasSubstr("state_dict.pt: is not a TorchScript file: it is a file of torch.save, "
                            "a state_dict or a pickled module; load that in Python, and write "
                            "torch.jit.script(module).save(\"model.pt\"), or make a package: "
                            "tensoa compile FILE.py:FACTORY --out"),
                  Not(HasSubstr("\n")))));
}

TEST(JitEngineLoad, NamesAnOperatorThatThisTorchDoesNotHave) {
  pytorch::register_engines();
  EXPECT_THAT([] { JitModel(model_file("unknown_operator")).deploy(Device::cpu()); },
              ThrowsMessage<LoadError>(AllOf(
                  HasSubstr("that this libtorch can load"),
                  HasSubstr("Unknown builtin op: aten::no_such_operator"), Not(HasSubstr("\n")))));
}

TEST(JitEngineLoad, TakesNoOptionsOfPackages) {
  pytorch::register_engines();
  EXPECT_THAT([] { JitModel(model_file("affine"), package::Options{.cuda_graphs = true}); },
              ThrowsMessage<LoadError>(HasSubstr(
                  "affine.pt: got options of packages (package::Options), the engine that loads it "
                  "is TorchScript")));
}

}  // namespace
}  // namespace tensoa
