// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pytorch/jit_fixture.hpp"

namespace tensoa {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <template <class> class F>
struct Rows {
  F<float> a, b, c;
  F<std::int32_t> number;
  F<Scalar<float>> offset;
  F<Vector<float, 2>> pair;
  F<std::int32_t> offsets;
};

template <template <class> class F>
struct RowAnswers {
  F<float> m, n, o;
  F<double> p, q;
  F<Vector<float, 2>> pair;
};

constexpr float kUnset = -77.F;
constexpr std::size_t kRows = 97;
constexpr std::size_t kBatches[] = {1, 3, 5, 31, 32, kRows - 1, kRows, kRows + 1, 1'000'000};

class Batches : public JitTest {
 protected:
  PortableCollection<Rows> rows(std::size_t count = kRows) {
    return upload<Rows>(count, [](auto view) {
      for (std::size_t i = 0; i < view.size(); ++i) {
        view.a[i] = static_cast<float>(i);
        view.b[i] = static_cast<float>(i) + 1000.F;
        view.c[i] = -static_cast<float>(i);
        view.number[i] = static_cast<std::int32_t>(3 * i);
        view.pair[i][0] = static_cast<float>(i) + 0.5F;
        view.pair[i][1] = static_cast<float>(i) + 0.25F;
        view.offsets[i] = static_cast<std::int32_t>(i / 2);
      }
      view.offsets[view.size()] = static_cast<std::int32_t>(view.size() / 2);
      *view.offset = 7.F;
    });
  }

