// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/interop/tensor_columns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "soa/layouts.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "tensoa/soa/soa_metadata.hpp"

namespace tensoa::interop {
namespace {

using test::kSizes;
using test::Mixed;
using test::Nested;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <template <class> class F>
struct Track {
  F<Vector<float, 2>> u;
  F<float> x;
  F<Matrix<float, 2, 2>> m;
  F<Scalar<float>> field;
};

TensorView floats(std::vector<float>& values, std::initializer_list<std::int64_t> sizes,
                  std::initializer_list<std::int64_t> strides) {
  TensorView view;
  view.data = values.data();
  view.rank = static_cast<std::uint8_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), view.size_of_dim.begin());
  std::copy(strides.begin(), strides.end(), view.stride_of_dim.begin());
  return view;
}

TEST(Select, TakesOneColumnOrOneRow) {
  std::vector<float> values(12);
  const TensorView tensor = floats(values, {4, 3}, {3, 1});
  const TensorView column = select(tensor, 1, 2);
  EXPECT_EQ(column.data, &values[2]);
  EXPECT_THAT(column.sizes(), ElementsAre(4));
  EXPECT_THAT(column.strides(), ElementsAre(3));
  const TensorView row = select(tensor, 0, 3);
  EXPECT_EQ(row.data, &values[9]);
  EXPECT_THAT(row.sizes(), ElementsAre(3));
  EXPECT_THAT(row.strides(), ElementsAre(1));
  EXPECT_EQ(select(row, 0, 1).data, &values[10]);
}

TEST(Select, RefusesWhatIsNotThere) {
  std::vector<float> values(12);
  const TensorView tensor = floats(values, {4, 3}, {3, 1});
  EXPECT_THAT([&] { select(tensor, 2, 0); },
              ThrowsMessage<BindingError>(
                  HasSubstr("float32[4, 3] on cpu has no element 0 along dimension 2")));
  EXPECT_THROW(select(tensor, 1, 3), BindingError);
  EXPECT_THROW(select(tensor, 1, -1), BindingError);
}

/// Each column bound to a separate block.
template <template <template <class> class> class Layout>
std::vector<TensorView> tensors_of(const View<Layout>& view) {
  SoAMetadata<Layout> blocks(view.size());
  for (const ColumnRecord& column : column_records(view)) {
    blocks.append_block(
        kFieldNames<Layout>[column.field], Record<Layout> { column });
  }
  std::vector<TensorView> tensors;
  for (const BoundBlock& block : blocks.blocks()) tensors.push_back(block.tensor);
  return tensors;
}

class ViewOfSize : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, ViewOfSize, testing::ValuesIn(kSizes));

/// One field of every kind and type to tensors and back: the same addresses and pitches.
TEST_P(ViewOfSize, IsTheWayBackOfBindColumns) {
  PortableCollection<Mixed> mixed(GetParam(), Device::cpu());
  const auto view = mixed.view();
  const std::vector<TensorView> tensors = tensors_of<Mixed>(view);

  const View<Mixed> found = view_of<Mixed>(tensors);
  const ConstView<Mixed> found_const = const_view_of<Mixed>(tensors);
  EXPECT_EQ(found.size(), GetParam());
  EXPECT_EQ(found.capacity(), GetParam());
  EXPECT_EQ(found.device(), Device::cpu());
  EXPECT_EQ(found_const.scale.data(), view.scale.data());
  if (GetParam() == 0) return;  // columns without rows lie anywhere
  EXPECT_EQ(found.x.data(), view.x.data());
  EXPECT_EQ(found.id.data(), view.id.data());
  EXPECT_EQ(found.weight.data(), view.weight.data());
  EXPECT_EQ(found.direction.data(), view.direction.data());
  EXPECT_EQ(found.direction.pitch_, view.direction.pitch_);
  EXPECT_EQ(found.covariance.data(), view.covariance.data());
  EXPECT_EQ(found.covariance.pitch_, view.covariance.pitch_);
  EXPECT_EQ(found_const.covariance.pitch_, view.covariance.pitch_);
}

TEST(ViewOf, TakesLayoutsInsideLayouts) {
  PortableCollection<Nested> nested(40, Device::cpu());
  const auto view = nested.view();
  const View<Nested> found = view_of<Nested>(tensors_of<Nested>(view));
  EXPECT_EQ(found.charge.data(), view.charge.data());
  EXPECT_EQ(found.position.z.data(), view.position.z.data());
  EXPECT_EQ(found.fit.slope.pitch_, view.fit.slope.pitch_);
  EXPECT_EQ(found.fit.end.unit.data(), view.fit.end.unit.data());
}

/// The tensors of a Track of three rows, planes four apart.
struct Tensors {
  std::vector<float> u = std::vector<float>(8);
  std::vector<float> x = std::vector<float>(3);
  std::vector<float> m = std::vector<float>(16);
  std::vector<float> field = std::vector<float>(1);
  std::array<TensorView, 4> all{floats(u, {3, 2}, {1, 4}), floats(x, {3}, {1}),
                                floats(m, {3, 2, 2}, {1, 4, 8}), floats(field, {}, {})};
};

template <class Change>
void expect_refused(Change change, const std::string& message) {
  Tensors tensors;
  change(tensors);
  EXPECT_THAT([&] { view_of<Track>(tensors.all); },
              ThrowsMessage<BindingError>(HasSubstr(message)));
}

