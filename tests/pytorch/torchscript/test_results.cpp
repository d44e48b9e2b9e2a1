// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pytorch/jit_fixture.hpp"

namespace tensoa {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Results : public JitTest {
 protected:
  static constexpr std::size_t kRows = 7;

  /// Runs a model of one input, the column y (1000, 1001, …), with output blocks of these names over
  /// m, n and o.
  CopyReport run_on_y(const std::string& model, const std::vector<std::string>& names,
                      Match match = Match::kAuto) {
    const auto in = points(kRows);
    SoAMetadata<Points> inputs(kRows);
    inputs.append_block("x", in.const_view().records().y());
    SoAMetadata<Answers> outputs(kRows);
    const auto to = out_->view().records();
    const Record<Answers> columns[] = {to.m(), to.n(), to.o()};
    for (std::size_t i = 0; i < names.size(); ++i) outputs.append_block(names[i], columns[i]);
    const CopyReport report = run(model, ModelMetadata(inputs, outputs, match));
    expect_points(in);
    return report;
  }

  /// The values of m, n and o in the last row, in which y is 1006.
  std::vector<float> last_row() {
    const auto host = download(*out_);
    const auto last = row(host.const_view(), kRows - 1);
    return {last.m, last.n, last.o};
  }

  void SetUp() override {
    JitTest::SetUp();
    if (!IsSkipped()) out_.emplace(answers(kRows));
  }

