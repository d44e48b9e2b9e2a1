// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "pytorch/jit_fixture.hpp"
#include "tensoa/soa/slice.hpp"

namespace tensoa {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Columns of many kinds, and places for what the identity model makes of them.
template <template <class> class F>
struct Tracks {
  F<float> a, b, c, d;
  F<std::int32_t> charge;
  F<std::int64_t> id;
  F<double> energy;
  F<bool> good;
  F<std::uint8_t> quality;
  F<Half> weight;
  F<Vector<float, 3>> u, v, w;
  F<Vector<double, 3>> precise;
  F<Scalar<float>> field;
  F<Scalar<std::int32_t>> run;
  F<Scalar<double>> scale;
};

template <template <class> class F>
struct Packed {
  F<Vector<float, 4>> floats;
  F<Vector<double, 4>> doubles;
  F<Vector<std::int64_t, 4>> longs;
  F<Matrix<float, 2, 3>> vectors;
  F<Matrix<float, 3, 3>> triples;
};

template <template <class> class F>
struct Images {
  F<Matrix<float, 3, 4>> red, blue;
  F<Matrix<float, 2, 3>> p, q, r;
};

class Arguments : public JitTest {
 protected:
  static constexpr std::size_t kRows = 33;

  PortableCollection<Tracks> tracks(std::size_t rows = kRows) {
    return upload<Tracks>(rows, [](auto view) {
      for (std::size_t i = 0; i < view.size(); ++i) {
        const auto value = static_cast<float>(i);
        view.a[i] = value + 0.25F;
        view.b[i] = value + 1000.F;
        view.c[i] = value + 2000.F;
        view.d[i] = -value;
        view.charge[i] = i % 2 == 0 ? 1 : -1;
        view.id[i] = (std::int64_t{1} << 40U) + static_cast<std::int64_t>(i);
        view.energy[i] = 0.1 * static_cast<double>(i);
        view.good[i] = i % 3 == 0;
        view.quality[i] = static_cast<std::uint8_t>(200 + i);
        view.weight[i] = Half{static_cast<std::uint16_t>(i % 2 == 0 ? 0x3c00 : 0x4000)};  // 1, 2
        for (std::size_t k = 0; k < 3; ++k) {
          const auto component = static_cast<float>(k);
          view.u[i][k] = value + 100.F * component;
          view.v[i][k] = value + 100.F * component + 1000.F;
          view.w[i][k] = value + 100.F * component + 2000.F;
          view.precise[i][k] = 0.1 * value + component;
        }
      }
      *view.field = 3.75F;
      *view.run = 42;
      *view.scale = 0.1;
    });
  }

  /// The result of the identity model for one block; the report is kept.
  template <template <template <class> class> class... In>
  void pass(const SoAMetadata<In...>& inputs, const SoAMetadata<Packed>& outputs) {
    report_ = run("identity", ModelMetadata(inputs, outputs));
  }

  CopyReport report_;
};
TENSOA_ON_EACH_DEVICE(Arguments);

// ---- packed copies on request

TEST_P(Arguments, OfColumnsThatAreNotEquallySpacedArePackedOnRequest) {
  const auto from = tracks();
  const auto records = from.const_view().records();
  auto to = upload<Packed>(kRows, [](auto) {});
  SoAMetadata<Tracks> inputs(kRows);
  EXPECT_THROW(inputs.append_block("x", records.d(), records.a(), records.c(), records.b()),
               BindingError);
  inputs.append_block(Repack{}, "x", records.d(), records.a(), records.c(), records.b());
  SoAMetadata<Packed> outputs(kRows);
  outputs.append_block("out", to.view().records().floats());
  pass(inputs, outputs);
  EXPECT_EQ(report_, (CopyReport{kRows * 4 * 4, kRows * 4 * 4}));
  EXPECT_TRUE(report_.has(CopyReason::kRepack));
  EXPECT_FALSE(report_.has(CopyReason::kInputIsWritten));
  EXPECT_THAT(to_string(report_), HasSubstr("528 bytes in, 528 bytes out (a block is repacked"));
  const auto source = download(from);
  const auto host = download(to);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto in = row(source.const_view(), i);
    const auto out = row(host.const_view(), i).floats;
    ASSERT_THAT((std::array{out[0], out[1], out[2], out[3]}), ElementsAre(in.d, in.a, in.c, in.b));
  }
}

TEST_P(Arguments, OfSeveralDtypesAreConvertedToTheOneThatIsAskedFor) {
  const auto from = tracks();
  const auto records = from.const_view().records();
  auto to = upload<Packed>(kRows, [](auto) {});
  const auto places = to.view().records();
  const auto convert = [&](DType dtype, const Record<Packed>& place) {
    SoAMetadata<Tracks> inputs(kRows);
    inputs.append_block(Repack{dtype}, "x", records.charge(), records.quality(), records.energy(),
                        records.b());
    SoAMetadata<Packed> outputs(kRows);
    outputs.append_block("out", place);
    pass(inputs, outputs);
    EXPECT_EQ(report_, (CopyReport{kRows * 4 * size_of(dtype), kRows * 4 * size_of(dtype)}));
  };
  convert(DType::kF32, places.floats());
  convert(DType::kF64, places.doubles());
  convert(DType::kI64, places.longs());
  const auto source = download(from);
  const auto host = download(to);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto in = row(source.const_view(), i);
    const auto out = row(host.const_view(), i);
    const double expected[] = {static_cast<double>(in.charge), static_cast<double>(in.quality),
                               in.energy, in.b};
    for (std::size_t k = 0; k < 4; ++k) {
      ASSERT_EQ(out.doubles[k], expected[k]);
      ASSERT_EQ(out.floats[k], static_cast<float>(expected[k]));
      ASSERT_EQ(out.longs[k], static_cast<std::int64_t>(expected[k]));
    }
  }
}

