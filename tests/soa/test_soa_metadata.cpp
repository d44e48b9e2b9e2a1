// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/soa_metadata.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "layouts.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using test::kSizes;
using test::Mixed;
using test::Outputs;
using test::Wide;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::int64_t> sizes(const TensorView& view) {
  return {view.sizes().begin(), view.sizes().end()};
}
std::vector<std::int64_t> strides(const TensorView& view) {
  return {view.strides().begin(), view.strides().end()};
}

/// The elements of a tensor in row-major order, read through its strides alone.
std::vector<float> packed(const TensorView& view) {
  std::vector<float> values;
  std::array<std::int64_t, kMaxRank> index{};
  for (std::int64_t element = 0; element < view.elements(); ++element) {
    std::int64_t offset = 0;
    for (std::size_t dim = 0; dim < view.rank; ++dim)
      offset += index[dim] * view.stride_of_dim[dim];
    values.push_back(static_cast<const float*>(view.data)[offset]);
    for (std::size_t dim = view.rank; dim-- > 0;) {
      if (++index[dim] < view.size_of_dim[dim]) break;
      index[dim] = 0;
    }
  }
  return values;
}

// ---- the table of shapes
// --------------------------------------------------------------------------------------------

/// A collection of 100 rows (pitch 128 floats) bound with 90.
class Shapes : public testing::Test {
 protected:
  static constexpr std::int64_t kPitch = 128;

  template <class... More>
  TensorView bind(BlockShape shape, const More&... records) {
    SoAMetadata<Mixed> metadata(90);
    metadata.append_block(shape, "block", records...);
    return metadata.blocks().front().tensor;
  }

  PortableCollection<Mixed> mixed_{100, Device::cpu()};
  Records<Mixed> records_ = mixed_.view().records();
};

TEST_F(Shapes, PlainColumnsAreTheColumnsOfATensor) {
  const TensorView tensor = bind(BlockShape::kRows, records_.x(), records_.y(), records_.z());
  EXPECT_EQ(tensor.data, mixed_.view().x.data());
  EXPECT_EQ(tensor.dtype, DType::kF32);
  EXPECT_EQ(tensor.device, Device::cpu());
  EXPECT_FALSE(tensor.read_only);
  EXPECT_THAT(sizes(tensor), ElementsAre(90, 3));
  EXPECT_THAT(strides(tensor), ElementsAre(1, kPitch));
}

TEST_F(Shapes, EverySecondColumnIsATensorToo) {
  const TensorView tensor = bind(BlockShape::kRows, records_.x(), records_.z());
  EXPECT_THAT(sizes(tensor), ElementsAre(90, 2));
  EXPECT_THAT(strides(tensor), ElementsAre(1, 2 * kPitch));
}

TEST_F(Shapes, OnePlainColumnIsATensorOfOneColumn) {
  const TensorView tensor = bind(BlockShape::kRows, records_.layer());
  EXPECT_EQ(tensor.dtype, DType::kI32);
  EXPECT_THAT(sizes(tensor), ElementsAre(90, 1));
  EXPECT_EQ(tensor.stride_of_dim[0], 1);
}

TEST_F(Shapes, PlainColumnsAreTheRowsOfATensorOnRequest) {
  const TensorView tensor = bind(BlockShape::kColumns, records_.x(), records_.y(), records_.z());
  EXPECT_THAT(sizes(tensor), ElementsAre(3, 90));
  EXPECT_THAT(strides(tensor), ElementsAre(kPitch, 1));
}

TEST_F(Shapes, ScalarsAreBroadcastOverTheRows) {
  const TensorView tensor = bind(BlockShape::kRows, records_.scale());
  EXPECT_EQ(tensor.dtype, DType::kF64);
  EXPECT_THAT(sizes(tensor), ElementsAre(90, 1));
  EXPECT_EQ(tensor.stride_of_dim[0], 0);
}

TEST_F(Shapes, AVectorIsATensorOfItsComponents) {
  const TensorView tensor = bind(BlockShape::kRows, records_.direction());
  EXPECT_THAT(sizes(tensor), ElementsAre(90, 3));
  EXPECT_THAT(strides(tensor), ElementsAre(1, kPitch));
}

