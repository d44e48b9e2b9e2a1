// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/foreign_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "layouts.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/soa/soa_metadata.hpp"

#if __has_include(<Eigen/Core>)
#include <Eigen/Core>
#define TENSOA_TEST_EIGEN 1
#endif

namespace tensoa {
namespace {

using test::kSizes;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <template <class> class F>
struct Hit {
  F<float> x, y, z;
  F<std::int32_t> layer;
  F<Vector<float, 3>> direction;
  F<Matrix<float, 2, 3>> covariance;
  F<Scalar<float>> field;
};

template <template <class> class F>
struct Point {
  F<float> x, y, z;
};

template <template <class> class F>
struct Plain {
  F<float> x;
};

template <template <class> class F>
struct WithVector {
  F<Vector<float, 3>> direction;
};

template <template <class> class F>
struct WithMatrix {
  F<Matrix<float, 2, 3>> covariance;
};

template <template <class> class F>
struct WithScalar {
  F<Scalar<float>> field;
};

template <template <class> class F>
struct TwoVectors {
  F<Vector<float, 2>> u, v;
};

template <template <class> class F>
struct Origin {
  F<float> time;
  F<Vector<float, 3>> position;
};

template <template <class> class F>
struct Track {
  F<float> pt;
  F<Sub<Origin>> origin;
  F<std::int32_t> charge;
};

std::vector<std::int64_t> strides(const TensorView& view) {
  return {view.strides().begin(), view.strides().end()};
}
std::vector<std::int64_t> sizes(const TensorView& view) {
  return {view.sizes().begin(), view.sizes().end()};
}

/// The message of the BindingError that `function` throws, or "".
template <class Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const BindingError& error) {
    return error.what();
  }
  return {};
}

