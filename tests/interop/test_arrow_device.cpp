// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/interop/arrow_device.hpp"

#include <arrow/c/abi.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "soa/layouts.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/event.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "tensoa/soa/soa_metadata.hpp"

namespace tensoa::interop {
namespace {

using test::kSizes;
using test::Mixed;
using test::Nested;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <template <class> class F>
struct Hit {
  F<float> x;
  F<bool> is_good;
  F<BFloat16> weight;
  F<Vector<double, 3>> u;
};

template <template <class> class F>
struct OnlyX {
  F<float> x;
};

/// An owner that counts how often it was let go.
std::shared_ptr<const void> counting_owner(int& released) {
  return {&released, [](int* count) { ++*count; }};
}

/// The caller's memory for one exchange; releases what was not taken.
struct Batch {
  ArrowDeviceArray array{};
  ArrowSchema schema{};

  Batch() = default;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  ~Batch() {
    if (array.array.release != nullptr) array.array.release(&array.array);
    if (schema.release != nullptr) schema.release(&schema);
  }
  operator ArrowBatch() { return {&array, &schema}; }  // NOLINT(google-explicit-constructor)
};

const Queue& cpu() {
  static const Queue queue(Device::cpu());
  return queue;
}

class ArrowOfSize : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, ArrowOfSize, testing::ValuesIn(kSizes));

TEST_P(ArrowOfSize, GoesOutAndComesBackWithTheSameAddresses) {
  // [arrow]
  auto hits = std::make_shared<PortableCollection<Mixed>>(GetParam(), Device::cpu());
  const Queue queue(Device::cpu());
  ArrowDeviceArray rows;
  ArrowSchema rows_schema;
  to_arrow(hits->view(), hits, queue, {&rows, &rows_schema});

  ArrowDeviceArray scalars;
  ArrowSchema scalars_schema;
  scalars_to_arrow(hits->view(), hits, queue, {&scalars, &scalars_schema});
  // …
  ImportedColumns<Mixed> back =
      from_arrow<Mixed>(queue, {&rows, &rows_schema}, {&scalars, &scalars_schema});
  // [/arrow]
  EXPECT_EQ(rows.array.release, nullptr);
  EXPECT_EQ(rows_schema.release, nullptr);
  EXPECT_EQ(scalars.array.release, nullptr);
  EXPECT_EQ(scalars_schema.release, nullptr);
  const ConstView<Mixed> view = hits->const_view();
  EXPECT_EQ(back.view.size(), GetParam());
  EXPECT_EQ(back.view.device(), Device::cpu());
  EXPECT_EQ(back.view.scale.data(), view.scale.data());
  if (GetParam() > 0) {
    EXPECT_EQ(back.view.x.data(), view.x.data());
    EXPECT_EQ(back.view.flag.data(), view.flag.data());
    EXPECT_EQ(back.view.weight.data(), view.weight.data());
    EXPECT_EQ(back.view.energy.data(), view.energy.data());
    EXPECT_EQ(back.view.direction.data(), view.direction.data());
    EXPECT_EQ(back.view.direction.pitch_, view.direction.pitch_);
    EXPECT_EQ(back.view.covariance.data(), view.covariance.data());
    EXPECT_EQ(back.view.covariance.pitch_, view.covariance.pitch_);
  }

  const Lease lease = back.view.lease_;
  EXPECT_GT(hits.use_count(), 1);
  EXPECT_TRUE(lease.is_live());
  back.owner.reset();
  EXPECT_EQ(hits.use_count(), 1);
  EXPECT_FALSE(lease.is_live());
}

TEST(ToArrow, NamesColumnsPlanesAndTypes) {
  PortableCollection<Mixed> mixed(5, Device::cpu());
  Batch rows;
  to_arrow(mixed.const_view(), nullptr, cpu(), rows);
  EXPECT_STREQ(rows.schema.format, "+s");
  EXPECT_EQ(rows.array.device_type, ARROW_DEVICE_CPU);
  EXPECT_EQ(rows.array.sync_event, nullptr);
  EXPECT_EQ(rows.array.array.length, 5);
  std::vector<std::string> names;
  std::string formats;
  for (std::int64_t i = 0; i < rows.schema.n_children; ++i) {
    names.emplace_back(rows.schema.children[i]->name);
    formats += rows.schema.children[i]->format;
    EXPECT_EQ(rows.schema.children[i]->flags, 0);  // not nullable
    EXPECT_EQ(rows.array.array.children[i]->length, 5);
    EXPECT_EQ(rows.array.array.children[i]->null_count, 0);
    EXPECT_EQ(rows.array.array.children[i]->buffers[0], nullptr);
  }
  EXPECT_THAT(names,
              ElementsAre("x", "y", "z", "flag", "id", "direction.0", "direction.1", "direction.2",
                          "weight", "covariance.0.0", "covariance.1.0", "covariance.0.1",
                          "covariance.1.1", "covariance.0.2", "covariance.1.2", "layer", "energy"));
  EXPECT_EQ(formats, "fffClfffeffffffig");
  EXPECT_EQ(rows.array.array.children[11]->buffers[1], mixed.view().covariance.plane(0, 1).data());

  Batch scalars;
  scalars_to_arrow(mixed.const_view(), nullptr, cpu(), scalars);
  EXPECT_EQ(scalars.array.array.length, 1);
  ASSERT_EQ(scalars.schema.n_children, 2);
  EXPECT_STREQ(scalars.schema.children[0]->name, "field");
  EXPECT_STREQ(scalars.schema.children[1]->name, "scale");
  EXPECT_EQ(scalars.array.array.children[1]->buffers[1], mixed.view().scale.data());
}

TEST(Arrow, TakesLayoutsInsideLayouts) {
  PortableCollection<Nested> nested(40, Device::cpu());
  Batch rows;
  Batch scalars;
  to_arrow(nested.view(), nullptr, cpu(), rows);
  scalars_to_arrow(nested.view(), nullptr, cpu(), scalars);
  EXPECT_STREQ(rows.schema.children[4]->name, "fit.begin.x");
  EXPECT_STREQ(rows.schema.children[7]->name, "fit.slope.0");
  const auto imported = from_arrow<Nested>(cpu(), rows, scalars);
  EXPECT_EQ(imported.view.position.z.data(), nested.view().position.z.data());
  EXPECT_EQ(imported.view.fit.slope.data(), nested.view().fit.slope.data());
  EXPECT_EQ(imported.view.fit.slope.pitch_, nested.view().fit.slope.pitch_);
  EXPECT_EQ(imported.view.fit.end.y.data(), nested.view().fit.end.y.data());
  EXPECT_EQ(imported.view.fit.end.unit.data(), nested.view().fit.end.unit.data());
}

TEST(ToArrow, WritesBoolAndBFloat16AsExtensionTypes) {
  PortableCollection<Hit> hits(3, Device::cpu());
  Batch rows;
  to_arrow(hits.view(), nullptr, cpu(), rows);
  const auto metadata = [&](int child) {
    // number of keys, length, key, length, value
    const char* text = rows.schema.children[child]->metadata;
    std::int32_t count = 0;
    std::int32_t length = 0;
    std::memcpy(&count, text, 4);
    EXPECT_EQ(count, 1);
    std::memcpy(&length, text + 4, 4);
    std::string key(text + 8, static_cast<std::size_t>(length));
    text += 8 + length;
    std::memcpy(&length, text, 4);
    return key + '=' + std::string(text + 4, static_cast<std::size_t>(length));
  };
  EXPECT_EQ(rows.schema.children[0]->metadata, nullptr);
  EXPECT_STREQ(rows.schema.children[1]->format, "c");
  EXPECT_EQ(metadata(1), "ARROW:extension:name=arrow.bool8");
  EXPECT_STREQ(rows.schema.children[2]->format, "S");
  EXPECT_EQ(metadata(2), "ARROW:extension:name=tensoa.bfloat16");
}

/// The specification lets a consumer move children out and release the rest.
TEST(ToArrow, LivesUntilTheLastChildThatWasMovedOutIsReleased) {
  PortableCollection<Hit> hits(3, Device::cpu());
  int released = 0;
  Batch rows;
  to_arrow(hits.view(), counting_owner(released), cpu(), rows);
  ArrowArray moved = *rows.array.array.children[1];
  rows.array.array.children[1]->release = nullptr;
  ArrowSchema moved_schema = *rows.schema.children[1];
  rows.schema.children[1]->release = nullptr;

  rows.array.array.release(&rows.array.array);
  rows.schema.release(&rows.schema);
  EXPECT_EQ(rows.array.array.release, nullptr);
  EXPECT_EQ(rows.schema.release, nullptr);
  EXPECT_EQ(released, 0);
  EXPECT_EQ(moved.buffers[1], hits.view().is_good.data());
  EXPECT_STREQ(moved_schema.name, "is_good");
  moved.release(&moved);
  moved_schema.release(&moved_schema);
  EXPECT_EQ(moved.release, nullptr);
  EXPECT_EQ(released, 1);
}

TEST(ToArrow, NeedsAQueueOfTheDeviceAndMemoryToWriteTo) {
  PortableCollection<Hit> hits(3, Device::cpu());
  View<Hit> elsewhere = hits.view();
  elsewhere.device_ = Device::cuda(0);
  Batch rows;
  EXPECT_THAT([&] { to_arrow(elsewhere, nullptr, cpu(), rows); },
              ThrowsMessage<DeviceError>(HasSubstr(
                  "the columns lie on cuda:0, got a queue of cpu; expected a queue of cuda:0")));
  EXPECT_EQ(rows.array.array.release, nullptr);
  EXPECT_THAT(
      [&] {
        to_arrow(hits.view(), nullptr, cpu(), {&rows.array, nullptr});
      },
      ThrowsMessage<ConfigError>(HasSubstr("got no memory for the schema")));
}

TEST(FromArrow, FindsColumnsByNameAndLeavesOthersAlone) {
  PortableCollection<Mixed> mixed(3, Device::cpu());
  Batch rows;
  to_arrow(mixed.view(), nullptr, cpu(), rows);
  EXPECT_EQ(from_arrow<OnlyX>(cpu(), rows).view.x.data(), mixed.view().x.data());
}

TEST(FromArrow, AddsTheOffsetsOfASlice) {
  PortableCollection<Hit> hits(10, Device::cpu());
  Batch rows;
  to_arrow(hits.view(), nullptr, cpu(), rows);
  rows.array.array.offset = 2;
  rows.array.array.length = 5;
  for (std::int64_t i = 0; i < rows.array.array.n_children; ++i) {
    rows.array.array.children[i]->offset = 1;
    rows.array.array.children[i]->length = 7;
  }
  const auto imported = from_arrow<Hit>(cpu(), rows);
  EXPECT_EQ(imported.view.size(), 5U);
  EXPECT_EQ(imported.view.x.data(), hits.view().x.data() + 3);
  EXPECT_EQ(imported.view.u.data(), hits.view().u.data() + 3);
  EXPECT_EQ(imported.view.u.pitch_, hits.view().u.pitch_);
}

TEST(FromArrow, GivesColumnsThatBindLikeAnyOthers) {
  PortableCollection<Mixed> mixed(100, Device::cpu());
  Batch rows;
  Batch scalars;
  to_arrow(mixed.view(), nullptr, cpu(), rows);
  scalars_to_arrow(mixed.view(), nullptr, cpu(), scalars);
  const auto imported = from_arrow<Mixed>(cpu(), rows, scalars);
  const auto records = imported.view.records();
  SoAMetadata<Mixed> blocks(imported.view.size());
  blocks.append_block("position", records.x(), records.y(), records.z());
  const TensorView& tensor = blocks.blocks()[0].tensor;
  EXPECT_EQ(tensor.data, mixed.view().x.data());
  EXPECT_THAT(tensor.strides(), ElementsAre(1, 128));
  EXPECT_TRUE(tensor.read_only);
}

template <template <class> class F>
struct Point {
  F<float> x, y, z;
};

TEST(FromArrow, GivesColumnsWhoseDistancesAreAskedFor) {
  PortableCollection<Point> points(10, Device::cpu());
  const float elsewhere[10] = {};
  Batch rows;
  to_arrow(points.view(), nullptr, cpu(), rows);
  rows.array.array.children[2]->buffers[1] =
      elsewhere;  // x and y as before: they prove nothing of z
  const auto imported = from_arrow<Point>(cpu(), rows);
  const auto records = imported.view.records();
  SoAMetadata<Point> blocks(imported.view.size());
  EXPECT_THAT(
      [&] { blocks.append_block("position", records.x(), records.y(), records.z()); },
      ThrowsMessage<BindingError>(HasSubstr("one tensor needs equal, ascending distances")));
  blocks.append_block("z", records.z());
  EXPECT_EQ(blocks.blocks()[0].tensor.data, elsewhere);
}

template <template <class> class F>
struct Four {
  F<float> a, b, c, d;
};

/// The first two and the last column lie as in a collection.
TEST(FromArrow, ReturnsColumnsWhoseDistancesAPlanChecks) {
  PortableCollection<Four> four(10, Device::cpu());
  const auto records = four.const_view().records();
  SoAMetadata<Four> blocks(10);
  blocks.append_block("all", records.a(), records.b(), records.c(), records.d());
  BoundBlock block = blocks.blocks()[0];

  const float elsewhere[10] = {};
  Batch rows;
  to_arrow(four.view(), nullptr, cpu(), rows);
  rows.array.array.children[2]->buffers[1] = elsewhere;
  const auto imported = from_arrow<Four>(cpu(), rows);
  const auto& view = imported.view;
  const ViewReference reference{reinterpret_cast<const std::byte*>(&view.columns()),
                                view.size(),
                                view.capacity(),
                                view.device(),
                                true,
                                view.lease_};
  EXPECT_THAT(
      [&] { bind(block, reference, reference); },
      ThrowsMessage<BindingError>(HasSubstr("one tensor needs equal, ascending distances")));
}

TEST(FromArrow, BindsABatchWithoutRowsAndWithoutMemory) {
  PortableCollection<Point> points(0, Device::cpu());
  Batch rows;
  to_arrow(points.view(), nullptr, cpu(), rows);
  for (int i = 0; i < 3; ++i) rows.array.array.children[i]->buffers[1] = nullptr;
  const auto imported = from_arrow<Point>(cpu(), rows);
  const auto records = imported.view.records();
  SoAMetadata<Point> blocks(imported.view.size());
  blocks.append_block("position", records.x(), records.y(), records.z());
  EXPECT_THAT(blocks.blocks()[0].tensor.sizes(), ElementsAre(0, 3));
}

/// The error of from_arrow for a batch of Hits that `change` has spoilt; the owner must be released once.
template <class Expected, class Change>
void expect_refused(Change change, const std::string& message) {
  PortableCollection<Hit> hits(4, Device::cpu());
  int released = 0;
  Batch rows;
  to_arrow(hits.view(), counting_owner(released), cpu(), rows);
  change(rows);
  EXPECT_THAT([&] { from_arrow<Hit>(cpu(), rows); }, ThrowsMessage<Expected>(HasSubstr(message)));
  EXPECT_EQ(released, 1) << message;
  EXPECT_EQ(rows.array.array.release, nullptr);
  EXPECT_EQ(rows.schema.release, nullptr);
}

ArrowArray& child(Batch& batch, int i) { return *batch.array.array.children[i]; }
ArrowSchema& child_schema(Batch& batch, int i) { return *batch.schema.children[i]; }

TEST(FromArrow, RefusesColumnsThatAreMissingOrTwice) {
  expect_refused<InputError>(
      [](Batch& b) { child_schema(b, 0).name = "other"; },
      "there is no column x; there is: other, is_good, weight, u.0, u.1, u.2");
  expect_refused<InputError>([](Batch& b) { child_schema(b, 5).name = "u.3"; },
                             "there is no column u.2");
  expect_refused<InputError>([](Batch& b) { child_schema(b, 1).name = "x"; },
                             "column x is there twice");
}

TEST(FromArrow, RefusesOtherTypes) {
  expect_refused<InputError>([](Batch& b) { child_schema(b, 0).format = "g"; },
                             "column x: got type \"g\", expected type \"f\" (float32)");
  expect_refused<InputError>(
      [](Batch& b) { child_schema(b, 1).format = "b"; },
      "column is_good: got type \"b\" as \"arrow.bool8\", expected type \"c\" "
      "as \"arrow.bool8\" (bool)");
  expect_refused<InputError>(
      [](Batch& b) { child_schema(b, 2).metadata = nullptr; },
      "column weight: got type \"S\", expected type \"S\" as \"tensoa.bfloat16\" (bfloat16)");
  expect_refused<InputError>([](Batch& b) { b.schema.format = "f"; },
                             "the rows are of type \"f\", expected a struct array");
}

TEST(FromArrow, RefusesNullsAndDictionaries) {
  static const std::uint8_t kValid[] = {0xFF};
  expect_refused<InputError>([](Batch& b) { child(b, 0).null_count = 2; },
                             "column x: got 2 nulls, expected none");
  expect_refused<InputError>(
      [](Batch& b) {
        child(b, 0).null_count = -1;
        child(b, 0).buffers[0] = kValid;
      },
      "column x: got an unknown number of nulls");
  expect_refused<InputError>([](Batch& b) { b.array.array.null_count = 1; }, "the rows have nulls");
  static ArrowSchema dictionary{};
  expect_refused<InputError>([](Batch& b) { child_schema(b, 0).dictionary = &dictionary; },
                             "column x: got dictionary codes, expected the values");
}

TEST(FromArrow, TakesAValidityBitmapWithoutNulls) {
  static const std::uint8_t kValid[] = {0xFF};
  PortableCollection<Hit> hits(4, Device::cpu());
  Batch rows;
  to_arrow(hits.view(), nullptr, cpu(), rows);
  child(rows, 0).buffers[0] = kValid;
  child(rows, 1).null_count = -1;  // unknown, but there is no bitmap
  EXPECT_EQ(from_arrow<Hit>(cpu(), rows).view.x.data(), hits.view().x.data());
}

TEST(FromArrow, RefusesColumnsThatAreTooShortEmptyOrMisaligned) {
  expect_refused<InputError>([](Batch& b) { child(b, 0).length = 3; },
                             "column x: got 3 elements, expected 4");
  expect_refused<InputError>([](Batch& b) { b.array.array.offset = 1; },
                             "column x: got 4 elements, expected 5");
  expect_refused<InputError>([](Batch& b) { b.array.array.length = -1; },
                             "the rows have length -1");
  expect_refused<InputError>([](Batch& b) { child(b, 0).buffers[1] = nullptr; },
                             "column x: got no data");
  expect_refused<InputError>(
      [](Batch& b) {
        child(b, 0).buffers[1] = static_cast<const std::byte*>(child(b, 0).buffers[1]) + 2;
      },
      "column x: got data at an address that is not a multiple of 4 bytes");
  expect_refused<InputError>([](Batch& b) { child(b, 0).n_buffers = 3; },
                             "column x: got 3 buffers, expected 2");
}

TEST(FromArrow, RefusesOffsetsThatLeadOutOfMemory) {
  for (const std::int64_t offset : {INT64_MAX, INT64_MAX / 4, INT64_MAX - 4}) {
    expect_refused<InputError>([offset](Batch& b) { child(b, 0).offset = offset; },
                               "column x: got the offset " + std::to_string(offset) +
                                   ", which leads beyond the last address");
  }
}

TEST(FromArrow, RefusesPlanesThatAreNotEquallySpaced) {
  expect_refused<InputError>(
      [](Batch& b) { std::swap(child(b, 4).buffers[1], child(b, 5).buffers[1]); },
      "the planes of column u lie 256, -128 bytes apart, expected equal, ascending distances");
}

TEST(FromArrow, RefusesOtherDevices) {
  expect_refused<InputError>([](Batch& b) { b.array.device_type = ARROW_DEVICE_METAL; },
                             "the rows lie on a device of Arrow type 8, expected 1 (cpu) or 2");
  expect_refused<DeviceError>(
      [](Batch& b) {
        b.array.device_type = ARROW_DEVICE_CUDA;
        b.array.device_id = 1;
      },
      "the rows lie on cuda:1, got a queue of cpu; expected a queue of cuda:1");
}

TEST(FromArrow, RefusesBatchesThatAreNotThere) {
  EXPECT_THAT([] { from_arrow<Hit>(cpu(), {}); },
              ThrowsMessage<ConfigError>(HasSubstr("got no array for the rows")));
  PortableCollection<Hit> hits(4, Device::cpu());
  Batch rows;
  to_arrow(hits.view(), nullptr, cpu(), rows);
  EXPECT_THAT(
      [&] {
        from_arrow<Hit>(cpu(), {&rows.array, nullptr});
      },
      ThrowsMessage<ConfigError>(HasSubstr("got no schema for the rows")));
  EXPECT_THAT([&] { from_arrow<Hit>(cpu(), rows); },
              ThrowsMessage<ConfigError>(HasSubstr("or one that is released already")));
}

TEST(FromArrow, NeedsTheScalarsOfTheLayoutInOneRow) {
  PortableCollection<Mixed> mixed(4, Device::cpu());
  Batch rows;
  to_arrow(mixed.view(), nullptr, cpu(), rows);
  EXPECT_THAT([&] { from_arrow<Mixed>(cpu(), rows); },
              ThrowsMessage<ConfigError>(HasSubstr("got no array for the scalars")));
  Batch rows_again;
  Batch scalars;
  to_arrow(mixed.view(), nullptr, cpu(), rows_again);
  scalars_to_arrow(mixed.view(), nullptr, cpu(), scalars);
  scalars.array.array.length = 0;
  EXPECT_THAT([&] { from_arrow<Mixed>(cpu(), rows_again, scalars); },
              ThrowsMessage<InputError>(HasSubstr("the scalars have 0 rows, expected one")));
}

TEST(Arrow, OrdersStreamsOfTheGpuByTheEventOfTheArray) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  const Device gpu = Device::cuda(0);
  const Queue producer(gpu);
  const Queue consumer(gpu);
  constexpr std::size_t kRows = std::size_t{1} << 26U;
  const auto hits = std::make_shared<PortableCollection<OnlyX>>(kRows, gpu);
  PortableCollection<OnlyX> from(kRows, gpu);
  const std::vector<float> ones(kRows, 1.F);
  copy_bytes(producer, from.view().x.data(), gpu, ones.data(), Device::cpu(), 4 * kRows);
  producer.wait();
  for (int i = 0; i < 20; ++i) zero_bytes(producer, hits->data(), hits->bytes());
  copy(producer, from, *hits);
  Batch rows;
  to_arrow(hits->view(), hits, producer, rows);
  EXPECT_EQ(rows.array.device_type, ARROW_DEVICE_CUDA);
  EXPECT_EQ(rows.array.device_id, 0);
  ASSERT_NE(rows.array.sync_event, nullptr);
  const auto imported = from_arrow<OnlyX>(consumer, rows);
  EXPECT_EQ(imported.view.x.data(), hits->view().x.data());
  float last = 0;
  copy_bytes(consumer, &last, Device::cpu(), imported.view.x.data() + kRows - 1, gpu, 4);
  consumer.wait();
  EXPECT_EQ(last, 1.F);
}

}  // namespace
}  // namespace tensoa::interop