TEST_F(Shapes, AMatrixIsATensorOfMatrices) {
  const TensorView tensor = bind(BlockShape::kRows, records_.covariance());
  EXPECT_THAT(sizes(tensor), ElementsAre(90, 2, 3));
  EXPECT_THAT(strides(tensor), ElementsAre(1, kPitch, 2 * kPitch));
}

TEST_F(Shapes, SeveralVectorsAreATensorOfVectors) {
  PortableCollection<Wide> wide(100, Device::cpu());
  const auto records = wide.view().records();
  SoAMetadata<Wide> metadata(90);
  metadata.append_block("block", records.u(), records.v());
  const TensorView& tensor = metadata.blocks().front().tensor;
  EXPECT_THAT(sizes(tensor), ElementsAre(90, 2, 2));
  EXPECT_THAT(strides(tensor), ElementsAre(1, 4 * kPitch, kPitch));
}

template <template <class> class F>
struct Matrices {
  F<Matrix<float, 2, 3>> a, b;
  F<Scalar<float>> p, q, r;
};

TEST_F(Shapes, SeveralMatricesAreATensorOfMatrices) {
  PortableCollection<Matrices> matrices(100, Device::cpu());
  const auto records = matrices.view().records();
  SoAMetadata<Matrices> metadata(90);
  metadata.append_block("block", records.a(), records.b());
  const TensorView& tensor = metadata.blocks().front().tensor;
  EXPECT_THAT(sizes(tensor), ElementsAre(90, 2, 2, 3));
  EXPECT_THAT(strides(tensor), ElementsAre(1, 6 * kPitch, kPitch, 2 * kPitch));
}

TEST_F(Shapes, SeveralScalarsAreOneRowForAllRows) {
  PortableCollection<Matrices> matrices(3, Device::cpu());
  const auto view = matrices.view();
  *view.p = 1.F;
  *view.q = 2.F;
  *view.r = 3.F;
  const auto records = view.records();
  SoAMetadata<Matrices> metadata(5);  // more rows than the columns have: scalars have no length
  metadata.append_block("block", records.p(), records.q(), records.r());
  const TensorView& tensor = metadata.blocks().front().tensor;
  EXPECT_THAT(sizes(tensor), ElementsAre(5, 3));
  EXPECT_THAT(strides(tensor), ElementsAre(0, 32));
  EXPECT_THAT(packed(tensor), ElementsAre(1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3));
}

TEST_F(Shapes, AConstViewGivesAReadOnlyTensor) {
  const Records<Mixed> constant = mixed_.const_view().records();
  EXPECT_TRUE(bind(BlockShape::kRows, constant.x(), constant.y()).read_only);
  EXPECT_TRUE(bind(BlockShape::kRows, records_.x(), constant.y()).read_only);
}

// ---- property: any choice of columns
// --------------------------------------------------------------------------------

/// Where the planes of a field of Wide start, in planes, and how many there are: written down by
/// hand.
struct Planes {
  std::size_t first;
  std::size_t count;
};
constexpr std::array<Planes, 9> kPlanesOfWide{
    {{0, 1}, {1, 1}, {2, 2}, {4, 1}, {5, 1}, {6, 2}, {8, 1}, {9, 2}, {11, 1}}};

float value_at(std::size_t plane, std::size_t row) {
  return static_cast<float>(plane * 10'000 + row);
}

/// The way of a program without strided tensors.
std::vector<float> naive_packing(const std::vector<std::size_t>& fields, std::size_t rows) {
  std::vector<float> values;
  for (std::size_t row = 0; row < rows; ++row) {
    for (const std::size_t field : fields) {
      for (std::size_t k = 0; k < kPlanesOfWide[field].count; ++k) {
        values.push_back(value_at(kPlanesOfWide[field].first + k, row));
      }
    }
  }
  return values;
}

bool is_bindable(const std::vector<std::size_t>& fields) {
  for (std::size_t i = 1; i < fields.size(); ++i) {
    const auto gap = [&](std::size_t k) {
      return kPlanesOfWide[fields[k]].first - kPlanesOfWide[fields[k - 1]].first;
    };
    if (kPlanesOfWide[fields[i]].count != kPlanesOfWide[fields[0]].count || gap(i) != gap(1))
      return false;
  }
  return true;
}

class AnyChoice : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Rows, AnyChoice, testing::ValuesIn(kSizes));

