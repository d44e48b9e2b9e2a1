// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <ostream>
#include <tuple>
#include <type_traits>

#include "tensoa/accel/alpaka.hpp"
#include "tensoa/accel/for_each_row.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {

inline void PrintTo(const Device& device, std::ostream* out) { *out << to_string(device); }

namespace test {

// The one back-end that the program is compiled for.
template <class Idx>
using AccOver =
    alpaka::TagToAcc<std::tuple_element_t<0, alpaka::EnabledAccTags>, alpaka::DimInt<1>, Idx>;
using Acc = AccOver<std::size_t>;
using AlpakaDevice = alpaka::Dev<Acc>;
inline constexpr bool kOnCpu = std::is_same_v<AlpakaDevice, alpaka::DevCpu>;
using AlpakaQueue =
    alpaka::Queue<Acc, std::conditional_t<kOnCpu, alpaka::Blocking, alpaka::NonBlocking>>;
inline constexpr Device kDevice = kOnCpu ? Device::cpu() : Device::cuda(0);
inline constexpr Device kOtherKind = kOnCpu ? Device::cuda(0) : Device::cpu();

template <template <class> class F>
struct Points {
  F<float> x, y, z;
};
template <template <class> class F>
struct Answers {
  F<float> m, n, o;
};

/// alpaka's device and a queue there; skipped where there is no such device.
class AlpakaTest : public testing::Test {
 protected:
  void SetUp() override {
    if (device_count(kDevice.kind) == 0) GTEST_SKIP() << "no CUDA device";
    device_.emplace(accel::alpaka_device<AlpakaDevice>(kDevice));
    queue_.emplace(*device_);
  }

  const AlpakaDevice& device() const { return *device_; }
  AlpakaQueue& queue() { return *queue_; }

  /// A copy on the host, when the queue has got there.
  template <template <template <class> class> class Layout, DeviceLike D>
  PortableCollection<Layout> download(const PortableCollection<Layout, D>& there) {
    PortableCollection<Layout> host(there.capacity(), Device::cpu());
    copy(queue(), there, host);
    alpaka::wait(queue());
    return host;
  }

 private:
  std::optional<AlpakaDevice> device_;
  std::optional<AlpakaQueue> queue_;
};

/// Writes x = i + 1000, y = 2 x, z = -x; slow enough that a reader that does not wait reads something else.
struct SlowFill {
  View<Points> points;

  ALPAKA_FN_HOST_ACC void operator()(std::size_t i) const {
    auto value = static_cast<float>(i);
    for (int step = 0; step < 1000; ++step) value += 1.F;
    points.x[i] = value;
    points.y[i] = 2.F * value;
    points.z[i] = -value;
  }
};

}  // namespace test
}  // namespace tensoa