TEST_P(Arguments, OfScalarsMayStandAmongPlainColumns) {
  const auto from = tracks();
  const auto records = from.const_view().records();
  auto to = upload<Packed>(kRows, [](auto) {});
  SoAMetadata<Tracks> inputs(kRows);
  inputs.append_block(Repack{DType::kF64}, "x", records.field(), records.a(), records.run(),
                      records.scale());
  SoAMetadata<Packed> outputs(kRows);
  outputs.append_block("out", to.view().records().doubles());
  pass(inputs, outputs);
  EXPECT_EQ(report_.bytes_in, kRows * 4 * 8);
  const auto host = download(to);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto out = row(host.const_view(), i).doubles;
    ASSERT_THAT((std::array{out[0], out[1], out[2], out[3]}),
                ElementsAre(3.75, static_cast<double>(i) + 0.25, 42., 0.1));
  }
}

TEST_P(Arguments, OfVectorsArePackedAndConverted) {
  const auto from = tracks();
  const auto records = from.const_view().records();
  auto to = upload<Packed>(kRows, [](auto) {});
  SoAMetadata<Tracks> inputs(kRows);
  inputs.append_block(Repack{DType::kF32}, "x", records.w(), records.precise(), records.u());
  SoAMetadata<Packed> outputs(kRows);
  outputs.append_block("out", to.view().records().triples());  // [n, 3, 3]
  pass(inputs, outputs);
  EXPECT_EQ(report_.bytes_in, kRows * 9 * 4);
  const auto source = download(from);
  const auto host = download(to);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto in = row(source.const_view(), i);
    const auto out = row(host.const_view(), i).triples;
    for (std::size_t k = 0; k < 3; ++k) {
      ASSERT_EQ(out(0, k), in.w[k]);
      ASSERT_EQ(out(1, k), static_cast<float>(in.precise[k]));
      ASSERT_EQ(out(2, k), in.u[k]);
    }
  }
}

TEST_P(Arguments, OfOneVectorKeepItsShapeWhenTheyArePacked) {
  const auto from = tracks();
  auto to = answers(kRows);
  SoAMetadata<Tracks> inputs(kRows);
  inputs.append_block(Repack{}, "x", from.const_view().records().v());
  const auto records = to.view().records();
  SoAMetadata<Answers> outputs(kRows);
  outputs.append_block("out", records.m(), records.n(), records.o());
  EXPECT_EQ(run("identity", ModelMetadata(inputs, outputs)).bytes_in, kRows * 3 * 4);
  EXPECT_EQ(download(to).const_view().o[32], 32.F + 1200.F);
}

/// Pitfall L7 of the existing implementation: one dtype for all inputs, index tensors too.
TEST_P(Arguments, AreConvertedPerBlockAndNeverAllTogether) {
  auto both = tracks();
  const auto records = both.view().records();
  SoAMetadata<Tracks> inputs(kRows);
  inputs.append_block(Repack{DType::kF64}, "a", records.b());
  inputs.append_block("b", records.id());
  SoAMetadata<Tracks> outputs(kRows);
  outputs.append_block("a", records.energy());  // an exact float64
  outputs.append_block("b", records.id());      // an exact int64
  EXPECT_EQ(run("passes_two", ModelMetadata(inputs, outputs)).bytes_in, kRows * 8);
  const auto host = download(both);
  EXPECT_EQ(host.const_view().energy[32], 1032.);
  EXPECT_EQ(host.const_view().id[32], (std::int64_t{1} << 40U) + 32);
}

TEST_P(Arguments, ThatAreRepackedAndWrittenAreCopiedOnce) {
  const auto from = tracks();
  const auto records = from.const_view().records();
  auto to = answers(kRows);
  SoAMetadata<Tracks> inputs(kRows);
  inputs.append_block("a", records.a(), records.b());
  inputs.append_block(Repack{}, "b", records.d(), records.b());
  SoAMetadata<Answers> outputs(kRows);
  outputs.append_block("out", to.view().records().m(), to.view().records().n());
  const CopyReport report = run("doubles_plainly", ModelMetadata(inputs, outputs));
  EXPECT_EQ(report.bytes_in, kRows * 2 * 4);
  EXPECT_FALSE(report.has(CopyReason::kInputIsWritten));
  const auto host = download(to);
  EXPECT_EQ(host.const_view().m[32], 32.25F - 64.F);
  EXPECT_EQ(host.const_view().n[32], 3.F * 1032.F);
  EXPECT_EQ(download(from).const_view().d[32], -32.F);
}