TEST_P(AnyChoice, OfColumnsEqualsNaivePackingWhereItIsEquallySpacedAndIsAnErrorElsewhere) {
  const std::size_t rows = GetParam();
  std::mt19937 random(1234);
  for (const std::size_t spare : {0U, 1U, 40U}) {
    PortableCollection<Wide> wide(rows + spare, Device::cpu());
    const auto columns = column_records(wide.view());
    for (std::size_t field = 0; field < columns.size(); ++field) {
      for (std::size_t k = 0; k < kPlanesOfWide[field].count; ++k) {
        float* const plane = static_cast<float*>(columns[field].data) + k * columns[field].pitch;
        for (std::size_t row = 0; row < rows; ++row)
          plane[row] = value_at(kPlanesOfWide[field].first + k, row);
      }
    }
    int bound = 0;
    for (int trial = 0; trial < 300; ++trial) {
      std::vector<std::size_t> fields;
      for (std::size_t field = 0; field < columns.size(); ++field) {
        if (random() % 3 == 0) fields.push_back(field);
      }
      if (fields.empty()) continue;
      BoundBlock block;
      block.name = "any";
      std::vector<ColumnRecord> chosen;
      for (const std::size_t field : fields) {
        chosen.push_back(columns[field]);
        block.columns.push_back({std::string(kFieldNames<Wide>[field]), columns[field].field, 0, 0,
                                 columns[field].info});
      }
      std::vector<BoundBlock> blocks;
      const auto append = [&] { append_block(blocks, block, chosen, rows, nullptr, 0); };
      if (!is_bindable(fields)) {
        EXPECT_THROW(append(), BindingError);
        continue;
      }
      ++bound;
      append();
      const TensorView tensor = blocks.front().tensor;
      ASSERT_EQ(tensor.size_of_dim[0], static_cast<std::int64_t>(rows));
      ASSERT_EQ(packed(tensor), naive_packing(fields, rows));
    }
    EXPECT_GT(bound, 50);
  }
}

// ---- several collections
// --------------------------------------------------------------------------------------------

TEST(SoAMetadata, TakesColumnsOfSeveralLayoutsEachWithItsLength) {
  PortableCollection<Wide> wide(50, Device::cpu());
  PortableCollection<Outputs> outputs(70, Device::cpu());
  SoAMetadata<Wide, Outputs> metadata(40, 60U);
  const auto wide_records = wide.view().records();
  const auto output_records = outputs.view().records();
  metadata.append_block("n", output_records.n());
  metadata.append_block("c", wide_records.c(), wide_records.d());
  ASSERT_EQ(metadata.blocks().size(), 2U);
  const BoundBlock& first = metadata.blocks()[0];
  EXPECT_EQ(first.name, "n");
  EXPECT_EQ(first.collection, 1U);
  EXPECT_EQ(to_string(first), "block \"n\" (column n)");
  EXPECT_THAT(sizes(first.tensor), ElementsAre(60, 1));
  EXPECT_EQ(metadata.blocks()[1].collection, 0U);
  EXPECT_EQ(to_string(metadata.blocks()[1]), "block \"c\" (columns c, d)");
  EXPECT_THAT(sizes(metadata.blocks()[1].tensor), ElementsAre(40, 2));
}

// ---- errors
// ---------------------------------------------------------------------------------------------------------

class AppendBlock : public testing::Test {
 protected:
  template <class... More>
  void expect_error(const testing::Matcher<const std::string&>& message, const More&... records) {
    EXPECT_THAT([&] { metadata_.append_block("features", records...); },
                ThrowsMessage<BindingError>(message));
    EXPECT_TRUE(metadata_.blocks().empty());
  }

  PortableCollection<Mixed> mixed_{100, Device::cpu()};
  Records<Mixed> records_ = mixed_.view().records();
  SoAMetadata<Mixed> metadata_{90};
};