  std::optional<PortableCollection<Answers>> out_;
};
TENSOA_ON_EACH_DEVICE(Results);

constexpr float kPlusOne = 1007.F;
constexpr float kTwice = 2012.F;
constexpr float kThrice = 3018.F;
constexpr CopyReport kThreeColumns{.bytes_in = 0, .bytes_out = 3 * 7 * 4};

// ---- what a model may give

TEST_P(Results, OfTuplesInTuplesAndOfListsOfListsAreTakenInOrder) {
  for (const std::string model : {"nested", "list_of_lists"}) {
    EXPECT_EQ(run_on_y(model, {"a", "b", "c"}), kThreeColumns) << model;
    EXPECT_THAT(last_row(), testing::ElementsAre(kPlusOne, kTwice, kThrice)) << model;
    out_.emplace(answers(kRows));
  }
}

TEST_P(Results, OfADictGoToTheBlocksOfTheirKeysInAnyOrder) {
  for (const Match match : {Match::kAuto, Match::kByOrder, Match::kByName}) {
    EXPECT_EQ(run_on_y("dictionary_of_three", {"plus_one", "thrice", "twice"}, match),
              kThreeColumns);
    EXPECT_THAT(last_row(), testing::ElementsAre(kPlusOne, kThrice, kTwice));
    out_.emplace(answers(kRows));
  }
}

TEST_P(Results, OfADictThatDoNotHaveTheNamesOfTheBlocksAreRefused) {
  EXPECT_THAT(
      [&] {
        run_on_y("dictionary_of_three", {"plus_one", "twice", "third"});
      },
      ThrowsMessage<BindingError>(
          AllOf(HasSubstr("gives an output called \"thrice\", got output "
                          "blocks called plus_one, twice, third; name them as the "
                          "outputs"),
                is_short())));
  EXPECT_THAT(
      [&] {
        run_on_y("dictionary_of_three", {"plus_one", "twice"});
      },
      ThrowsMessage<BindingError>(HasSubstr("gives 3 outputs, got 2 output blocks")));
  EXPECT_THAT(
      [&] {
        run_on_y("dictionary", {"x", "more"});
      },
      ThrowsMessage<BindingError>(HasSubstr("gives 1 outputs, got 2 output blocks")));
  expect_untouched(*out_);
}

TEST_P(Results, OfANamedTupleGoByOrderOrByName) {
  run_on_y("gives_named_tuple", {"first", "second"});
  EXPECT_THAT(last_row(), testing::ElementsAre(kPlusOne, kTwice, kUntouched));
  run_on_y("gives_named_tuple", {"twice", "plus_one"});
  EXPECT_THAT(last_row(), testing::ElementsAre(kTwice, kPlusOne, kUntouched)) << "all names fit";
  EXPECT_THAT(
      [&] {
        run_on_y("gives_named_tuple", {"first", "plus_one"});
      },
      ThrowsMessage<BindingError>(
          AllOf(HasSubstr("gives \"plus_one\" in the place of block \"first\""),
                HasSubstr("got output blocks called first, plus_one"), is_short())));
  run_on_y("gives_named_tuple", {"first", "twice"});
  EXPECT_THAT(last_row(), testing::ElementsAre(kPlusOne, kTwice, kUntouched)) << "in its place";
  run_on_y("gives_named_tuple", {"twice", "plus_one"}, Match::kByOrder);
  EXPECT_THAT(last_row(), testing::ElementsAre(kPlusOne, kTwice, kUntouched)) << "by order";
  run_on_y("gives_named_tuple", {"twice", "plus_one"}, Match::kByName);
  EXPECT_THAT(last_row(), testing::ElementsAre(kTwice, kPlusOne, kUntouched)) << "by name";
  EXPECT_THAT(
      [&] {
        run_on_y("gives_named_tuple", {"first", "second"}, Match::kByName);
      },
      ThrowsMessage<BindingError>(HasSubstr(
          "gives an output called \"plus_one\", got output blocks called first, second")));
}

TEST_P(Results, WithoutNamesTakeTheBlocksThatAreLeftInOrder) {
  run_on_y("dictionary_in_tuple", {"a", "twice", "b"});
  EXPECT_THAT(last_row(), testing::ElementsAre(kThrice, kTwice, kPlusOne));
  run_on_y("dictionary_in_tuple", {"twice", "a", "b"});
  EXPECT_THAT(last_row(), testing::ElementsAre(kTwice, kThrice, kPlusOne));
  run_on_y("named_tuple_in_tuple", {"twice", "a", "plus_one"}, Match::kByName);
  EXPECT_THAT(last_row(), testing::ElementsAre(kTwice, kThrice, kPlusOne));
  run_on_y("named_tuple_in_tuple", {"twice", "a", "plus_one"});
  EXPECT_THAT(last_row(), testing::ElementsAre(kTwice, kThrice, kPlusOne)) << "all names fit";
  run_on_y("named_tuple_in_tuple", {"twice", "a", "plus_one"}, Match::kByOrder);
  EXPECT_THAT(last_row(), testing::ElementsAre(kThrice, kPlusOne, kTwice)) << "by order";
  run_on_y("nested", {"a", "b", "c"}, Match::kByName);
  EXPECT_THAT(last_row(), testing::ElementsAre(kPlusOne, kTwice, kThrice)) << "no names at all";
  EXPECT_THAT(
      [&] {
        run_on_y("dictionary_in_tuple", {"a", "b", "c"});
      },
      ThrowsMessage<BindingError>(HasSubstr("gives an output called \"twice\"")));
}

TEST_P(Results, OfOneNameAreRefused) {
  EXPECT_THAT(
      [&] {
        run_on_y("two_dictionaries", {"x", "y"});
      },
      ThrowsMessage<BindingError>(HasSubstr("gives two outputs called \"x\"")));
  expect_untouched(*out_);
}

TEST_P(Results, MayBeAnOptionalThatIsThere) {
  EXPECT_EQ(run_on_y("gives_optional", {"a"}).bytes_out, kRows * 4);
  EXPECT_EQ(last_row()[0], kPlusOne);
}

TEST_P(Results, MayBeNone) {  // an empty list, and no block
  EXPECT_EQ(run_on_y("empty_list", {}), CopyReport{});
  EXPECT_THAT([&] { run_on_y("empty_list", {"a"}); },
              ThrowsMessage<BindingError>(HasSubstr("gives 0 outputs, got 1 output blocks")));
}

TEST_P(Results, ThatAreNoTensorsAreRefused) {
  struct Case {
    std::string model;
    std::vector<std::string> blocks;
    std::string message;
  };
  for (const Case& one : {
           Case{"dictionary_of_lists", {"x"}, "gives a dict of str to List[Tensor]"},
           Case{"dictionary_of_numbers", {"x"}, "gives a dict of int to Tensor"},
           Case{"none_in_tuple", {"a", "b"}, "gives a NoneType; expected a tensor"},
           Case{"gives_number", {"a"}, "gives a float; expected a tensor"},
       }) {
    EXPECT_THAT([&] { run_on_y(one.model, one.blocks); },
                ThrowsMessage<BindingError>(
                    AllOf(HasSubstr(one.model + ".pt: "), HasSubstr(one.message), is_short())))
        << one.model;
    expect_untouched(*out_);
  }
}

TEST_P(Results, OfAnotherLayoutThanStridedAreRefusedBeforeAnythingIsWritten) {
  EXPECT_THAT(
      [&] {
        run_on_y("gives_sparse", {"a", "b"});
      },
      ThrowsMessage<BindingError>(
          AllOf(HasSubstr("gives Sparse float32[7, 1]"), HasSubstr("block \"b\""))));
  expect_untouched(*out_);
}

// ---- where they go

template <template <class> class F>
struct Spread {
  F<float> a, b, c, d, e;
  F<std::int32_t> i, j;
  F<double> u, v;
  F<std::int64_t> k;
  F<Vector<float, 2>> pair;
  F<Matrix<float, 1, 2>> row_pair;
  F<Vector<float, 3>> p, q;
  F<Matrix<float, 3, 2>> six;
};

class SpreadResults : public JitTest {
 protected:
  static constexpr std::size_t kRows = 33;