TEST_P(Arguments, AreRebound) {
  SoAMetadata<Tracks> inputs(kRows);
  const auto first = tracks();
  const auto records = first.const_view().records();
  inputs.append_block(Repack{DType::kF32}, "x", records.charge(), records.field(), records.d());
  auto to = answers(100);
  const auto places = to.view().records();
  SoAMetadata<Answers> outputs(kRows);
  outputs.append_block(Repack{}, "out", places.o(), places.m(), places.n());
  const JitModel model(model_file("identity"));
  Plan plan = model.plan(ModelMetadata(inputs, outputs));
  for (const std::size_t rows : {1U, 100U, 0U, 31U}) {
    const auto from = tracks(rows);
    to = answers(rows);
    plan.rebind(from.const_view(), to.view());
    EXPECT_EQ(model.forward(*queue_, plan), (CopyReport{rows * 3 * 4, rows * 3 * 4}));
    queue_->wait();
    const auto host = download(to);
    for (std::size_t i = 0; i < rows; ++i) {
      const auto out = row(host.const_view(), i);
      ASSERT_THAT((std::array{out.o, out.m, out.n}),
                  ElementsAre(i % 2 == 0 ? 1.F : -1.F, 3.75F, -static_cast<float>(i)));
    }
  }
}

TEST_P(Arguments, OfMatricesAreTheImagesOfAConvolution) {
  auto images = upload<Images>(kRows, [](auto view) {
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t y = 0; y < 3; ++y) {
        for (std::size_t x = 0; x < 4; ++x) {
          view.red[i](y, x) = static_cast<float>((i + 3 * y + x) % 7);
          view.blue[i](y, x) = static_cast<float>((2 * i + y + 5 * x) % 5);
        }
      }
    }
  });
  const auto records = images.view().records();
  SoAMetadata<Images> inputs(kRows);
  inputs.append_block("x", records.red(), records.blue());  // [n, 2, 3, 4]
  SoAMetadata<Images> outputs(kRows);
  outputs.append_block("out", records.p(), records.q(), records.r());  // [n, 3, 2, 3]
  EXPECT_EQ(run("convolution", ModelMetadata(inputs, outputs)), (CopyReport{0, kRows * 18 * 4}));
  const auto host = download(images);
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto image = row(host.const_view(), i);
    for (std::size_t out = 0; out < 3; ++out) {
      for (std::size_t y = 0; y < 2; ++y) {
        for (std::size_t x = 0; x < 3; ++x) {
          float expected = 0;
          for (std::size_t dy = 0; dy < 2; ++dy) {
            for (std::size_t dx = 0; dx < 2; ++dx) {
              const std::size_t weight = 8 * out + 2 * dy + dx;
              expected += static_cast<float>(weight) * image.red(y + dy, x + dx) +
                          static_cast<float>(weight + 4) * image.blue(y + dy, x + dx);
            }
          }
          const auto& got = out == 0 ? image.p : out == 1 ? image.q : image.r;
          ASSERT_EQ(got(y, x), expected) << i << ' ' << out << ' ' << y << ' ' << x;
        }
      }
    }
  }
}

// ---- ragged data

/// Groups of rows of Tracks, and places for three rows of each.
template <template <class> class F>
struct Groups {
  F<std::int32_t> offsets;
  F<std::int64_t> long_offsets;
  F<float> energy;
  F<Vector<std::int32_t, 2>> pairs;
  F<Scalar<std::int64_t>> first;
};

template <template <class> class F>
struct Three {
  F<Vector<float, 2>> two0, two1, two2;
  F<Vector<float, 3>> vector0, vector1, vector2;
  F<Matrix<float, 2, 3>> vectors0, vectors1, vectors2;
  F<Vector<bool, 1>> good0, good1, good2;
  F<Vector<std::int64_t, 1>> id0, id1, id2;
  F<bool> is0, is1, is2;
};

class Ragged : public Arguments {
 protected:
  static constexpr std::size_t kLength = 3;
  /// Empty, of exactly three, shorter and longer; rows before the first group and after the last.
  static constexpr std::array<std::int64_t, 8> kOffsets{2, 4, 4, 7, 12, 12, 13, 30};
  static constexpr std::size_t kGroups = kOffsets.size() - 1;

  static std::size_t begin_of(std::size_t group) {
    return static_cast<std::size_t>(kOffsets[group]);
  }
  static bool is_there(std::size_t group, std::size_t i) {
    return begin_of(group) + i < begin_of(group + 1);
  }

  PortableCollection<Groups> groups(std::vector<std::int64_t> offsets = {kOffsets.begin(),
                                                                         kOffsets.end()}) {
    return upload<Groups>(offsets.size() - 1, [&](auto view) {
      for (std::size_t i = 0; i < offsets.size(); ++i) {
        view.offsets[i] = static_cast<std::int32_t>(offsets[i]);
        view.long_offsets[i] = offsets[i];
      }
    });
  }

  /// Runs `append(inputs, rows, groups)` through the identity model to `records` of Three.
  template <class Append, class... Records>
  void pad(const Append& append, const Records&... records) {
    const auto from = tracks();
    const auto by = groups();
    SoAMetadata<Tracks, Groups> inputs(kRows, kGroups);
    append(inputs, from.const_view().records(), by.const_view().records());
    SoAMetadata<Three> outputs(kGroups);
    outputs.append_block("out", records...);
    report_ = run("identity", ModelMetadata(inputs, outputs));
    EXPECT_EQ(report_.bytes_in, report_.bytes_out);
    EXPECT_TRUE(report_.has(CopyReason::kRagged));
  }

  void SetUp() override {
    Arguments::SetUp();
    if (!IsSkipped()) three_.emplace(upload<Three>(kGroups, [](auto) {}));
  }

  std::optional<PortableCollection<Three>> three_;
};
TENSOA_ON_EACH_DEVICE(Ragged);