TEST_F(AppendBlock, RefusesColumnsOfDifferentDtype) {
  expect_error(
      AllOf(
          HasSubstr("block \"features\" (columns x, layer): "),
          HasSubstr("x is plain float32, layer is plain int32; put them into blocks of their own")),
      records_.x(), records_.layer());
}

TEST_F(AppendBlock, RefusesColumnsOfDifferentKind) {
  expect_error(HasSubstr("x is plain float32, direction is vector float32[3]"), records_.x(),
               records_.direction());
  expect_error(HasSubstr("direction is vector float32[3], covariance is matrix float32[2, 3]"),
               records_.direction(), records_.covariance());
  expect_error(HasSubstr("x is plain float32, field is scalar float32"), records_.x(),
               records_.field());
}

TEST_F(AppendBlock, RefusesUnequalDistances) {
  PortableCollection<Wide> wide(100, Device::cpu());
  const auto records = wide.view().records();
  SoAMetadata<Wide> metadata(90);
  EXPECT_THAT(
      [&] { metadata.append_block("features", records.a(), records.b(), records.c()); },
      ThrowsMessage<BindingError>(AllOf(
          HasSubstr("(columns a, b, c): the columns lie 512, 1536 bytes apart"),
          HasSubstr(
              "choose equally spaced columns in layout order, reorder the layout, use several "
              "blocks, or request a copy (Repack)"))));
}

TEST_F(AppendBlock, RefusesDescendingAndRepeatedColumns) {
  expect_error(HasSubstr("the columns lie -512 bytes apart"), records_.y(), records_.x());
  expect_error(HasSubstr("the columns lie 0 bytes apart"), records_.x(), records_.x());
}

TEST_F(AppendBlock, RefusesMoreRowsThanTheCapacity) {
  SoAMetadata<Mixed> metadata(101);
  EXPECT_THAT([&] { metadata.append_block("features", records_.x()); },
              ThrowsMessage<BindingError>(HasSubstr("block \"features\" (column x): 101 rows are "
                                                    "requested, the collection has room for 100")));
}

TEST_F(AppendBlock, RefusesANameThatIsThereAlready) {
  metadata_.append_block("features", records_.x());
  EXPECT_THAT([&] { metadata_.append_block("features", records_.y()); },
              ThrowsMessage<BindingError>(HasSubstr("a block of this name is there already")));
  EXPECT_EQ(metadata_.blocks().size(), 1U);
}

TEST_F(AppendBlock, RefusesColumnsOfDifferentDevices) {
  const Mixed<Column> columns = mixed_.view().columns();
  const View<Mixed> elsewhere{columns, 100, 100, Device::cuda(0)};
  expect_error(HasSubstr("x lies on cpu, y on cuda:0; all columns of a block lie on one device"),
               records_.x(), elsewhere.records().y());
}

TEST_F(AppendBlock, RefusesColumnsOfCollectionsOfDifferentPitch) {
  PortableCollection<Mixed> other(1000, Device::cpu());
  expect_error(HasSubstr("x and y come from memory of different pitch; all columns of a block come "
                         "from one collection"),
               records_.x(), other.view().records().y());
}

TEST_F(AppendBlock, RefusesVectorsAndScalarsAsRowsOfATensor) {
  EXPECT_THAT(
      [&] { metadata_.append_block(BlockShape::kColumns, "features", records_.direction()); },
      ThrowsMessage<BindingError>(HasSubstr(
          "only plain columns can be the rows of a [k, n] tensor; got vector float32[3]")));
}

/// Foreign memory: nothing but the caller's care makes it aligned.
TEST_F(AppendBlock, RefusesForeignMemoryThatIsNotAlignedToItsElements) {
  alignas(float) std::array<std::byte, 64> memory{};
  const auto at = [&](std::size_t offset) {
    return reinterpret_cast<float*>(memory.data() + offset);
  };
  SoAMetadata<Outputs> metadata(2);
  for (const auto& [m, n] : {std::pair{at(2), at(34)}, std::pair{at(0), at(10)}}) {
    const View<Outputs> view{{{m}, {n}}, 2, 2, Device::cpu()};
    EXPECT_THAT(
        [&] { metadata.append_block("preds", view.records().m(), view.records().n()); },
        ThrowsMessage<BindingError>(HasSubstr("is not aligned to its element size of 4 bytes")));
  }
}