/// 0, 1, 2, …
std::vector<float> counted(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

// ---- sources

/// Memory of a program without tensoa: a vector for each plain column, planes with
/// pitches of their own.
struct Foreign {
  explicit Foreign(std::size_t rows)
      : x(rows), y(rows), z(rows), layer(rows), direction(3 * (rows + 5)), covariance(6 * rows) {}

  std::vector<float> x, y, z;
  std::vector<std::int32_t> layer;
  std::vector<float> direction;
  std::vector<float> covariance;
  float field = 3.8F;
};

TEST(ForeignView, WritesWhereTheSourcesAre) {
  for (const std::size_t n : kSizes) {
    Foreign memory(n);
    const auto view = foreign_view<Hit>(
        n, Device::cpu(), memory.x, std::span(memory.y), memory.z.data(), memory.layer,
        Planes{memory.direction.data(), n + 5}, Planes{memory.covariance, n}, &memory.field);
    static_assert(std::is_same_v<decltype(view), const View<Hit>>);
    ASSERT_EQ(view.size(), n);
    ASSERT_EQ(view.capacity(), n);
    ASSERT_EQ(view.device(), Device::cpu());
    *view.field = 4.F;
    for (std::size_t i = 0; i < n; ++i) {
      const auto value = static_cast<float>(i);
      view.x[i] = value;
      view.y[i] = value + 0.25F;
      view.z[i] = value + 0.5F;
      view.layer[i] = static_cast<std::int32_t>(i);
      for (std::size_t k = 0; k < 3; ++k) view.direction[i][k] = value * static_cast<float>(k);
      for (std::size_t r = 0; r < 2; ++r) {
        for (std::size_t c = 0; c < 3; ++c) {
          view.covariance[i](r, c) = value + static_cast<float>(10 * r + c);
        }
      }
    }
    EXPECT_EQ(memory.field, 4.F);
    for (std::size_t i = 0; i < n; ++i) {
      const auto value = static_cast<float>(i);
      ASSERT_EQ(memory.x[i], value);
      ASSERT_EQ(memory.y[i], value + 0.25F);
      ASSERT_EQ(memory.z[i], value + 0.5F);
      ASSERT_EQ(memory.layer[i], static_cast<std::int32_t>(i));
      for (std::size_t k = 0; k < 3; ++k) {
        ASSERT_EQ(memory.direction[k * (n + 5) + i], value * static_cast<float>(k));
      }
      for (std::size_t r = 0; r < 2; ++r) {
        for (std::size_t c = 0; c < 3; ++c) {
          ASSERT_EQ(memory.covariance[(r + c * 2) * n + i], value + static_cast<float>(10 * r + c));
        }
      }
    }
  }
}

TEST(ForeignView, TakesTheFieldsOfSubsInTheirPlace) {
  auto pt = counted(10);
  auto time = counted(10);
  auto position = counted(30);
  std::vector<std::int32_t> charge(10);
  const auto view = foreign_view<Track>(10, Device::cpu(), pt, time, Planes{position, 10}, charge);
  view.origin.time[9] = -1.F;
  view.charge[9] = -1;
  EXPECT_EQ(time[9], -1.F);
  EXPECT_EQ(charge[9], -1);
  EXPECT_EQ(view.origin.position[3][1], 13.F);
  SoAMetadata<Track> metadata(10);
  metadata.append_block("position", view.records().origin.position());
  EXPECT_THAT(strides(metadata.blocks()[0].tensor), ElementsAre(1, 10));
  EXPECT_THAT(error_of([&] {
                (void)foreign_view<Track>(10, Device::cpu(), pt, std::span(time).first(9),
                                          Planes{position, 10}, charge);
              }),
              AllOf(HasSubstr("column origin.time"), HasSubstr("holds 9 rows; 10 needed")));
}

TEST(ForeignView, TakesArraysAndTemporarySpans) {
  float x[4] = {1.F, 2.F, 3.F, 4.F};
  std::array<float, 5> y{};
  float z[3] = {};
  const auto view =
      foreign_view<Point>(3, Device::cpu(), x, std::span(y).subspan(1), std::span<float, 3>(z));
  EXPECT_EQ(view.x.data(), x);
  EXPECT_EQ(view.y.data(), y.data() + 1);
  EXPECT_EQ(view.z.data(), z);
}

TEST(ForeignView, OfConstMemoryIsAConstView) {
  const std::vector<float> x{1.F, 2.F};
  std::vector<float> y{3.F, 4.F};
  const float z[2] = {5.F, 6.F};
  const auto view = foreign_const_view<Point>(2, Device::cpu(), x, y, &z[0]);
  static_assert(std::is_same_v<decltype(view), const ConstView<Point>>);
  EXPECT_EQ(row(view.columns(), 1).x, 2.F);
  EXPECT_EQ(row(view.columns(), 1).y, 4.F);
  EXPECT_EQ(row(view.columns(), 1).z, 6.F);
  EXPECT_TRUE(view.records().x().column.read_only);
}

TEST(ForeignView, KeepsTheDeviceThatTheCallerNames) {
  // The address is never read here.
  const auto view = foreign_view<Plain>(2, Device::cuda(0), reinterpret_cast<float*>(0x10000));
  EXPECT_EQ(view.device(), Device::cuda(0));
  EXPECT_EQ(view.records().x().column.device, Device::cuda(0));
}

/// Column of a program that foreign_view has never heard of.
struct Chunk {
  float* begin_;
  std::uint32_t count_;
};

/// One that stores its device.
struct ChunkOnSecondGpu : Chunk {};

}  // namespace

template <>
struct ForeignSource<Chunk> {
  static std::span<float> get(const Chunk& chunk) { return {chunk.begin_, chunk.count_}; }
};

template <>
struct ForeignSource<ChunkOnSecondGpu> : ForeignSource<Chunk> {
  static Device device(const ChunkOnSecondGpu&) { return Device::cuda(1); }
};

