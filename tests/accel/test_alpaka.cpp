// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/accel/alpaka.hpp"

#include <array>
#include <cstdint>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include "alpaka_fixture.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/event.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/soa/foreign_view.hpp"

namespace tensoa {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

using AlpakaDevices = AlpakaTest;
using AlpakaQueues = AlpakaTest;
using AlpakaEvents = AlpakaTest;
using AlpakaBuffers = AlpakaTest;

static_assert(DeviceLike<alpaka::DevCpu>);
static_assert(DeviceLike<AlpakaDevice>);
static_assert(QueueLike<AlpakaQueue>);
static_assert(!QueueLike<AlpakaDevice>, "a device is not a queue");
static_assert(!DeviceLike<AlpakaQueue>, "a queue is not a device");

// ---- devices

TEST_F(AlpakaDevices, StandForOursAndTheOtherWayAbout) {
  EXPECT_EQ(DeviceTraits<AlpakaDevice>::get(device()), kDevice);
  EXPECT_EQ(accel::alpaka_device<AlpakaDevice>(kDevice), device());
  const auto host = accel::alpaka_device<alpaka::DevCpu>(Device::cpu());
  EXPECT_EQ(DeviceTraits<alpaka::DevCpu>::get(host), Device::cpu());
}

TEST_F(AlpakaDevices, TheLastOneIsTheLastOfOurs) {
  const int last = device_count(kDevice.kind) - 1;
  const auto there = accel::alpaka_device<AlpakaDevice>({kDevice.kind, last});
  EXPECT_EQ(DeviceTraits<AlpakaDevice>::get(there), (Device{kDevice.kind, last}));
}

TEST_F(AlpakaDevices, OfAnotherKindOrIndexAreErrors) {
  EXPECT_THAT(
      [] { accel::alpaka_device<AlpakaDevice>(kOtherKind); },
      ThrowsMessage<ConfigError>(AllOf(HasSubstr("got " + to_string(kOtherKind)),
                                       HasSubstr(kOnCpu ? "one of the CPU" : "one of a GPU"))));
  EXPECT_THAT(
      [] {
        accel::alpaka_device<AlpakaDevice>({kDevice.kind, 99});
      },
      ThrowsMessage<DeviceError>(HasSubstr("but alpaka has ")));
  EXPECT_THROW(accel::alpaka_device<AlpakaDevice>({kDevice.kind, -1}), DeviceError);
}

TEST(AlpakaDeviceLists, ThatDifferAreAnErrorThatNamesBothSides) {
  EXPECT_THAT([] { accel::detail::require_same_device(Device::cuda(99), "AMD Instinct MI250X"); },
              ThrowsMessage<DeviceError>(
                  AllOf(HasSubstr("alpaka's device 99 (AMD Instinct MI250X) is not among tensoa's"),
                        HasSubstr("device cuda:99 is not there; there is: cpu"),
                        HasSubstr("CUDA_VISIBLE_DEVICES"))));
  EXPECT_THAT([] { accel::detail::require_same_device(Device::cpu(), "AMD Instinct MI250X"); },
              ThrowsMessage<DeviceError>(HasSubstr(
                  "alpaka's device 0 (AMD Instinct MI250X) and tensoa's cpu (CPU) differ")));
  EXPECT_NO_THROW(accel::detail::require_same_device(Device::cpu(), "CPU"));
}

TEST_F(AlpakaDevices, CarryCollections) {
  // [collection]
  PortableCollection<Points, AlpakaDevice> points(100, device());
  // [/collection]
  EXPECT_EQ(points.device(), kDevice);
  EXPECT_EQ(points.size(), 100U);
}

// ---- queues

/// nullptr on the CPU, where alpaka's queues have none.
template <class Queue>
void* stream_of(const Queue& queue) {
  if constexpr (std::is_same_v<alpaka::Dev<Queue>, alpaka::DevCpu>) {
    return nullptr;
  } else {
    return alpaka::getNativeHandle(queue);
  }
}

TEST_F(AlpakaQueues, StandForOneOfOursOnTheirDevice) {
  const Queue ours = QueueTraits<AlpakaQueue>::get(queue());
  EXPECT_EQ(ours.device(), kDevice);
  EXPECT_EQ(ours.native_handle(), stream_of(queue()));
}

TEST_F(AlpakaQueues, BlockingOnesAreTakenOnEveryDevice) {
  const alpaka::Queue<Acc, alpaka::Blocking> blocking(device());
  EXPECT_EQ(QueueTraits<std::remove_const_t<decltype(blocking)>>::get(blocking).device(), kDevice);
}

TEST(AlpakaCpuQueues, NonBlockingIsAnErrorThatSaysWhyAndWhatToTake) {
  // [nonblocking]
  const alpaka::Queue<alpaka::DevCpu, alpaka::NonBlocking> queue(
      accel::alpaka_device<alpaka::DevCpu>(Device::cpu()));
  EXPECT_THAT(
      [&] { QueueTraits<alpaka::QueueCpuNonBlocking>::get(queue); },
      ThrowsMessage<ConfigError>(AllOf(HasSubstr("NonBlocking alpaka queue of the CPU"),
                                       HasSubstr("would not keep the order of that queue"),
                                       HasSubstr("expected alpaka::Queue<…, alpaka::Blocking>"))));
  // [/nonblocking]
}

TEST_F(AlpakaQueues, CopiesKeepTheirOrder) {
  PortableCollection<Points, AlpakaDevice> points(100'000, device());
  accel::for_each_row<Acc>(queue(), points.size(), SlowFill{points.view()});
  const auto host = download(points);
  EXPECT_EQ(host.const_view().x[99'999], 100'999.F);
  EXPECT_EQ(host.const_view().z[0], -1000.F);
}

// ---- events

TEST_F(AlpakaEvents, AQueueOfOursWaitsForThem) {
  PortableCollection<Points, AlpakaDevice> points(100'000, device());
  PortableCollection<Points> host(points.capacity(), Device::cpu());
  const Queue consumer(kDevice);
  // [event_of]
  accel::for_each_row<Acc>(queue(), points.size(), SlowFill{points.view()});
  alpaka::Event<AlpakaQueue> filled(device());
  alpaka::enqueue(queue(), filled);
  consumer.wait_for(accel::event_of(filled));
  copy(consumer, points, host);
  // [/event_of]
  consumer.wait();
  EXPECT_EQ(host.const_view().x[99'999], 100'999.F);
}

TEST_F(AlpakaEvents, AnAlpakaQueueWaitsForOurs) {
  PortableCollection<Points, AlpakaDevice> points(100'000, device());
  PortableCollection<Points> host(points.capacity(), Device::cpu());
  AlpakaQueue producer(device());
  accel::for_each_row<Acc>(producer, points.size(), SlowFill{points.view()});
  // [wait_for]
  const Event filled(QueueTraits<AlpakaQueue>::get(producer));
  QueueTraits<AlpakaQueue>::get(queue()).wait_for(filled);
  // [/wait_for]
  copy(queue(), points, host);
  alpaka::wait(queue());
  EXPECT_EQ(host.const_view().x[99'999], 100'999.F);
}

TEST(AlpakaCpuEvents, ThatAreNotCompleteAreAnError) {
  const auto device = accel::alpaka_device<alpaka::DevCpu>(Device::cpu());
  alpaka::Queue<alpaka::DevCpu, alpaka::NonBlocking> queue(device);
  std::promise<void> go;
  alpaka::enqueue(queue, [gone = go.get_future().share()] { gone.wait(); });
  alpaka::Event<alpaka::QueueCpuNonBlocking> event(device);
  alpaka::enqueue(queue, event);
  EXPECT_THAT([&] { accel::event_of(event); },
              ThrowsMessage<ConfigError>(
                  AllOf(HasSubstr("not complete"), HasSubstr("expected one of a Blocking queue"))));
  go.set_value();
  alpaka::wait(event);
  EXPECT_EQ(accel::event_of(event).device(), Device::cpu());
}

// ---- buffers

template <template <class> class F>
struct Track {
  F<float> x;
  F<std::int32_t> layer;
  F<Vector<float, 3>> direction;
  F<Scalar<double>> field;
};

/// Writes every column of a Track.
struct WriteTrack {
  View<Track> track;

  ALPAKA_FN_HOST_ACC void operator()(std::size_t i) const {
    track.x[i] = static_cast<float>(i);
    track.layer[i] = static_cast<std::int32_t>(i) + 100;
    for (std::size_t k = 0; k < 3; ++k) {
      track.direction[i][k] = static_cast<float>(i) + 1000.F * static_cast<float>(k);
    }
    if (i == 0) *track.field.data() = 3.8;
  }
};

using Extent0 = alpaka::Vec<alpaka::DimInt<0>, std::size_t>;
using Extent1 = alpaka::Vec<alpaka::DimInt<1>, std::size_t>;
using Extent2 = alpaka::Vec<alpaka::DimInt<2>, std::size_t>;

/// The content of a buffer, row after row, without the padding.
template <class T, class Buffer>
std::vector<T> read(AlpakaQueue& queue, const Buffer& buffer, std::size_t planes,
                    std::size_t rows) {
  std::vector<T> values(planes * rows);
  const auto host = accel::alpaka_device<alpaka::DevCpu>(Device::cpu());
  if constexpr (alpaka::Dim<Buffer>::value == 2) {
    auto to = alpaka::createView(host, values.data(), Extent2{planes, rows});
    alpaka::memcpy(queue, to, buffer);
  } else {
    auto to = alpaka::createView(host, values.data(), alpaka::getExtents(buffer));
    alpaka::memcpy(queue, to, buffer);
  }
  alpaka::wait(queue);
  return values;
}

TEST_F(AlpakaBuffers, AreColumnsWithTheirPitch) {
  constexpr std::size_t n = 3;
  // [buffers]
  auto x = alpaka::allocBuf<float, std::size_t>(device(), n);
  auto layer = alpaka::allocBuf<std::int32_t, std::size_t>(device(), n);
  auto direction = alpaka::allocBuf<float, std::size_t>(device(), Extent2{3, n});
  auto field = alpaka::allocBuf<double, std::size_t>(device(), Extent0{});
  const auto track = foreign_view<Track>(n, device(), x, layer, direction, field);
  accel::for_each_row<Acc>(queue(), n, WriteTrack{track});
  // [/buffers]
  EXPECT_EQ(track.device(), kDevice);
  EXPECT_EQ(track.x.data(), alpaka::getPtrNative(x));
  EXPECT_EQ(static_cast<std::size_t>(track.direction.pitch_) * sizeof(float),
            alpaka::getPitchesInBytes(direction)[0]);
  EXPECT_THAT(read<float>(queue(), x, 1, n), ElementsAre(0, 1, 2));
  EXPECT_THAT(read<std::int32_t>(queue(), layer, 1, n), ElementsAre(100, 101, 102));
  EXPECT_THAT(read<float>(queue(), direction, 3, n),
              ElementsAre(0, 1, 2, 1000, 1001, 1002, 2000, 2001, 2002));
  EXPECT_THAT(read<double>(queue(), field, 1, 1), ElementsAre(3.8));
}

TEST_F(AlpakaBuffers, ConstAndPartsAreColumnsToo) {
  auto buffer = alpaka::allocBuf<float, std::size_t>(device(), std::size_t{12});
  const auto x = alpaka::createSubView(buffer, Extent1{4}, Extent1{0});
  const auto fixed = foreign_const_view<Points>(
      4, device(), x, alpaka::createSubView(buffer, Extent1{4}, Extent1{4}),
      alpaka::createSubView(buffer, Extent1{4}, Extent1{8}));
  EXPECT_EQ(fixed.z.data() - alpaka::getPtrNative(buffer), 8);

  auto y = alpaka::createSubView(buffer, Extent1{4}, Extent1{4});
  const auto parts = foreign_view<Points>(
      4, device(), alpaka::createSubView(buffer, Extent1{4}, Extent1{0}), y,
      alpaka::createView(device(), alpaka::getPtrNative(buffer) + 8, std::size_t{4}));
  EXPECT_EQ(parts.y.data() - parts.x.data(), 4);
  EXPECT_EQ(parts.z.data() - parts.x.data(), 8);
}

template <template <class> class F>
struct Pairs {
  F<Vector<float, 2>> pair;
};

TEST_F(AlpakaBuffers, WithPaddedRowsKeepThePadding) {
  auto buffer = alpaka::allocBuf<float, std::size_t>(device(), std::size_t{12});
  auto padded =
      alpaka::createView(device(), alpaka::getPtrNative(buffer), Extent2{2, 4}, Extent2{24, 4});
  const auto pairs = foreign_view<Pairs>(4, device(), padded);
  EXPECT_EQ(pairs.pair.pitch_, 6);
}

TEST_F(AlpakaBuffers, ThatDoNotFitAreErrors) {
  auto x = alpaka::allocBuf<float, std::size_t>(device(), std::size_t{4});
  EXPECT_THAT([&] { static_cast<void>(foreign_view<Points>(5, device(), x, x, x)); },
              ThrowsMessage<BindingError>(AllOf(HasSubstr("x"), HasSubstr("4"), HasSubstr("5"))));

  auto layer = alpaka::allocBuf<std::int32_t, std::size_t>(device(), std::size_t{4});
  auto field = alpaka::allocBuf<double, std::size_t>(device(), Extent0{});
  auto wide = alpaka::allocBuf<float, std::size_t>(device(), std::size_t{64});
  auto uneven =
      alpaka::createView(device(), alpaka::getPtrNative(wide), Extent2{3, 4}, Extent2{18, 4});
  EXPECT_THAT([&] { static_cast<void>(foreign_view<Track>(4, device(), x, layer, uneven, field)); },
              ThrowsMessage<BindingError>(AllOf(HasSubstr("rows 18 bytes apart"),
                                                HasSubstr("multiple of the element's 4 bytes"))));
}

TEST_F(AlpakaBuffers, OfAnotherDeviceThanTheViewAreErrorsThatNameBoth) {
  auto x = alpaka::allocBuf<float, std::size_t>(device(), std::size_t{4});
  EXPECT_THAT(
      [&] { static_cast<void>(foreign_view<Points>(4, kOtherKind, x, x, x)); },
      ThrowsMessage<BindingError>(AllOf(HasSubstr("column x lies on " + to_string(kDevice)),
                                        HasSubstr("the view on " + to_string(kOtherKind)))));
}

TEST_F(AlpakaBuffers, AreFilledFromOurColumnsByAlpaka) {
  PortableCollection<Points, AlpakaDevice> points(8, device());
  accel::for_each_row<Acc>(queue(), points.size(), SlowFill{points.view()});
  // [create_view]
  const auto x = alpaka::createView(device(), points.view().x.data(), points.size());
  // [/create_view]
  EXPECT_EQ(read<float>(queue(), x, 1, 8)[7], 1007.F);
}

}  // namespace
}  // namespace tensoa