  void SetUp() override {
    JitTest::SetUp();
    if (IsSkipped()) return;
    spread_.emplace(upload<Spread>(kRows, [](auto view) {
      for (std::size_t i = 0; i < kRows; ++i) {
        view.a[i] = view.b[i] = view.c[i] = view.d[i] = view.e[i] = kUntouched;
        view.i[i] = view.j[i] = -77;
        view.u[i] = view.v[i] = -77.;
        view.k[i] = -77;
        for (std::size_t k = 0; k < 3; ++k) view.p[i][k] = view.q[i][k] = kUntouched;
      }
    }));
    in_.emplace(points(kRows));
  }

  SoAMetadata<Points> inputs() {
    const auto from = in_->const_view().records();
    SoAMetadata<Points> inputs(kRows);
    inputs.append_block("x", from.x(), from.y(), from.z());
    return inputs;
  }

  std::optional<PortableCollection<Spread>> spread_;
  std::optional<PortableCollection<Points>> in_;
};
TENSOA_ON_EACH_DEVICE(SpreadResults);

TEST_P(SpreadResults, AreTakenApartIntoColumnsThatAreNotEquallySpaced) {
  const auto to = spread_->view().records();
  SoAMetadata<Spread> outputs(kRows);
  outputs.append_block(Repack{}, "out", to.d(), to.a(), to.c());
  const CopyReport report = run("affine", ModelMetadata(inputs(), outputs));
  EXPECT_EQ(report, (CopyReport{0, kRows * 3 * 4}));
  EXPECT_TRUE(report.has(CopyReason::kRepack));
  EXPECT_FALSE(report.has(CopyReason::kOwnOutput));
  const auto host = download(*spread_);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto value = 2.F * static_cast<float>(i) + 1.F;
    const auto all = row(host.const_view(), i);
    ASSERT_EQ(all.d, value);
    ASSERT_EQ(all.a, value + 2000.F);
    ASSERT_EQ(all.c, value + 4000.F);
    ASSERT_EQ(all.b, kUntouched);
    ASSERT_EQ(all.e, kUntouched);
  }
}

TEST_P(SpreadResults, AreConvertedWhereTheBlockRequestsIt) {
  const auto to = spread_->view().records();
  SoAMetadata<Spread> outputs(kRows);
  outputs.append_block(Repack{DType::kF64}, "thirds", to.e(), to.u());  // f64 -> f32, f64
  outputs.append_block(Repack{DType::kI64}, "twice", to.i(), to.k(),
                       to.a());  // i64 -> i32, i64, f32
  EXPECT_EQ(run("gives_two_dtypes", ModelMetadata(inputs(), outputs)),
            (CopyReport{0, kRows * (4 + 8) + kRows * (4 + 8 + 4)}));
  const auto host = download(*spread_);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto value = static_cast<double>(i);
    const auto all = row(host.const_view(), i);
    ASSERT_FLOAT_EQ(all.e, static_cast<float>(value / 3));
    ASSERT_DOUBLE_EQ(all.u, (value + 1000) / 3);  // a GPU divides by multiplying
    ASSERT_EQ(all.i, static_cast<std::int32_t>(2 * i));
    ASSERT_EQ(all.k, static_cast<std::int64_t>(2 * i + 2000));
    ASSERT_EQ(all.a, static_cast<float>(2 * i + 4000));
  }
}