  /// The answer of one call and those of batches of each size: equal, bit for bit, and so are the
  /// bytes that were copied.
  template <class Inputs, class Outputs>
  void expect_equal(const std::string& name, const Inputs& append_inputs,
                    const Outputs& append_outputs) {
    const JitModel model(model_file(name));
    const auto in = rows();
    const auto run_with = [&](std::size_t batch) {
      auto out = upload<RowAnswers>(kRows, [](auto view) {
        for (std::size_t i = 0; i < kRows; ++i) {
          view.m[i] = view.n[i] = view.o[i] = view.pair[i][0] = view.pair[i][1] = kUnset;
          view.p[i] = view.q[i] = kUnset;
        }
      });
      SoAMetadata<Rows> inputs(kRows);
      append_inputs(inputs, in.const_view().records());
      SoAMetadata<RowAnswers> outputs(kRows);
      append_outputs(outputs, out.view().records());
      const Plan plan = model.plan(ModelMetadata(inputs, outputs));
      const CopyReport report =
          batch == 0 ? model.forward(*queue_, plan) : model.forward_batches(*queue_, plan, batch);
      queue_->wait();
      const auto host = download(out);
      std::vector<double> values{static_cast<double>(report.bytes_in),
                                 static_cast<double>(report.bytes_out)};
      for (std::size_t i = 0; i < kRows; ++i) {
        const auto all = row(host.const_view(), i);
        values.insert(values.end(), {all.m, all.n, all.o, all.p, all.q, all.pair[0], all.pair[1]});
      }
      return values;
    };
    const std::vector<double> whole = run_with(0);
    EXPECT_GT(whole[1], 0) << "bytes out";
    for (const std::size_t batch : kBatches) EXPECT_EQ(run_with(batch), whole) << name << batch;
  }
};
TENSOA_ON_EACH_DEVICE(Batches);

TEST_P(Batches, OfColumnsInPlaceEqualOneCall) {
  expect_equal(
      "affine",
      [](auto& inputs, const auto& from) { inputs.append_block("x", from.a(), from.b()); },
      [](auto& outputs, const auto& to) { outputs.append_block("out", to.m(), to.o()); });
}

TEST_P(Batches, OfVectorsEqualOneCall) {
  expect_equal(
      "affine", [](auto& inputs, const auto& from) { inputs.append_block("x", from.pair()); },
      [](auto& outputs, const auto& to) { outputs.append_block("out", to.pair()); });
}

TEST_P(Batches, OfColumnsAsRowsEqualOneCall) {
  expect_equal(
      "affine",
      [](auto& inputs, const auto& from) {
        inputs.append_block(BlockShape::kColumns, "x", from.a(), from.b(), from.c());
      },
      [](auto& outputs, const auto& to) {
        outputs.append_block(BlockShape::kColumns, "out", to.m(), to.n(), to.o());
      });
}

TEST_P(Batches, OfScalarsEqualOneCall) {
  expect_equal(
      "passes_two",
      [](auto& inputs, const auto& from) {
        inputs.append_block("a", from.offset());
        inputs.append_block("b", from.c());
      },
      [](auto& outputs, const auto& to) {
        outputs.append_block("first", to.n());
        outputs.append_block("second", to.m());
      });
}

TEST_P(Batches, OfRepackedColumnsEqualOneCall) {
  expect_equal(
      "affine",
      [](auto& inputs, const auto& from) {
        inputs.append_block(Repack{DType::kF64}, "x", from.number(), from.offset(), from.b());
      },
      [](auto& outputs, const auto& to) {
        outputs.append_block(Repack{DType::kF64}, "out", to.q(), to.m(), to.p());
      });
}

TEST_P(Batches, OfInputsThatAreWrittenEqualOneCall) {
  expect_equal(
      "doubles_plainly",
      [](auto& inputs, const auto& from) {
        inputs.append_block("a", from.a(), from.b());
        inputs.append_block("b", from.b(), from.c());
      },
      [](auto& outputs, const auto& to) { outputs.append_block("out", to.n(), to.o()); });
}

TEST_P(Batches, OfPaddedGroupsAndMasksEqualOneCall) {
  expect_equal(
      "row_sum",
      [](auto& inputs, const auto& from) {
        inputs.append_padded("x", from.offsets(), 2, from.a(), from.b());
      },
      [](auto& outputs, const auto& to) { outputs.append_block("out", to.m(), to.n()); });
  expect_equal(
      "row_sum_of_mask",
      [](auto& inputs, const auto& from) { inputs.append_mask("x", from.offsets(), 2); },
      [](auto& outputs, const auto& to) { outputs.append_block("out", to.m()); });
}

TEST_P(Batches, OfAnMlpAreCloseToOneCall) {
  const auto in = points(kRows);
  auto whole = answers(kRows);
  run("mlp", in.const_view(), whole.view(), kM, kN);
  const auto expected = download(whole);
  const JitModel model(model_file("mlp"));
  for (const std::size_t batch : kBatches) {
    auto out = answers(kRows);
    SoAMetadata<Points> inputs(kRows);
    const auto from = in.const_view().records();
    inputs.append_block("x", from.x(), from.y(), from.z());
    SoAMetadata<Answers> outputs(kRows);
    outputs.append_block("out", out.view().records().m(), out.view().records().n());
    const Plan plan = model.plan(ModelMetadata(inputs, outputs));
    EXPECT_EQ(model.forward_batches(*queue_, plan, batch), (CopyReport{0, kRows * 2 * 4}));
    queue_->wait();
    const auto host = download(out);
    for (std::size_t i = 0; i < kRows; ++i) {
      const float close = 1e-5F * std::abs(expected.const_view().m[i]) + 1e-4F;
      ASSERT_NEAR(host.const_view().m[i], expected.const_view().m[i], close);
      ASSERT_EQ(host.const_view().o[i], kUntouched);
    }
  }
}

/// The batches before the one that failed have been written, as documented.
TEST_P(Batches, ThatFailLeaveTheFollowingRowsUntouched) {
  const auto in = upload<Points>(10, [](auto view) {
    for (std::size_t i = 0; i < 10; ++i) view.x[i] = i < 4 ? -1.F : 1.F;
  });
  auto out = answers(10);
  SoAMetadata<Points> inputs(10);
  inputs.append_block("x", in.const_view().records().x());
  SoAMetadata<Answers> outputs(10);
  outputs.append_block("out", out.view().records().m());
  const JitModel model(model_file("raises"));
  EXPECT_THAT(
      [&] { model.forward_batches(*queue_, model.plan(ModelMetadata(inputs, outputs)), 2); },
      ThrowsMessage<EngineError>(HasSubstr("all hits are on one side")));
  queue_->wait();
  const auto host = download(out);
  EXPECT_EQ(host.const_view().m[3], -1.F);
  EXPECT_EQ(host.const_view().m[4], kUntouched);
}

}  // namespace
}  // namespace tensoa