TEST_P(Ragged, RowsArePaddedWithZerosAndCutAtTheLength) {
  const auto to = three_->view().records();
  for (const bool is_wide : {false, true}) {
    pad(
        [&](auto& inputs, const auto& from, const auto& by) {
          inputs.append_padded("x", is_wide ? by.long_offsets() : by.offsets(), kLength, from.a(),
                               from.c());
        },
        to.two0(), to.two1(), to.two2());
    EXPECT_EQ(report_.bytes_in, kGroups * kLength * 2 * 4);
    const auto source = tracks();
    const auto in = download(source);
    const auto host = download(*three_);
    for (std::size_t group = 0; group < kGroups; ++group) {
      const auto out = row(host.const_view(), group);
      const VectorReference<const float, 2> got[] = {out.two0, out.two1, out.two2};
      for (std::size_t i = 0; i < kLength; ++i) {
        const std::size_t r = begin_of(group) + i;
        ASSERT_EQ(got[i][0], is_there(group, i) ? in.const_view().a[r] : 0.F) << group << ' ' << i;
        ASSERT_EQ(got[i][1], is_there(group, i) ? in.const_view().c[r] : 0.F) << group << ' ' << i;
      }
    }
  }
}

TEST_P(Ragged, RowsOfVectorsArePadded) {
  const auto to = three_->view().records();
  pad([](auto& inputs, const auto& from,
         const auto& by) { inputs.append_padded("x", by.offsets(), kLength, from.v()); },
      to.vector0(), to.vector1(), to.vector2());
  EXPECT_EQ(report_.bytes_in, kGroups * kLength * 3 * 4);
  pad([](auto& inputs, const auto& from,
         const auto& by) { inputs.append_padded("x", by.offsets(), kLength, from.u(), from.w()); },
      to.vectors0(), to.vectors1(), to.vectors2());
  EXPECT_EQ(report_.bytes_in, kGroups * kLength * 6 * 4);
  const auto host = download(*three_);
  for (std::size_t group = 0; group < kGroups; ++group) {
    const auto out = row(host.const_view(), group);
    const VectorReference<const float, 3> one[] = {out.vector0, out.vector1, out.vector2};
    const MatrixReference<const float, 2, 3> two[] = {out.vectors0, out.vectors1, out.vectors2};
    for (std::size_t i = 0; i < kLength; ++i) {
      const bool there = is_there(group, i);
      for (std::size_t k = 0; k < 3; ++k) {
        const auto value = static_cast<float>(begin_of(group) + i + 100 * k);
        ASSERT_EQ(one[i][k], there ? value + 1000.F : 0.F);
        ASSERT_EQ(two[i](0, k), there ? value : 0.F);
        ASSERT_EQ(two[i](1, k), there ? value + 2000.F : 0.F);
      }
    }
  }
}

TEST_P(Ragged, RowsOfBoolsAndIntegersKeepTheirDtype) {
  const auto to = three_->view().records();
  pad([](auto& inputs, const auto& from,
         const auto& by) { inputs.append_padded("x", by.offsets(), kLength, from.good()); },
      to.good0(), to.good1(), to.good2());
  EXPECT_EQ(report_.bytes_in, kGroups * kLength);
  pad([](auto& inputs, const auto& from,
         const auto& by) { inputs.append_padded("x", by.offsets(), kLength, from.id()); },
      to.id0(), to.id1(), to.id2());
  EXPECT_EQ(report_.bytes_in, kGroups * kLength * 8);
  const auto host = download(*three_);
  for (std::size_t group = 0; group < kGroups; ++group) {
    const auto out = row(host.const_view(), group);
    const bool good[] = {out.good0[0], out.good1[0], out.good2[0]};
    const std::int64_t id[] = {out.id0[0], out.id1[0], out.id2[0]};
    for (std::size_t i = 0; i < kLength; ++i) {
      const std::size_t r = begin_of(group) + i;
      ASSERT_EQ(good[i], is_there(group, i) && r % 3 == 0);
      ASSERT_EQ(id[i],
                is_there(group, i) ? (std::int64_t{1} << 40U) + static_cast<std::int64_t>(r) : 0);
    }
  }
}

TEST_P(Ragged, TheMaskSaysWhichRowsAreThere) {
  const auto to = three_->view().records();
  pad([](auto& inputs, const auto&,
         const auto& by) { inputs.append_mask("mask", by.offsets(), kLength); },
      to.is0(), to.is1(), to.is2());
  EXPECT_EQ(report_.bytes_in, kGroups * kLength);
  const auto host = download(*three_);
  for (std::size_t group = 0; group < kGroups; ++group) {
    const auto out = row(host.const_view(), group);
    const bool got[] = {out.is0, out.is1, out.is2};
    for (std::size_t i = 0; i < kLength; ++i) ASSERT_EQ(got[i], is_there(group, i));
  }
}

TEST_P(Ragged, SegmentsNameTheGroupOfEachRow) {
  for (const bool is_wide : {false, true}) {
    auto rows = tracks();
    const auto by = groups();
    SoAMetadata<Tracks, Groups> inputs(kRows, kGroups);
    const auto records = by.const_view().records();
    inputs.append_segments<Tracks>("batch", is_wide ? records.long_offsets() : records.offsets());
    SoAMetadata<Tracks> outputs(kRows);
    outputs.append_block("out", rows.view().records().id());
    EXPECT_EQ(run("identity", ModelMetadata(inputs, outputs)), (CopyReport{kRows * 8, kRows * 8}));
    const auto host = download(rows);
    for (std::size_t r = 0; r < kRows; ++r) {
      std::int64_t expected = -1;  // rows 0 and 1
      for (std::size_t group = 0; group <= kGroups; ++group) {
        if (r >= begin_of(group)) expected = static_cast<std::int64_t>(group);
      }
      ASSERT_EQ(host.const_view().id[r], expected) << r;
    }
    EXPECT_EQ(host.const_view().id[0], -1);
    EXPECT_EQ(host.const_view().id[32], static_cast<std::int64_t>(kGroups));
  }
}