TEST_F(AppendBlock, TakesForeignMemoryAsItIs) {
  std::vector<float> memory(24);
  const View<Outputs> view{{{memory.data() + 1}, {memory.data() + 12}}, 8, 8, Device::cpu()};
  SoAMetadata<Outputs> metadata(8);
  metadata.append_block("preds", view.records().m(), view.records().n());
  EXPECT_THAT(strides(metadata.blocks()[0].tensor), ElementsAre(1, 11));
}

TEST_F(AppendBlock, RefusesColumnsOfACollectionThatIsGone) {
  const std::string message = "the collection of its columns is gone; make the view again";
  {
    const PortableCollection<Mixed> moved = std::move(mixed_);
    EXPECT_NO_THROW(SoAMetadata<Mixed>(90).append_block("features", records_.x()));
  }
  expect_error(HasSubstr("block \"features\" (columns x, y): " + message), records_.x(),
               records_.y());
  EXPECT_THAT([&] { metadata_.append_block(Repack{}, "features", records_.z(), records_.x()); },
              ThrowsMessage<BindingError>(HasSubstr(message)));
  EXPECT_THAT([&] { metadata_.append_segments<Mixed>("features", records_.layer()); },
              ThrowsMessage<BindingError>(HasSubstr(message)));
}

TEST_F(AppendBlock, RefusesColumnsOfACollectionThatWasMovedFrom) {
  const PortableCollection<Mixed> moved = std::move(mixed_);
  SoAMetadata<Mixed> none(0);
  EXPECT_THAT([&] { none.append_block("features", mixed_.view().records().x()); },
              ThrowsMessage<BindingError>(HasSubstr("column x has no memory; its collection was "
                                                    "moved from, or the view was never set")));
  expect_error(HasSubstr("90 rows are requested, the collection has room for 0: it was moved from"),
               mixed_.view().records().x());
}

TEST_F(AppendBlock, RefusesColumnsOfTwoCollectionsOfOneSize) {
  PortableCollection<Mixed> other(100, Device::cpu());
  const auto others = other.view().records();
  expect_error(HasSubstr("x and y come from two collections; all columns of a block come from one"),
               records_.x(), others.y());
  EXPECT_THROW(metadata_.append_block(Repack{}, "features", records_.x(), others.x()),
               BindingError);
}

TEST(SoAMetadata, RefusesANumberOfRowsThatNothingHas) {
  const auto expect_error = [](auto rows, const std::string& number) {
    EXPECT_THAT([&] { SoAMetadata<Mixed>{rows}; },
                ThrowsMessage<BindingError>(
                    HasSubstr(number + " rows are impossible; expected 0 to 2^48")));
  };
  expect_error(-1, "-1");
  expect_error(~std::size_t{0}, "18446744073709551615");
  expect_error((std::size_t{1} << 48U) + 1, "281474976710657");
  EXPECT_NO_THROW(SoAMetadata<Mixed>{std::size_t{1} << 48U});
}

template <template <class> class F>
struct Starts {
  F<std::int32_t> first;
};

TEST(SoAMetadata, RefusesCopiesThatAreLargerThanAnyMemory) {
  const std::size_t most = std::size_t{1} << 48U;
  PortableCollection<Mixed> mixed(8, Device::cpu());
  PortableCollection<Starts> groups(1 << 17, Device::cpu());
  const auto first = groups.view().records().first();
  SoAMetadata<Mixed, Starts> metadata(8, (1 << 17) - 1);
  EXPECT_THAT([&] { metadata.append_padded("x", first, most, mixed.view().records().x()); },
              ThrowsMessage<BindingError>(
                  HasSubstr("block \"x\" (column x): its tensor would be float32[131071, "
                            "281474976710656, 1] on cpu, more than 2^63 bytes")));
  EXPECT_THAT([&] { metadata.append_mask("mask", first, most + 1); },
              ThrowsMessage<BindingError>(HasSubstr("281474976710657 rows are impossible")));
  EXPECT_TRUE(metadata.blocks().empty());
}

// ---- errors of every form of block