TEST(ViewOf, ReadsAndWritesTheTensors) {
  Tensors tensors;
  const View<Track> view = view_of<Track>(tensors.all);
  EXPECT_EQ(view.size(), 3U);
  view.u[2][1] = 5;
  view.m[1](0, 1) = 6;
  view.x[0] = 7;
  *view.field = 8;
  EXPECT_EQ(tensors.u[2 + 4], 5);
  EXPECT_EQ(tensors.m[1 + 8], 6);
  EXPECT_EQ(tensors.x[0], 7);
  EXPECT_EQ(tensors.field[0], 8);
}

TEST(ViewOf, RefusesColumnsThatAreNotDense) {
  expect_refused([](Tensors& t) { t.all[1].stride_of_dim[0] = 3; },
                 "field x: got float32[3] on cpu with strides (3), expected [3] with stride (1)");
  expect_refused(
      [](Tensors& t) {
        t.all[0] = floats(t.u, {3, 2}, {2, 1});
      },
      "field u: got float32[3, 2] on cpu with strides (2, 1), expected [3, 2] with "
      "strides (1, P)");
  expect_refused([](Tensors& t) { t.all[0].stride_of_dim[1] = 2; }, "field u: got");  // overlap
  expect_refused(
      [](Tensors& t) {
        t.all[2] = floats(t.m, {3, 2, 2}, {1, 8, 4});
      },
      "field m: got float32[3, 2, 2] on cpu with strides (1, 8, 4), expected [3, 2, 2] "
      "with strides (1, P, 2 P)");
  for (const std::int64_t pitch : {INT64_MAX, INT64_MAX / 2 + 1}) {
    expect_refused([pitch](Tensors& t) { t.all[2].stride_of_dim = {1, pitch, 8}; }, "field m: got");
  }
}

TEST(ViewOf, RefusesOtherShapesAndTypes) {
  expect_refused([](Tensors& t) { t.all[1].size_of_dim[0] = 2; }, "field x: got float32[2]");
  expect_refused([](Tensors& t) { t.all[0].size_of_dim[1] = 3; }, "field u: got float32[3, 3]");
  expect_refused([](Tensors& t) { t.all[1].rank = 0; }, "field x: got float32[]");
  expect_refused(
      [](Tensors& t) { t.all[3] = floats(t.x, {3}, {1}); },
      "field field: got float32[3] on cpu with strides (1), expected one element, or one for each "
      "row with stride 0");
  expect_refused([](Tensors& t) { t.all[1].dtype = DType::kF64; },
                 "field x: got float64[3] on cpu with strides (1), expected float32");
  expect_refused([](Tensors& t) { t.all[1].device = Device::cuda(1); },
                 "on cuda:1 with strides (1), expected all tensors on cpu");
}

TEST(ViewOf, RefusesAnotherNumberOfTensors) {
  const Tensors tensors;
  EXPECT_THAT([&] { view_of<Track>(std::span(tensors.all).first(3)); },
              ThrowsMessage<BindingError>(
                  HasSubstr("got 3 tensors, expected one for each of the 4 fields")));
}

TEST(ViewOf, GivesReadOnlyTensorsAsConstOnly) {
  Tensors tensors;
  tensors.all[2].read_only = true;
  EXPECT_THAT([&] { view_of<Track>(tensors.all); },
              ThrowsMessage<BindingError>(
                  AllOf(HasSubstr("field m"), HasSubstr("which is read-only; use const_view_of"))));
  const ConstView<Track> view = const_view_of<Track>(tensors.all);
  static_assert(std::is_same_v<decltype(view.x[0]), const float&>);
  EXPECT_EQ(view.m.data(), tensors.m.data());
  EXPECT_TRUE(view.records().m().column.read_only);
}

template <template <class> class F>
struct Pair {
  F<float> x, y;
};

TEST(ViewOf, BindsTensorsWithoutRowsAndWithoutMemory) {
  TensorView tensor;
  tensor.rank = 1;
  const TensorView tensors[] = {tensor, tensor};
  const View<Pair> pair = view_of<Pair>(tensors);
  SoAMetadata<Pair> blocks(pair.size());
  blocks.append_block("both", pair.records().x(), pair.records().y());
  EXPECT_THAT(blocks.blocks()[0].tensor.sizes(), ElementsAre(0, 2));
}

TEST(ViewOf, RefusesMemoryThatColumnsCannotHave) {
  std::vector<float> values(20);
  const TensorView x = floats(values, {10}, {1});
  const auto expect_error = [&x](const TensorView& y, const std::string& message) {
    const TensorView tensors[] = {x, y};
    EXPECT_THAT([&] { view_of<Pair>(tensors); }, ThrowsMessage<BindingError>(HasSubstr(message)));
  };
  TensorView y = x;
  y.data = &values[9];
  expect_error(y, "view_of: column y (plain float32): overlaps column x");
  y.data = reinterpret_cast<std::byte*>(&values[10]) - 1;
  expect_error(y, "view_of: column y (plain float32): the address is not aligned");
  y.data = nullptr;
  expect_error(y, "view_of: column y (plain float32): the source is a null pointer");
  y.data = &values[10];
  const TensorView tensors[] = {x, y};
  EXPECT_EQ(view_of<Pair>(tensors).y.data(), y.data);
}

}  // namespace
}  // namespace tensoa::interop