TEST_P(Ragged, ASliceOfTheGroupsIsPaddedAsItIs) {
  const auto from = tracks();
  const auto by = groups();
  SoAMetadata<Tracks, Groups> inputs(kRows, kGroups);
  inputs.append_padded("x", by.const_view().records().offsets(), kLength,
                       from.const_view().records().b());
  auto sums = answers(kGroups);
  SoAMetadata<Answers> outputs(kGroups);
  outputs.append_block("out", sums.view().records().m());
  const JitModel model(model_file("row_sum"));  // [G, 3, 1] -> [G, 1]
  Plan plan = model.plan(ModelMetadata(inputs, outputs));
  for (const std::size_t offset : {0U, 1U, 3U, 5U, 7U}) {
    for (std::size_t length = 0; length <= kGroups - offset; ++length) {
      sums = answers(length);
      plan.rebind(from.const_view(), slice(by.const_view(), offset, length), sums.view());
      EXPECT_EQ(model.forward(*queue_, plan), (CopyReport{length * kLength * 4, length * 4}));
      queue_->wait();
      const auto host = download(sums);
      for (std::size_t group = 0; group < length; ++group) {
        float expected = 0;
        for (std::size_t i = 0; i < kLength; ++i) {
          if (is_there(offset + group, i)) {
            expected += 1000.F + static_cast<float>(begin_of(offset + group) + i);
          }
        }
        ASSERT_EQ(host.const_view().m[group], expected);
      }
    }
  }
}

TEST_P(Ragged, NoRowsNoLengthAndNoGroupsAreAllowed) {
  const auto none = tracks(0);
  const auto all = tracks();
  const auto empty = groups({0, 0, 0});
  const auto by = groups({0, 20, 30});
  auto to = answers(2);
  const auto sum = [&](const auto& rows, const auto& groups_of, std::size_t length) {
    SoAMetadata<Tracks, Groups> inputs(rows.size(), 2);
    inputs.append_padded("x", groups_of.const_view().records().offsets(), length,
                         rows.const_view().records().a());
    SoAMetadata<Answers> outputs(2);
    outputs.append_block("out", to.view().records().m());
    EXPECT_EQ(run("row_sum", ModelMetadata(inputs, outputs)), (CopyReport{2 * length * 4, 2 * 4}));
    EXPECT_EQ(download(to).const_view().m[1], 0.F);
    to = answers(2);
  };
  sum(none, empty, 3);
  sum(all, empty, 3);
  sum(all, by, 0);

  const auto nothing = groups({7});  // no group: all rows lie before or after
  auto ids = tracks();
  SoAMetadata<Tracks, Groups> inputs(kRows, 0);
  inputs.append_segments<Tracks>("batch", nothing.const_view().records().offsets());
  SoAMetadata<Tracks> outputs(kRows);
  outputs.append_block("out", ids.view().records().id());
  run("identity", ModelMetadata(inputs, outputs));
  EXPECT_EQ(download(ids).const_view().id[6], -1);
  EXPECT_EQ(download(ids).const_view().id[7], 0);
}