/// Groups of rows of Mixed, and what could be taken for their offsets.
template <template <class> class F>
struct Groups {
  F<std::int32_t> first;
  F<std::int64_t> first_long;
  F<std::int16_t> first_short;
  F<float> weight;
  F<Vector<std::int32_t, 2>> range;
  F<Scalar<std::int32_t>> count;
};

class FormsOfBlocks : public testing::Test {
 protected:
  template <class Append>
  void expect_error(const std::string& message, const Append& append) {
    EXPECT_THAT(append, ThrowsMessage<BindingError>(HasSubstr(message)));
    EXPECT_TRUE(metadata_.blocks().empty());
  }

  PortableCollection<Mixed> mixed_{100, Device::cpu()};
  PortableCollection<Groups> groups_{11, Device::cpu()};
  Records<Mixed> records_ = mixed_.view().records();
  Records<Groups> offsets_ = groups_.view().records();
  SoAMetadata<Mixed, Groups> metadata_{90, 10};
};

TEST_F(FormsOfBlocks, RefuseScalarsWhereColumnsAreDue) {
  expect_error(
      "block \"t\" (column field): only plain columns can be the rows of a [k, n] tensor; "
      "got scalar float32",
      [&] { metadata_.append_block(BlockShape::kColumns, "t", records_.field()); });
  expect_error(
      "block \"t\" (column field): scalars have no rows that could be grouped; field is a scalar",
      [&] { metadata_.append_padded("t", offsets_.first(), 4, records_.field()); });
}

TEST_F(FormsOfBlocks, RefuseOffsetsThatAreNoIndices) {
  const auto expect_refused = [&](const Record<Groups>& offsets, const std::string& got) {
    const std::string expected = "; expected a plain column of int32 or int64";
    expect_error("block \"t\" (column x): the offsets " + got + expected,
                 [&] { metadata_.append_padded("t", offsets, 4, records_.x()); });
    expect_error("block \"t\": the offsets " + got + expected,
                 [&] { metadata_.append_mask("t", offsets, 4); });
    expect_error("block \"t\": the offsets " + got + expected,
                 [&] { metadata_.append_segments<Mixed>("t", offsets); });
  };
  expect_refused(offsets_.weight(), "weight are plain float32");
  expect_refused(offsets_.first_short(), "first_short are plain int16");
  expect_refused(offsets_.range(), "range are vector int32[2]");
  expect_refused(offsets_.count(), "count are scalar int32");
  metadata_.append_padded("int32", offsets_.first(), 4, records_.x());
  metadata_.append_padded("int64", offsets_.first_long(), 4, records_.x());
}

TEST_F(FormsOfBlocks, RefuseOffsetsWithoutRoomForTheLastOne) {
  PortableCollection<Groups> groups(10, Device::cpu());
  expect_error(
      "the offsets of 10 groups are 11 rows of first, the collection has room for 10; make "
      "it one row larger",
      [&] { metadata_.append_mask("t", groups.view().records().first(), 4); });
}

TEST_F(FormsOfBlocks, RefuseOffsetsOnAnotherDeviceThanTheRows) {
  const View<Groups> elsewhere{groups_.view().columns(), 11, 11, Device::cuda(0)};
  expect_error(
      "block \"t\" (column x): its rows lie on cpu, the offsets first on cuda:0; both lie on one "
      "device",
      [&] { metadata_.append_padded("t", elsewhere.records().first(), 4, records_.x()); });
}

TEST_F(FormsOfBlocks, RefuseANegativeLength) {
  expect_error("-4 rows are impossible; expected 0 to 2^48",
               [&] { metadata_.append_padded("t", offsets_.first(), -4, records_.x()); });
}

TEST_F(FormsOfBlocks, RefuseMoreDimensionsThanATensorHas) {
  PortableCollection<Matrices> matrices(10, Device::cpu());
  const auto records = matrices.view().records();
  SoAMetadata<Matrices, Groups> metadata(10, 10);
  EXPECT_THAT([&] { metadata.append_padded("t", offsets_.first(), 4, records.a(), records.b()); },
              ThrowsMessage<BindingError>(
                  HasSubstr("block \"t\" (columns a, b): a padded tensor of several "
                            "matrix float32[2, 3] columns has 5 dimensions")));
}