/// The dtype of a Repack is that of the model's tensor, not a wish to convert whatever comes.
TEST_P(SpreadResults, OfAnotherDtypeThanTheRepackSaysAreRefused) {
  const auto to = spread_->view().records();
  SoAMetadata<Spread> outputs(kRows);
  outputs.append_block(Repack{DType::kF64}, "out", to.a(), to.u(), to.d());
  EXPECT_THAT([&] { run("affine", ModelMetadata(inputs(), outputs)); },
              ThrowsMessage<BindingError>(
                  AllOf(HasSubstr("gives float32[33, 3]"),
                        HasSubstr("block \"out\" (columns a, u, d), which is float64[33, 3]"))));
  const auto host = download(*spread_);
  EXPECT_EQ(host.const_view().a[0], kUntouched);
  EXPECT_EQ(host.const_view().u[0], -77.);
}

TEST_P(SpreadResults, AreWrittenToEverySecondColumn) {
  const auto to = spread_->view().records();
  SoAMetadata<Spread> outputs(kRows);
  outputs.append_block("out", to.a(), to.c(), to.e());
  const CopyReport report = run("affine", ModelMetadata(inputs(), outputs));
  EXPECT_EQ(report, (CopyReport{0, kRows * 3 * 4}));
  EXPECT_TRUE(report.has(CopyReason::kOwnOutput));
  EXPECT_FALSE(report.has(CopyReason::kRepack));
  const auto host = download(*spread_);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto value = 2.F * static_cast<float>(i) + 1.F;
    const auto all = row(host.const_view(), i);
    ASSERT_EQ(all.a, value);
    ASSERT_EQ(all.c, value + 2000.F);
    ASSERT_EQ(all.e, value + 4000.F);
    ASSERT_EQ(all.b, kUntouched);
    ASSERT_EQ(all.d, kUntouched);
  }
}

TEST_P(SpreadResults, AreWrittenToVectors) {
  const auto to = spread_->view().records();
  for (const bool repacks : {false, true}) {
    SoAMetadata<Spread> outputs(kRows);
    if (repacks) {
      outputs.append_block(Repack{}, "out", to.q());
    } else {
      outputs.append_block("out", to.p());
    }
    EXPECT_EQ(run("affine", ModelMetadata(inputs(), outputs)), (CopyReport{0, kRows * 3 * 4}));
  }
  const auto host = download(*spread_);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      const auto expected = 2.F * (static_cast<float>(i) + 1000.F * static_cast<float>(k)) + 1.F;
      ASSERT_EQ(host.const_view().p[i][k], expected);
      ASSERT_EQ(host.const_view().q[i][k], expected);
    }
  }
}

/// Several vectors to several vectors in another order, and matrices to matrices.
TEST_P(SpreadResults, AreWrittenToSeveralVectorsAndToMatrices) {
  auto source = upload<Spread>(kRows, [](auto view) {
    for (std::size_t i = 0; i < kRows; ++i) {
      const auto value = static_cast<float>(i);
      for (std::size_t k = 0; k < 3; ++k) {
        view.p[i][k] = value + 100.F * static_cast<float>(k);
        view.q[i][k] = -view.p[i][k];
        for (std::size_t c = 0; c < 2; ++c)
          view.six[i](k, c) = value + 1000.F * static_cast<float>(2 * k + c);
      }
    }
  });
  const auto from = source.const_view().records();
  const auto to = spread_->view().records();
  SoAMetadata<Spread> vectors(kRows);
  vectors.append_block("a", from.p(), from.q());
  vectors.append_block("b", from.six());
  SoAMetadata<Spread> outputs(kRows);
  outputs.append_block(Repack{}, "vectors", to.q(), to.p());
  outputs.append_block("matrices", to.six());
  EXPECT_EQ(run("passes_two", ModelMetadata(vectors, outputs)),
            (CopyReport{0, kRows * 6 * 4 + kRows * 6 * 4}));
  const auto host = download(*spread_);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto value = static_cast<float>(i);
    for (std::size_t k = 0; k < 3; ++k) {
      ASSERT_EQ(host.const_view().q[i][k], value + 100.F * static_cast<float>(k));
      ASSERT_EQ(host.const_view().p[i][k], -value - 100.F * static_cast<float>(k));
      for (std::size_t c = 0; c < 2; ++c)
        ASSERT_EQ(host.const_view().six[i](k, c), value + 1000.F * static_cast<float>(2 * k + c));
    }
  }
}