/// On a GPU the offsets are not checked; rows outside the collection are never read.
TEST_P(Ragged, BadOffsetsAreErrorsOnTheCpuAndHarmlessOnAGpu) {
  struct Case {
    std::vector<std::int64_t> offsets;
    std::string message;
  };
  for (const Case& one :
       {Case{{0, 5, 4, 9}, "the offset offsets[2] is 4; expected ascending offsets"},
        Case{{-1, 5, 6, 9}, "the offset offsets[0] is -1; expected ascending offsets"},
        Case{{0, 5, 6, 34},
             "the offset offsets[3] is 34; expected ascending offsets from 0 to the "
             "33 rows"},
        Case{{0, 9, 9, -2'000'000'000}, "the offset offsets[3] is -2000000000"}}) {
    const auto from = tracks();
    const auto by = groups(one.offsets);
    for (const std::string form : {"padded", "segments", "mask"}) {
      SoAMetadata<Tracks, Groups> inputs(kRows, 3);
      const auto offsets = by.const_view().records().offsets();
      auto to = tracks();
      auto sums = answers(form == "segments" ? kRows : 3);
      SoAMetadata<Answers> outputs(sums.size());
      outputs.append_block("out", sums.view().records().m());
      std::string model = "row_sum";
      if (form == "padded") {
        inputs.append_padded("ragged", offsets, 4, from.const_view().records().a());
      } else if (form == "mask") {
        inputs.append_mask("ragged", offsets, 4);
        model = "row_sum_of_mask";
      } else {
        inputs.append_segments<Tracks>("ragged", offsets);
        model = "float_of_segments";
      }
      const bool is_in_reach = form == "mask" && one.offsets.back() == 34;  // a mask has no rows
      const ModelMetadata metadata(inputs, outputs);
      if (!GetParam().is_cpu() || is_in_reach) {
        EXPECT_NO_THROW(run(model, metadata)) << form;
        continue;
      }
      EXPECT_THAT(
          [&] { run(model, metadata); },
          ThrowsMessage<BindingError>(AllOf(
              HasSubstr("block \"ragged\""),
              HasSubstr(form == "mask" ? one.message.substr(0, 28) : one.message), is_short())))
          << form;
      expect_untouched(sums);
    }
  }
}

TEST_P(Ragged, BadOffsetsColumnsAreRefusedWhenTheyAreBound) {
  const auto from = tracks();
  const auto values = from.const_view().records();
  const auto by = groups();
  const auto records = by.const_view().records();
  const auto expect_error = [&](const std::string& message, const Record<Groups>& offsets) {
    SoAMetadata<Tracks, Groups> inputs(kRows, kGroups);
    for (const auto& append : std::vector<std::function<void()>>{
             [&] { inputs.append_padded("block", offsets, 3, values.a()); },
             [&] { inputs.append_mask("block", offsets, 3); },
             [&] { inputs.append_segments<Tracks>("block", offsets); }}) {
      EXPECT_THAT(append, ThrowsMessage<BindingError>(
                              AllOf(HasSubstr("block \"block\""), HasSubstr(message), is_short())));
    }
    EXPECT_TRUE(inputs.blocks().empty());
  };
  expect_error("the offsets energy are plain float32; expected a plain column of int32 or int64",
               records.energy());
  expect_error("the offsets pairs are vector int32[2]; expected a plain", records.pairs());
  expect_error("the offsets first are scalar int64; expected a plain", records.first());

  const PortableCollection<Groups> full(kGroups, GetParam());
  expect_error(
      "the offsets of 7 groups are 8 rows of offsets, the collection has room for 7; make "
      "it one row larger",
      full.const_view().records().offsets());
}

TEST_P(Ragged, AColumnsOfOffsetsWithoutRoomIsRefusedWhenAPlanIsRebound) {
  const auto from = tracks();
  const auto by = groups();
  auto to = answers(kGroups);
  SoAMetadata<Tracks, Groups> inputs(kRows, kGroups);
  inputs.append_padded("block", by.const_view().records().offsets(), 3,
                       from.const_view().records().a());
  SoAMetadata<Answers> outputs(kGroups);
  outputs.append_block("out", to.view().records().m());
  const JitModel model(model_file("row_sum"));
  Plan plan = model.plan(ModelMetadata(inputs, outputs));
  const PortableCollection<Groups> full(kGroups, GetParam());
  EXPECT_THAT([&] { plan.rebind(from.const_view(), full.const_view(), to.view()); },
              ThrowsMessage<BindingError>(HasSubstr("make it one row larger")));
}

TEST_P(Ragged, ScalarsAndAnOutputAreRefused) {
  auto from = tracks();
  const auto records = from.view().records();
  const auto by = groups();
  SoAMetadata<Tracks, Groups> ragged(kRows, kGroups);
  EXPECT_THAT(
      [&] { ragged.append_padded("x", by.const_view().records().offsets(), 3, records.field()); },
      ThrowsMessage<BindingError>(HasSubstr("field is a scalar")));
  ragged.append_padded("x", by.const_view().records().offsets(), 3, records.a());
  EXPECT_THAT([&] { ModelMetadata(ragged, ragged); },
              ThrowsMessage<BindingError>(HasSubstr("ragged forms (padded, mask, segments) are for "
                                                    "inputs")));
}

// ---- inputs that the model writes

class Written : public JitTest {
 protected:
  static constexpr std::size_t kRows = 33;
  static constexpr std::size_t kBlockBytes = kRows * 2 * 4;

  /// a is (y, z), b is (x, y): they share a column, so a write to one would be seen in the other.
  ModelMetadata<Points, Answers> bind(const PortableCollection<Points>& in, View<Answers> out,
                                      Match match = Match::kAuto) {
    const auto from = in.const_view().records();
    SoAMetadata<Points> inputs(kRows);
    if (match == Match::kAuto) inputs.append_block("a", from.y(), from.z());
    inputs.append_block("b", from.x(), from.y());
    if (match == Match::kByName) inputs.append_block("a", from.y(), from.z());
    SoAMetadata<Answers> outputs(kRows);
    outputs.append_block("out", out.records().m(), out.records().n());
    return ModelMetadata(inputs, outputs, match);
  }

  void expect_a_plus_2_b(const PortableCollection<Answers>& answers, const std::string& name) {
    const auto host = download(answers);
    for (std::size_t i = 0; i < kRows; ++i) {
      const auto value = static_cast<float>(i);
      ASSERT_EQ(host.const_view().m[i], value + 1000.F + 2.F * value) << name;
      ASSERT_EQ(host.const_view().n[i], value + 2000.F + 2.F * (value + 1000.F)) << name;
    }
  }
};
TENSOA_ON_EACH_DEVICE(Written);

TEST_P(Written, InputsAreNeverChangedAndTheOthersAreNotCopied) {
  for (const std::string name : {"doubles_plainly",
                                 "doubles_by_slices",
                                 "doubles_by_mask",
                                 "doubles_by_out",
                                 "doubles_in_a_list",
                                 "doubles_in_a_tuple",
                                 "doubles_in_a_dict",
                                 "doubles_in_a_loop",
                                 "doubles_in_a_branch",
                                 "doubles_after_swap",
                                 "doubles_in_a_submodule",
                                 "doubles_in_a_function",
                                 "doubles_an_optional",
                                 "doubles_transposed",
                                 "doubles_resized",
                                 "doubles_data",
                                 "doubles_strided",
                                 "doubles_by_set",
                                 "doubles_of_one_type",
                                 "doubles_undropped",
                                 "doubles_einsum",
                                 "doubles_by_two_steps",
                                 "doubles_forked",
                                 "doubles_by_turns",
                                 "doubles_by_turns_in_a_while"}) {
    const auto in = points(kRows);
    auto out = answers(kRows);
    const CopyReport report = run(name, bind(in, out.view()));
    expect_points(in);
    expect_a_plus_2_b(out, name);
    EXPECT_EQ(report, (CopyReport{kBlockBytes, kBlockBytes})) << name;
    EXPECT_TRUE(report.has(CopyReason::kInputIsWritten)) << name;
  }
}

/// The operator gives views of all its arguments: which one is written is not known.
TEST_P(Written, InputsThatCannotBeDistinguishedAreAllCopied) {
  const auto in = points(kRows);
  auto out = answers(kRows);
  EXPECT_EQ(run("doubles_broadcast", bind(in, out.view())),
            (CopyReport{2 * kBlockBytes, kBlockBytes}));
  expect_points(in);
  expect_a_plus_2_b(out, "doubles_broadcast");
}

TEST_P(Written, StatisticsAreCopiedWhereTheyAreUpdated) {
  const auto in = points(kRows);
  auto out = answers(kRows);
  const auto from = in.const_view().records();
  SoAMetadata<Points> inputs(kRows);
  inputs.append_block("x", from.x(), from.y());
  inputs.append_block("mean", from.x(), from.y());
  inputs.append_block("var", from.y(), from.z());
  SoAMetadata<Answers> outputs(kRows);
  outputs.append_block("out", out.view().records().m(), out.view().records().n());
  const ModelMetadata metadata(inputs, outputs);
  EXPECT_EQ(run("writes_statistics", metadata), (CopyReport{2 * kBlockBytes, kBlockBytes}));
  expect_points(in);
}

TEST_P(Written, InputsAreDistinguishedByNameToo) {
  const auto in = points(kRows);
  auto out = answers(kRows);
  EXPECT_EQ(run("doubles_plainly", bind(in, out.view(), Match::kByName)),
            (CopyReport{kBlockBytes, kBlockBytes}));
  expect_points(in);
  expect_a_plus_2_b(out, "by name");
}

TEST_P(Written, TensorsOfTheModelsOwnCostNoCopyOfAnInput) {
  const auto in = points(kRows);
  auto out = answers(kRows);
  EXPECT_EQ(run("writes_new_tensors", bind(in, out.view())), (CopyReport{0, kBlockBytes}));
  expect_points(in);
  expect_a_plus_2_b(out, "writes_new_tensors");
}

TEST_P(Written, ScalarsAreCopiedForAllRowsSoThatRowsMayDiffer) {
  auto tracks = upload<Tracks>(kRows, [](auto view) {
    *view.field = 7.F;
    std::fill_n(view.a.data(), kRows, 1.F);
  });
  auto out = answers(kRows);
  const auto from = tracks.const_view().records();
  SoAMetadata<Tracks> inputs(kRows);
  inputs.append_block("a", from.a());
  inputs.append_block("b", from.field());
  SoAMetadata<Answers> outputs(kRows);
  outputs.append_block("out", out.view().records().m());
  EXPECT_EQ(run("doubles_plainly", ModelMetadata(inputs, outputs)).bytes_in, kRows * 4);
  EXPECT_EQ(download(out).const_view().m[32], 15.F);
  EXPECT_EQ(*download(tracks).const_view().field, 7.F);
}

TEST_P(Written, ThreadsThatShareAModelHaveCopiesOfTheirOwn) {
  constexpr std::size_t kThreads = 8;
  constexpr int kCalls = 200;
  const JitModel model(model_file("doubles_plainly"));
  model.deploy(GetParam());
  std::vector<std::thread> threads;
  std::array<int, kThreads> wrong{};
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Queue queue(GetParam());
      const std::size_t rows = 100 + 100 * t;
      PortableCollection<Points> host(rows, Device::cpu());
      PortableCollection<Answers> host_answers(rows, Device::cpu());
      PortableCollection<Points> in(rows, GetParam());
      PortableCollection<Answers> out(rows, GetParam());
      for (std::size_t i = 0; i < rows; ++i) {
        host.view().x[i] = host.view().y[i] = host.view().z[i] = static_cast<float>(i + t);
      }
      copy(queue, host, in);
      const auto from = in.const_view().records();
      SoAMetadata<Points> inputs(rows);
      inputs.append_block("a", from.x());
      inputs.append_block("b", from.y());
      SoAMetadata<Answers> outputs(rows);
      outputs.append_block("out", out.view().records().m());
      const Plan plan = model.plan(ModelMetadata(inputs, outputs));
      for (int call = 0; call < kCalls; ++call) {
        model.forward(queue, plan);
        copy(queue, out, host_answers);
        queue.wait();
        for (std::size_t i = 0; i < rows; ++i) {
          if (host_answers.view().m[i] != 3.F * static_cast<float>(i + t)) ++wrong[t];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

/// Calls that follow each other on one queue use one copy, in the order of the queue.
TEST_P(Written, CallsThatFollowEachOtherOnAQueueDoNotMixTheirCopies) {
  const JitModel model(model_file("doubles_plainly"));
  std::vector<PortableCollection<Points>> in;
  std::vector<PortableCollection<Answers>> out;
  constexpr std::size_t kCalls = 20;
  for (std::size_t call = 0; call < kCalls; ++call) {
    in.push_back(upload<Points>(1000, [&](auto view) {
      for (std::size_t i = 0; i < 1000; ++i) view.x[i] = view.y[i] = static_cast<float>(call + i);
    }));
    out.push_back(answers(1000));
  }
  for (std::size_t call = 0; call < kCalls; ++call) {  // enqueued without a wait in between
    const auto from = in[call].const_view().records();
    SoAMetadata<Points> inputs(1000);
    inputs.append_block("a", from.x());
    inputs.append_block("b", from.y());
    SoAMetadata<Answers> outputs(1000);
    outputs.append_block("out", out[call].view().records().m());
    model.forward(*queue_, model.plan(ModelMetadata(inputs, outputs)));
  }
  queue_->wait();
  for (std::size_t call = 0; call < kCalls; ++call) {
    const auto host = download(out[call]);
    for (std::size_t i = 0; i < 1000; ++i)
      ASSERT_EQ(host.const_view().m[i], 3.F * static_cast<float>(call + i));
  }
}

// ---- arguments by name

class ByName : public JitTest {
 protected:
  /// Runs x + 10 y + 100 z on blocks of these names; block i holds i + 1 in all rows.
  float run_blocks(const std::vector<std::string>& names, Match match = Match::kByName) {
    const auto in = upload<Points>(4, [](auto view) {
      for (std::size_t i = 0; i < 4; ++i) {
        view.x[i] = 1;
        view.y[i] = 2;
        view.z[i] = 3;
      }
    });
    const auto from = in.const_view().records();
    const Record<Points> columns[] = {from.x(), from.y(), from.z()};
    auto out = answers(4);
    SoAMetadata<Points> inputs(4);
    for (std::size_t i = 0; i < names.size(); ++i) inputs.append_block(names[i], columns[i]);
    SoAMetadata<Answers> outputs(4);
    outputs.append_block("out", out.view().records().m());
    EXPECT_EQ(run("three_optionals", ModelMetadata(inputs, outputs, match)).bytes_in, 0U);
    return download(out).const_view().m[3];
  }
};
TENSOA_ON_EACH_DEVICE(ByName);

TEST_P(ByName, BlocksMayStandInAnyOrder) {
  EXPECT_EQ(run_blocks({"x", "y", "z"}), 321.F);
  EXPECT_EQ(run_blocks({"z", "x", "y"}), 132.F);
  EXPECT_EQ(run_blocks({"z", "x", "y"}, Match::kByOrder), 321.F);
}

TEST_P(ByName, ArgumentsWithDefaultsMayBeLeftOutAnywhere) {
  EXPECT_EQ(run_blocks({"x", "z"}), 201.F);
  EXPECT_EQ(run_blocks({"z", "x"}), 102.F);
  EXPECT_EQ(run_blocks({"x"}), 1.F);
  EXPECT_EQ(run_blocks({"x", "z"}, Match::kByOrder), 21.F) << "the second argument is y";
}

/// Orders of names that a user may take, with the answer by name: never that of the order in silence.
TEST_P(ByName, NamesOfArgumentsDecideUnlessTheOrderIsAskedFor) {
  const auto run_as_they_come = [&](const std::vector<std::string>& names) {
    return run_blocks(names, Match::kAuto);
  };
  EXPECT_EQ(run_as_they_come({"x", "y", "z"}), 321.F);
  EXPECT_EQ(run_as_they_come({"x", "z", "y"}), 231.F);
  EXPECT_EQ(run_as_they_come({"y", "x", "z"}), 312.F);
  EXPECT_EQ(run_as_they_come({"y", "z", "x"}), 213.F);
  EXPECT_EQ(run_as_they_come({"z", "x", "y"}), 132.F);
  EXPECT_EQ(run_as_they_come({"z", "y", "x"}), 123.F);
  EXPECT_EQ(run_as_they_come({"x", "z"}), 201.F) << "y keeps its default";
  EXPECT_EQ(run_as_they_come({"hits", "edges", "labels"}), 321.F) << "in order: no name is known";
  EXPECT_EQ(run_as_they_come({"hits", "y"}), 21.F) << "in order: what is known is in its place";
  EXPECT_THAT(
      [&] {
        run_as_they_come({"y", "z"});
      },
      ThrowsMessage<BindingError>(HasSubstr("got no block called \"x\"")));
  for (const auto& names : {std::vector<std::string>{"y", "hits"}, {"hits", "x", "z"}}) {
    EXPECT_THAT([&] { run_as_they_come(names); },
                ThrowsMessage<BindingError>(
                    AllOf(HasSubstr("takes 3 inputs (x, y, z), got block \"" +
                                    (names[0] == "y" ? names[0] : names[1]) + "\" as number "),
                          HasSubstr("rename this one, or request Match::kByOrder"), is_short())));
    EXPECT_GT(run_blocks(names, Match::kByOrder), 20.F);
  }
}

TEST_P(ByName, UnknownAndMissingNamesAreRefused) {
  EXPECT_THAT(
      [&] {
        run_blocks({"x", "w"});
      },
      ThrowsMessage<BindingError>(
          AllOf(HasSubstr("takes 3 inputs (x, y, z), got a block called \"w\"; name blocks as the "
                          "arguments, or match by order"),
                is_short())));
  EXPECT_THAT(
      [&] {
        run_blocks({"y", "z"});
      },
      ThrowsMessage<BindingError>(
          AllOf(HasSubstr("takes 3 inputs (x, y, z), got no block called \"x\", which has no "
                          "default"),
                is_short())));
}

}  // namespace
}  // namespace tensoa