TEST_F(FormsOfBlocks, RefuseToMixKindsAndDtypesInACopyToo) {
  expect_error(
      "block \"t\" (columns x, layer): the columns of a block must be of one kind, dtype "
      "and shape; x is plain float32, layer is plain int32; put them into blocks of their "
      "own, or request a copy of one dtype (Repack)",
      [&] { metadata_.append_block(Repack{}, "t", records_.x(), records_.layer()); });
  expect_error(
      "x is plain float32, direction is vector float32[3]; put them into blocks of their own", [&] {
        metadata_.append_block(Repack{DType::kF64}, "t", records_.x(), records_.direction());
      });
}

TEST_F(FormsOfBlocks, RefuseMoreRowsThanTheCapacity) {
  SoAMetadata<Mixed, Groups> metadata(101, 10);
  const auto expect_refused = [&](const auto& append) {
    EXPECT_THAT(append, ThrowsMessage<BindingError>(
                            HasSubstr("block \"t\" (column x): 101 rows are requested, "
                                      "the collection has room for 100")));
    EXPECT_TRUE(metadata.blocks().empty());
  };
  expect_refused([&] { metadata.append_block(BlockShape::kColumns, "t", records_.x()); });
  expect_refused([&] { metadata.append_block(Repack{}, "t", records_.x()); });
}

TEST_F(FormsOfBlocks, RefuseColumnsOfTwoCollectionsOfOnePitch) {
  PortableCollection<Mixed> other(100, Device::cpu());
  const Records<Mixed> others = other.view().records();
  const std::string expected =
      "block \"t\" (columns x, y): x and y come from two collections; all columns of a block come "
      "from one";
  expect_error(expected, [&] { metadata_.append_block("t", records_.x(), others.y()); });
  expect_error(expected, [&] { metadata_.append_block(Repack{}, "t", records_.x(), others.y()); });
}

TEST_F(FormsOfBlocks, RefuseForeignVectorsOfUnequalPitch) {
  std::vector<float> memory(200);
  const View<Wide> view{{{memory.data()},
                         {memory.data() + 10},
                         {memory.data() + 20, 10},
                         {memory.data() + 40},
                         {memory.data() + 50},
                         {memory.data() + 60, 20},
                         {memory.data() + 100},
                         {memory.data() + 110, 10},
                         {memory.data() + 130}},
                        10,
                        10,
                        Device::cpu()};
  SoAMetadata<Wide> metadata(10);
  EXPECT_THAT([&] { metadata.append_block("t", view.records().u(), view.records().v()); },
              ThrowsMessage<BindingError>(HasSubstr("block \"t\" (columns u, v): u and v come from "
                                                    "memory of different pitch")));
  EXPECT_TRUE(metadata.blocks().empty());
}

TEST_F(FormsOfBlocks, RefuseANameThatAnotherFormHas) {
  metadata_.append_block("t", records_.x());
  const auto expect_refused = [&](const auto& append) {
    EXPECT_THAT(append, ThrowsMessage<BindingError>(AllOf(
                            HasSubstr("block \"t\""),
                            HasSubstr("a block of this name is there already; names are unique"))));
    EXPECT_EQ(metadata_.blocks().size(), 1U);
  };
  expect_refused([&] { metadata_.append_block(BlockShape::kColumns, "t", records_.y()); });
  expect_refused([&] { metadata_.append_block(Repack{}, "t", records_.y()); });
  expect_refused([&] { metadata_.append_padded("t", offsets_.first(), 4, records_.y()); });
  expect_refused([&] { metadata_.append_mask("t", offsets_.first(), 4); });
  expect_refused([&] { metadata_.append_segments<Mixed>("t", offsets_.first()); });
}

// ---- bind: the short form
// --------------------------------------------------------------------------------------------

template <template <class> class F>
struct Point {
  F<float> x, y;
};
template <template <class> class F>
struct Link {
  F<std::int64_t> from, to;
  F<float> length;
};

TEST(Bind, IsABlockWithTheRowsOfTheView) {
  PortableCollection<Point> points(7, Device::cpu());
  const auto records = points.view().records();
  const auto metadata = bind(std::string("xy"), records.x(), records.y());
  ASSERT_EQ(metadata.blocks().size(), 1U);
  EXPECT_EQ(metadata.blocks()[0].name, "xy");
  EXPECT_THAT(sizes(metadata.blocks()[0].tensor), ElementsAre(7, 2));
}