TEST_P(SpreadResults, OfTheTransposedShapeOfAMatrixAreRefused) {
  SoAMetadata<Spread> outputs(kRows);
  outputs.append_block("out", spread_->view().records().row_pair());
  const auto from = in_->const_view().records();
  SoAMetadata<Points> two(kRows);
  two.append_block("x", from.x(), from.y());
  EXPECT_THAT([&] { run("affine", ModelMetadata(two, outputs)); },
              ThrowsMessage<BindingError>(AllOf(HasSubstr("gives float32[33, 2]"),
                                                HasSubstr("which is float32[33, 1, 2]"))));
}

// ---- results in the memory of the columns

TEST_P(SpreadResults, ThatLieInTheColumnsOfOtherOutputsAreReadBeforeThoseAreWritten) {
  auto both = points(kRows);
  const auto records = both.view().records();
  for (const bool repacks : {false, true}) {
    SoAMetadata<Points> in(kRows);
    in.append_block("x", records.x(), records.y(), records.z());
    SoAMetadata<Points> out(kRows);
    if (repacks) {
      out.append_block(Repack{}, "first", records.x());
      out.append_block(Repack{}, "second", records.y());
      out.append_block(Repack{}, "third", records.z());
    } else {
      out.append_block("first", records.x());
      out.append_block("second", records.y());
      out.append_block("third", records.z());
    }
    const CopyReport report = run("rotates", ModelMetadata(in, out));
    EXPECT_EQ(report, (CopyReport{0, (3 + 1) * kRows * 4}))
        << "x is copied aside, and nothing else";
    EXPECT_TRUE(report.has(CopyReason::kOverlap));
  }
  const auto host = download(both);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto value = static_cast<float>(i);
    ASSERT_EQ(host.const_view().x[i], value + 2000.F) << "rotated twice";
    ASSERT_EQ(host.const_view().y[i], value);
    ASSERT_EQ(host.const_view().z[i], value + 1000.F);
  }
}

/// One repacked block that permutes the columns it reads.
TEST_P(SpreadResults, OfOneBlockThatPermutesItsOwnColumnsAreCopiedAside) {
  auto both = points(kRows);
  const auto records = both.view().records();
  SoAMetadata<Points> in(kRows);
  in.append_block("x", records.x(), records.y(), records.z());
  SoAMetadata<Points> out(kRows);
  out.append_block(Repack{}, "out", records.z(), records.x(), records.y());
  const CopyReport report = run("identity", ModelMetadata(in, out));
  EXPECT_EQ(report, (CopyReport{0, 2 * 3 * kRows * 4}));
  const auto host = download(both);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto value = static_cast<float>(i);
    ASSERT_EQ(host.const_view().z[i], value);
    ASSERT_EQ(host.const_view().x[i], value + 1000.F);
    ASSERT_EQ(host.const_view().y[i], value + 2000.F);
  }
}

TEST_P(SpreadResults, AreWrittenInPlaceOverTheInput) {
  auto both = points(kRows);
  const auto records = both.view().records();
  SoAMetadata<Points> in(kRows);
  in.append_block("x", records.x(), records.y(), records.z());
  SoAMetadata<Points> out(kRows);
  out.append_block("out", records.x(), records.y(), records.z());
  const CopyReport report = run("affine", ModelMetadata(in, out));
  EXPECT_EQ(report, (CopyReport{0, 3 * kRows * 4}));
  EXPECT_FALSE(report.has(CopyReason::kOverlap));
  EXPECT_EQ(download(both).const_view().y[32], 2.F * 1032.F + 1.F);
}

}  // namespace
}  // namespace tensoa