namespace {

TEST(ForeignView, IsTaughtAnotherColumnTypeByATrait) {
  auto memory = counted(3);
  const Chunk chunk{memory.data(), 3};
  EXPECT_EQ(foreign_view<Plain>(3, Device::cpu(), chunk).x.data(), memory.data());
  EXPECT_THAT(error_of([&] { (void)foreign_view<Plain>(4, Device::cpu(), chunk); }),
              HasSubstr("the source holds 3 rows; 4 needed"));
}

TEST(ForeignView, RefusesAColumnThatKnowsToLieElsewhere) {
  auto memory = counted(3);
  const ChunkOnSecondGpu chunk{{memory.data(), 3}};
  EXPECT_EQ(foreign_view<Plain>(3, Device::cuda(1), chunk).device(), Device::cuda(1));
  for (const Device device : {Device::cpu(), Device::cuda(0)}) {
    EXPECT_THAT(error_of([&] { (void)foreign_view<Plain>(3, device, chunk); }),
                HasSubstr("lies on cuda:1, the view on " + to_string(device)));
  }
}

// ---- empty

TEST(ForeignView, OfNoRowsTakesNullAndBindsToAnEmptyTensor) {
  const std::vector<float> none;
  const auto view = foreign_const_view<Hit>(
      0, Device::cpu(), none, none, static_cast<const float*>(nullptr),
      std::span<const std::int32_t>{}, Planes{none, 0}, Planes{static_cast<float*>(nullptr), 0},
      static_cast<const float*>(nullptr));
  EXPECT_EQ(view.size(), 0U);
  const auto records = view.records();
  SoAMetadata<Hit> metadata(0);
  metadata.append_block("x z", records.x(), records.z());
  metadata.append_block("points", records.x(), records.y(), records.z());
  metadata.append_block("layer", records.layer());
  metadata.append_block("direction", records.direction());
  metadata.append_block("covariance", records.covariance());
  metadata.append_block("field", records.field());
  for (const BoundBlock& block : metadata.blocks()) {
    EXPECT_NE(block.tensor.data, nullptr) << block.name;
    EXPECT_EQ(block.tensor.size_of_dim[0], 0) << block.name;
  }
}

TEST(ForeignView, OfNoRowsKeepsItsScalars) {
  float field = 3.8F;
  EXPECT_EQ(foreign_view<WithScalar>(0, Device::cpu(), &field).field.data(), &field);
}

// ---- blocks

TEST(ForeignView, ColumnsOfOneAllocationAndPitchAreOneTensor) {
  constexpr std::size_t kPitch = 37;
  auto memory = counted(3 * kPitch);
  const auto view = foreign_view<Point>(30, Device::cpu(), memory.data(), memory.data() + kPitch,
                                        memory.data() + 2 * kPitch);
  const auto records = view.records();
  SoAMetadata<Point> metadata(30);
  metadata.append_block("points", records.x(), records.y(), records.z());
  metadata.append_block("x z", records.x(), records.z());
  const TensorView& points = metadata.blocks()[0].tensor;
  EXPECT_EQ(points.data, memory.data());
  EXPECT_THAT(sizes(points), ElementsAre(30, 3));
  EXPECT_THAT(strides(points), ElementsAre(1, kPitch));
  EXPECT_THAT(strides(metadata.blocks()[1].tensor), ElementsAre(1, 2 * kPitch));
}

TEST(ForeignView, ColumnsAtUnequalDistancesAreRefusedByAppendBlock) {
  auto memory = counted(100);
  const auto view =
      foreign_view<Point>(10, Device::cpu(), memory.data(), memory.data() + 10, memory.data() + 50);
  const auto records = view.records();
  SoAMetadata<Point> metadata(10);
  EXPECT_THAT([&] { metadata.append_block("points", records.x(), records.y(), records.z()); },
              ThrowsMessage<BindingError>(
                  AllOf(HasSubstr("points"), HasSubstr("x, y, z"), HasSubstr("40, 160 bytes"))));
  metadata.append_block("x", records.x());
  EXPECT_EQ(metadata.blocks()[0].tensor.data, memory.data());
  metadata.append_block(Repack{}, "points", records.x(), records.y(), records.z());
  EXPECT_EQ(metadata.blocks()[1].sources[2].data, memory.data() + 50);
}

TEST(ForeignView, PlanesOfOneVectorMayLieBetweenThoseOfAnother) {
  auto memory = counted(40);  // u0 v0 u1 v1
  const auto view = foreign_view<TwoVectors>(10, Device::cpu(), Planes{memory.data(), 20},
                                             Planes{memory.data() + 10, 20});
  const auto records = view.records();
  SoAMetadata<TwoVectors> metadata(10);
  metadata.append_block("uv", records.u(), records.v());
  EXPECT_THAT(sizes(metadata.blocks()[0].tensor), ElementsAre(10, 2, 2));
  EXPECT_THAT(strides(metadata.blocks()[0].tensor), ElementsAre(1, 10, 20));
}

// ---- what the memory decides

TEST(ForeignViewRefuses, ANullPointer) {
  EXPECT_THAT(
      error_of([] { (void)foreign_view<Plain>(7, Device::cpu(), static_cast<float*>(nullptr)); }),
      AllOf(HasSubstr("column x (plain float32)"), HasSubstr("null pointer"),
            HasSubstr("7 values")));
  EXPECT_THAT(error_of([] {
                (void)foreign_view<WithScalar>(7, Device::cpu(), static_cast<float*>(nullptr));
              }),
              AllOf(HasSubstr("column field (scalar float32)"), HasSubstr("null pointer"),
                    HasSubstr("1 value needed")));
}

TEST(ForeignViewRefuses, AMisalignedAddress) {
  alignas(8) std::array<std::byte, 64> memory{};
  auto* const misaligned = reinterpret_cast<float*>(memory.data() + 3);
  EXPECT_THAT(error_of([&] { (void)foreign_view<Plain>(2, Device::cpu(), misaligned); }),
              AllOf(HasSubstr("column x"), HasSubstr("not aligned"), HasSubstr("4 bytes"),
                    HasSubstr("3 bytes after")));
}

TEST(ForeignViewRefuses, ARangeShorterThanN) {
  std::vector<float> x(10);
  std::vector<float> y(9);
  std::vector<float> z(10);
  EXPECT_THAT(error_of([&] { (void)foreign_view<Point>(10, Device::cpu(), x, y, z); }),
              AllOf(HasSubstr("column y"), HasSubstr("holds 9 rows; 10 needed")));
  EXPECT_EQ(foreign_view<Point>(9, Device::cpu(), x, y, z).size(), 9U);
}

TEST(ForeignViewRefuses, PlanesCloserThanTheRows) {
  auto memory = counted(100);
  EXPECT_THAT(error_of([&] {
                (void)foreign_view<WithVector>(10, Device::cpu(), Planes{memory.data(), 9});
              }),
              AllOf(HasSubstr("column direction (vector float32)"), HasSubstr("9 elements apart"),
                    HasSubstr("10 rows")));
  EXPECT_THAT(error_of([&] {
                (void)foreign_view<WithVector>(10, Device::cpu(), Planes{memory.data(), -20});
              }),
              HasSubstr("-20 elements apart"));
}

TEST(ForeignViewRefuses, PlanesThatPassTheEndOfTheirRange) {
  auto memory = counted(59);
  EXPECT_THAT(
      error_of([&] {
        (void)foreign_view<WithMatrix>(10, Device::cpu(), Planes{memory, 10});
      }),
      AllOf(HasSubstr("column covariance"), HasSubstr("holds 59 elements"), HasSubstr("need 60")));
  // The last plane need not be a whole pitch long.
  EXPECT_EQ(foreign_view<WithMatrix>(9, Device::cpu(), Planes{memory, 10}).size(), 9U);
}

TEST(ForeignViewRefuses, ColumnsThatOverlap) {
  auto memory = counted(100);
  EXPECT_THAT(error_of([&] {
                (void)foreign_view<Point>(10, Device::cpu(), memory.data(), memory.data() + 50,
                                          memory.data() + 9);
              }),
              AllOf(HasSubstr("column z"), HasSubstr("overlaps column x"),
                    HasSubstr("begins 36 bytes after"), HasSubstr("takes 40 bytes")));
  EXPECT_THAT(error_of([&] {
                (void)foreign_view<Point>(10, Device::cpu(), memory.data() + 9, memory.data(),
                                          memory.data() + 50);
              }),
              AllOf(HasSubstr("column y"), HasSubstr("overlaps column x"), HasSubstr("-36 bytes")));
  EXPECT_THAT(error_of([&] {
                (void)foreign_view<Point>(10, Device::cpu(), memory.data() + 50, memory.data(),
                                          memory.data() + 59);
              }),
              AllOf(HasSubstr("column z"), HasSubstr("overlaps column x")));
}

TEST(ForeignViewRefuses, PlanesOnPlanesOfAnotherVector) {
  // u0 at 0, u1 at 30; every place of v from 0 to 70 against counting elements one by one.
  auto memory = counted(200);
  constexpr std::size_t kRows = 10;
  for (const std::size_t u_pitch : {10U, 30U}) {
    for (const std::size_t v_pitch : {10U, 13U, 40U}) {
      for (std::size_t v = 0; v <= 70; ++v) {
        std::vector<int> uses(200);
        for (std::size_t i = 0; i < kRows; ++i) {
          for (const std::size_t first : {std::size_t{20}, 20 + u_pitch, v, v + v_pitch}) {
            ++uses[first + i];
          }
        }
        const bool overlap = *std::max_element(uses.begin(), uses.end()) > 1;
        EXPECT_EQ(!error_of([&] {
                     (void)foreign_view<TwoVectors>(kRows, Device::cpu(),
                                                    Planes{memory.data() + 20, u_pitch},
                                                    Planes{memory.data() + v, v_pitch});
                   }).empty(),
                  overlap)
            << "u pitch " << u_pitch << ", v " << v << ", v pitch " << v_pitch;
      }
    }
  }
}

TEST(ForeignViewRefuses, ImpossibleSizes) {
  auto memory = counted(100);
  constexpr auto kHuge = std::numeric_limits<std::uint64_t>::max();
  EXPECT_THAT(error_of([&] { (void)foreign_view<Plain>(-1, Device::cpu(), memory.data()); }),
              HasSubstr("-1 rows are impossible"));
  EXPECT_THAT(error_of([&] { (void)foreign_view<Plain>(kHuge, Device::cpu(), memory.data()); }),
              HasSubstr("2^63 rows are impossible"));
  EXPECT_THAT(error_of([&] {
                (void)foreign_view<Plain>((std::int64_t{1} << 48) + 1, Device::cpu(),
                                          memory.data());
              }),
              HasSubstr("281474976710657 rows are impossible"));
  EXPECT_THAT(error_of([&] {
                (void)foreign_view<WithVector>(10, Device::cpu(), Planes{memory.data(), kHuge});
              }),
              AllOf(HasSubstr("column direction"), HasSubstr("pitch"), HasSubstr("impossible")));
}

// ---- column records as CMSSW has them

namespace record {

enum class ColumnType { scalar = 0, column = 1, eigen = 2 };

/// Older form: constness is in the pointer.
template <ColumnType kType, class T>
struct ConstParameters {
  static constexpr ColumnType columnType = kType;
  using ValueType = T;
  const T* addr_ = nullptr;
};
template <class T>
struct ConstParameters<ColumnType::eigen, T> {
  static constexpr ColumnType columnType = ColumnType::eigen;
  using ValueType = T;
  const typename T::Scalar* addr_ = nullptr;
  std::size_t stride_ = 0;
};

/// Newer form: constness is in the parameter; the pointer of a const Eigen column is mutable.
template <ColumnType kType, class T>
struct Parameters {
  static constexpr ColumnType columnType = kType;
  using ValueType = std::remove_const_t<T>;
  using ConstType = Parameters<kType, const ValueType>;
  T* addr_ = nullptr;
};
template <class T>
struct Parameters<ColumnType::eigen, T> {
  static constexpr ColumnType columnType = ColumnType::eigen;
  using ValueType = std::remove_const_t<T>;
  using ConstType = Parameters<ColumnType::eigen, const ValueType>;
  typename T::Scalar* addr_ = nullptr;
  std::size_t stride_ = 0;
};

/// An element type of fixed size, as Eigen describes its own.
template <class T, int kRows, int kColumns, bool kRowMajor = (kRows == 1 && kColumns > 1)>
struct Element {
  using Scalar = T;
  enum { RowsAtCompileTime = kRows, ColsAtCompileTime = kColumns, IsRowMajor = kRowMajor };
};

template <class T>
using ColumnOf = Parameters<ColumnType::column, T>;
template <class T>
using ScalarOf = Parameters<ColumnType::scalar, T>;
template <class T>
using EigenOf = Parameters<ColumnType::eigen, T>;

}  // namespace record

TEST(ForeignRecords, MakeTheViewOfACollectionWithOnePitch) {
  constexpr std::size_t kPitch = 32;
  constexpr std::int32_t kRows = 20;
  auto memory = counted(12 * kPitch);
  std::vector<std::int32_t> layer(kPitch);
  float* const at = memory.data();
  const auto sized = [&](auto parameters) { return std::tuple(parameters, kRows); };
  const auto view = foreign_view<Hit>(
      kRows, Device::cpu(), sized(record::ColumnOf<float>{at}),
      sized(record::ColumnOf<float>{at + kPitch}), record::ColumnOf<float>{at + 2 * kPitch},
      sized(record::ColumnOf<std::int32_t>{layer.data()}),
      sized(record::EigenOf<record::Element<float, 3, 1>>{at + 3 * kPitch, kPitch}),
      sized(record::EigenOf<record::Element<float, 2, 3>>{at + 6 * kPitch, kPitch}),
      std::tuple(record::ScalarOf<float>{at + kPitch - 1}, 0));
  EXPECT_EQ(view.direction[4][2], static_cast<float>(5 * kPitch + 4));
  EXPECT_EQ(view.covariance[4](1, 2), static_cast<float>((6 + 1 + 2 * 2) * kPitch + 4));
  EXPECT_EQ(*view.field, static_cast<float>(kPitch - 1));
  const auto records = view.records();
  SoAMetadata<Hit> metadata(kRows);
  metadata.append_block("points", records.x(), records.y(), records.z());
  metadata.append_block("direction", records.direction());
  metadata.append_block("covariance", records.covariance());
  EXPECT_THAT(strides(metadata.blocks()[0].tensor), ElementsAre(1, kPitch));
  EXPECT_THAT(strides(metadata.blocks()[1].tensor), ElementsAre(1, kPitch));
  EXPECT_THAT(strides(metadata.blocks()[2].tensor), ElementsAre(1, kPitch, 2 * kPitch));
}

TEST(ForeignRecords, OfConstColumnsMakeConstViews) {
  const auto memory = counted(96);
  using Parameters =
      record::ConstParameters<record::ColumnType::eigen, record::Element<float, 3, 1>>;
  const auto view =
      foreign_const_view<WithVector>(30, Device::cpu(), Parameters{memory.data(), 32});
  EXPECT_EQ(view.direction[3][1], 35.F);
  EXPECT_TRUE(view.records().direction().column.read_only);
}

TEST(ForeignRecords, OfARowVectorAreAVectorColumn) {
  auto memory = counted(90);
  const record::EigenOf<record::Element<float, 1, 3>> parameters{memory.data(), 30};
  EXPECT_EQ(foreign_view<WithVector>(30, Device::cpu(), parameters).direction[3][1], 33.F);
}

/// Pitfall L26: row-major elements got column-major strides.
TEST(ForeignRecords, OfRowMajorElementsAreRefusedL26) {
  auto memory = counted(180);
  const record::EigenOf<record::Element<float, 2, 3, true>> parameters{memory.data(), 30};
  EXPECT_THAT(
      error_of([&] { (void)foreign_view<WithMatrix>(30, Device::cpu(), parameters); }),
      AllOf(HasSubstr("column covariance"), HasSubstr("row-major"), HasSubstr("column-major")));
}

TEST(ForeignRecords, OfAnotherElementShapeAreRefused) {
  auto memory = counted(180);
  const record::EigenOf<record::Element<float, 3, 2>> parameters{memory.data(), 30};
  EXPECT_THAT(error_of([&] { (void)foreign_view<WithMatrix>(30, Device::cpu(), parameters); }),
              AllOf(HasSubstr("column covariance"), HasSubstr("is 3 x 2, of the field 2 x 3")));
}

TEST(ForeignRecords, ThatAreTooShortAreRefused) {
  auto memory = counted(30);
  EXPECT_THAT(error_of([&] {
                (void)foreign_view<Plain>(30, Device::cpu(),
                                          std::tuple(record::ColumnOf<float>{memory.data()}, 29));
              }),
              AllOf(HasSubstr("column x"), HasSubstr("holds 29 rows; 30 needed")));
}

// ---- Eigen

#ifdef TENSOA_TEST_EIGEN

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

TEST(ForeignEigen, MatricesAreVectorAndMatrixColumns) {
  Eigen::VectorXf x = Eigen::VectorXf::LinSpaced(20, 0.F, 19.F);
  Eigen::ArrayXf y = x.array() + 100.F;
  Eigen::MatrixXf all(25, 10);
  for (Eigen::Index r = 0; r < 25; ++r) {
    for (Eigen::Index c = 0; c < 10; ++c) all(r, c) = static_cast<float>(100 * r + c);
  }
  std::vector<std::int32_t> layer(20);
  float field = 1.F;
  const auto view = foreign_view<Hit>(20, Device::cpu(), x, y, all.col(9), layer, all.leftCols(3),
                                      all.block(2, 3, 20, 6), &field);
  EXPECT_EQ(view.x[7], 7.F);
  EXPECT_EQ(view.y[7], 107.F);
  EXPECT_EQ(view.z[7], 709.F);
  EXPECT_EQ(view.direction[7][2], 702.F);
  EXPECT_EQ(view.covariance[7](1, 2), 900.F + 3.F + 5.F);
  view.covariance[7](0, 1) = -1.F;
  EXPECT_EQ(all(9, 5), -1.F);

  const auto records = view.records();
  SoAMetadata<Hit> metadata(20);
  metadata.append_block("direction", records.direction());
  metadata.append_block("covariance", records.covariance());
  EXPECT_THAT(strides(metadata.blocks()[0].tensor), ElementsAre(1, 25));
  EXPECT_THAT(strides(metadata.blocks()[1].tensor), ElementsAre(1, 25, 50));
}

TEST(ForeignEigen, MapsMayBeTemporaryAndConst) {
  const auto memory = counted(90);
  const auto view = foreign_const_view<WithVector>(
      30, Device::cpu(), Eigen::Map<const Eigen::MatrixXf>(memory.data(), 30, 3));
  EXPECT_EQ(view.direction[3][1], 33.F);
  const auto wide =
      foreign_const_view<WithVector>(20, Device::cpu(),
                                     Eigen::Map<const Eigen::MatrixXf, 0, Eigen::OuterStride<>>(
                                         memory.data(), 20, 3, Eigen::OuterStride<>(35)));
  EXPECT_EQ(wide.direction[3][1], 38.F);
}

TEST(ForeignEigen, DefaultMatricesAreColumnsOfNoRows) {
  Eigen::MatrixXf none;
  EXPECT_EQ(foreign_view<WithVector>(0, Device::cpu(), none).size(), 0U);
}

TEST(ForeignEigen, RowMajorMatricesAreRefusedL26) {
  RowMajor matrix(20, 3);
  EXPECT_THAT(error_of([&] { (void)foreign_view<WithVector>(20, Device::cpu(), matrix); }),
              AllOf(HasSubstr("column direction"), HasSubstr("row-major")));
  Eigen::MatrixXf wide(3, 20);
  EXPECT_THAT(
      error_of([&] { (void)foreign_view<WithVector>(20, Device::cpu(), wide.transpose()); }),
      HasSubstr("row-major"));
}

TEST(ForeignEigen, OtherStridesAndShapesAreRefused) {
  auto memory = counted(200);
  Eigen::MatrixXf matrix(20, 4);
  EXPECT_THAT(error_of([&] { (void)foreign_view<WithVector>(20, Device::cpu(), matrix); }),
              AllOf(HasSubstr("column direction"), HasSubstr("has 4 columns; 3 needed")));
  EXPECT_THAT(
      error_of([&] { (void)foreign_view<WithVector>(21, Device::cpu(), matrix.leftCols(3)); }),
      HasSubstr("holds 20 rows; 21 needed"));
  EXPECT_THAT(error_of([&] { (void)foreign_view<Plain>(20, Device::cpu(), matrix); }),
              AllOf(HasSubstr("column x"), HasSubstr("has 4 columns; 1 needed")));
  EXPECT_THAT(
      error_of([&] {
        (void)foreign_view<Plain>(
            20, Device::cpu(),
            Eigen::Map<Eigen::VectorXf, 0, Eigen::InnerStride<2>>(memory.data(), 20));
      }),
      AllOf(HasSubstr("column x"), HasSubstr("2 elements apart"), HasSubstr("inner stride 1")));
  EXPECT_THAT(error_of([&] {
                (void)foreign_view<WithVector>(20, Device::cpu(),
                                               Eigen::Map<Eigen::MatrixXf, 0, Eigen::OuterStride<>>(
                                                   memory.data(), 20, 3, Eigen::OuterStride<>(19)));
              }),
              HasSubstr("19 elements apart"));
  EXPECT_THAT(error_of([&] {
                (void)foreign_view<WithVector>(5, Device::cpu(),
                                               Eigen::Map<Eigen::MatrixXf>(memory.data(), 5, 0));
              }),
              HasSubstr("has 0 columns; 3 needed"));
}

TEST(ForeignEigen, FixedSizeTypesAreTheElementsOfRecords) {
  auto memory = counted(180);
  const record::EigenOf<Eigen::Matrix<float, 2, 3>> parameters{memory.data(), 30};
  EXPECT_EQ(foreign_view<WithMatrix>(30, Device::cpu(), parameters).covariance[3](1, 2), 153.F);
  const record::EigenOf<Eigen::Matrix<float, 2, 3, Eigen::RowMajor>> wrong{memory.data(), 30};
  EXPECT_THAT(error_of([&] { (void)foreign_view<WithMatrix>(30, Device::cpu(), wrong); }),
              HasSubstr("row-major"));
}

#else

TEST(ForeignEigen, IsTestedOnRealTypes) { GTEST_SKIP() << "Eigen was not found (libeigen3-dev)"; }

#endif

}  // namespace
}  // namespace tensoa