TEST(Bind, OfAViewIsABlockOfAllItsColumnsInTheOrderOfDeclaration) {
  PortableCollection<Point> points(7);
  const auto records = points.view().records();
  const auto expected = bind("xy", records.x(), records.y());
  for (const auto& metadata : {bind("xy", points.view()), bind(std::string("xy"), points.view())}) {
    ASSERT_EQ(metadata.blocks().size(), 1U);
    const BoundBlock& block = metadata.blocks()[0];
    EXPECT_EQ(block.name, "xy");
    EXPECT_EQ(block.tensor.data, expected.blocks()[0].tensor.data);
    EXPECT_THAT(sizes(block.tensor), ElementsAre(7, 2));
    EXPECT_EQ(strides(block.tensor), strides(expected.blocks()[0].tensor));
    EXPECT_FALSE(block.tensor.read_only);
  }
  EXPECT_TRUE(bind("xy", points.const_view()).blocks()[0].tensor.read_only);
}

TEST(Bind, OfAViewWithColumnsOfTwoTypesIsRefused) {
  PortableCollection<Link> links(5);
  EXPECT_THAT(
      [&] { bind("all", links.view()); },
      ThrowsMessage<BindingError>(AllOf(HasSubstr("\"all\""), HasSubstr("from, to, length"))));
}

TEST(Bind, JoinsBlocksOfSeveralLayoutsInTheirOrder) {
  PortableCollection<Point> points(7, Device::cpu());
  PortableCollection<Link> links(5, Device::cpu());
  const auto point = points.view().records();
  const auto link = links.view().records();
  const auto metadata = bind(bind("xy", point.x(), point.y()),
                             bind(BlockShape::kColumns, "edge_index", link.from(), link.to()),
                             bind("length", link.length()));
  SoAMetadata<Point, Link> expected(7, 5);
  expected.append_block("xy", point.x(), point.y());
  expected.append_block(BlockShape::kColumns, "edge_index", link.from(), link.to());
  expected.append_block("length", link.length());
  ASSERT_EQ(metadata.blocks().size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const BoundBlock& block = metadata.blocks()[i];
    EXPECT_EQ(block.name, expected.blocks()[i].name);
    EXPECT_EQ(block.collection, expected.blocks()[i].collection);
    EXPECT_EQ(block.tensor.data, expected.blocks()[i].tensor.data);
    EXPECT_EQ(sizes(block.tensor), sizes(expected.blocks()[i].tensor));
    EXPECT_EQ(strides(block.tensor), strides(expected.blocks()[i].tensor));
  }
}

TEST(Bind, OfTwoBlocksOfOneNameIsRefused) {
  PortableCollection<Point> points(7, Device::cpu());
  PortableCollection<Link> links(5, Device::cpu());
  EXPECT_THAT(
      [&] {
        bind(bind("a", points.view().records().x()), bind("a", links.view().records().length()));
      },
      ThrowsMessage<BindingError>(HasSubstr("names are unique")));
}

TEST(Bind, OfViewsOfOneLayoutWithOtherNumbersOfRowsIsRefused) {
  PortableCollection<Point> points(7, Device::cpu());
  PortableCollection<Point> fewer(5, Device::cpu());
  EXPECT_THAT(
      [&] { bind(bind("a", points.view().records().x()), bind("b", fewer.view().records().x())); },
      ThrowsMessage<BindingError>(AllOf(HasSubstr("\"b\""), HasSubstr("5 rows"), HasSubstr("7"))));
}

TEST(Bind, OfARepackIsACopy) {
  PortableCollection<Link> links(5, Device::cpu());
  const auto link = links.view().records();
  const auto metadata = bind(Repack{DType::kF32}, "all", link.from(), link.length());
  EXPECT_EQ(metadata.blocks()[0].form, BlockForm::kRepacked);
  EXPECT_THAT(sizes(metadata.blocks()[0].tensor), ElementsAre(5, 2));
}

}  // namespace
}  // namespace tensoa
