// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <alpaka/alpaka.hpp>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "tensoa/core/device.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/event.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/soa/foreign_view.hpp"

/// @file
/// alpaka's devices, queues, events and buffers where tensoa accepts its own. Header-only, for alpaka 1.2 and 2.x; define the back-ends
/// (ALPAKA_ACC_…) as for alpaka. With ALPAKA_HOST_ONLY it is plain C++, too.
///
///     using Device = alpaka::Dev<Acc>;
///     using Queue = alpaka::Queue<Acc, alpaka::NonBlocking>;
///     PortableCollection<Hit, Device> hits(n, device);
///     model.to(queue);
///     model.forward(queue, plan);
///
/// | alpaka | tensoa |
/// | --- | --- |
/// | `DevCpu` | `Device::cpu()` |
/// | `DevCudaRt`, `DevHipRt` | `Device::cuda(index)`: torch, too, calls AMD's devices "cuda" |
/// | Blocking queue of the CPU (serial, TBB, …) | a CPU queue: work runs in the calling thread |
/// | NonBlocking queue of the CPU | ConfigError: its work runs in a thread of alpaka's |
/// | queue of a GPU, Blocking or not | Queue::borrow of its stream |
/// | event | `accel::event_of(event)` |
/// | buffer, view of 0, 1 or 2 dimensions | a source for `foreign_view` |
///
/// *Lifetime*: alpaka's queue, event or buffer must outlive what was made of it.
/// *Stream order*: on a GPU tensoa's calls only enqueue, also on a Blocking queue; `alpaka::wait(queue)` before the host reads. On the CPU
/// they are complete at return.
/// *Threads*: a Blocking CPU queue makes alpaka's own tasks of several threads wait for each other, but not tensoa's calls: use it from one
/// thread at a time.

namespace tensoa {
namespace accel::detail {

#ifndef ALPAKA_HOST_ONLY
static_assert(
    std::tuple_size_v<alpaka::EnabledAccTags> > 0,
    "no back-end of alpaka is enabled: define ALPAKA_ACC_CPU_B_SEQ_T_SEQ_ENABLED (serial), "
    "ALPAKA_ACC_GPU_CUDA_ENABLED or another ALPAKA_ACC_..._ENABLED, or link alpaka::alpaka, "
    "whose CMake options do; for the host alone ALPAKA_HOST_ONLY");
#endif

/// That tensoa's devices and alpaka's are the same ones: they are not where tensoa was built without a GPU runtime, where the two use
/// different ones (CUDA and HIP), or where one is newer than the driver.
/// @param device tensoa's for alpaka's device of the same index @param name alpaka's name of its device
/// @throws DeviceError naming both
inline void require_same_device(Device device, std::string_view name) {
  const std::string alpaka =
      "alpaka's device " + std::to_string(device.index) + " (" + std::string(name) + ")";
  const std::string cure =
      "; link alpaka's program and tensoa with the same GPU runtime, and set CUDA_VISIBLE_DEVICES "
      "before the process starts";
  std::string ours;
  try {
    ours = device_name(device);
  } catch (const DeviceError& error) {
    throw DeviceError(alpaka + " is not among tensoa's: " + error.what() + cure);
  }
  if (ours != name) {
    throw DeviceError(alpaka + " and tensoa's " + to_string(device) + " (" + ours + ") differ" +
                      cure);
  }
}

#if defined(ALPAKA_ACC_GPU_CUDA_ENABLED) || defined(ALPAKA_ACC_GPU_HIP_ENABLED)
/// The device of a GPU of alpaka's. Compared once: later calls cost one load.
/// @throws DeviceError
template <class Api>
Device device_of(const ::alpaka::DevUniformCudaHipRt<Api>& device) {
  static std::atomic<std::uint64_t> compared = 0;  // one bit for each index below 64
  const int index = ::alpaka::getNativeHandle(device);
  const std::uint64_t bit = index < 64 ? std::uint64_t{1} << index : 0;
  if ((compared.load(std::memory_order_relaxed) & bit) == 0) {
    require_same_device(Device::cuda(index), ::alpaka::getName(device));
    compared.fetch_or(bit, std::memory_order_relaxed);
  }
  return Device::cuda(index);
}

template <class AlpakaQueue>
Queue borrow_stream(const AlpakaQueue& queue) {
  return Queue::borrow(device_of(::alpaka::getDev(queue)), ::alpaka::getNativeHandle(queue));
}
#endif

/// Buffers and views of alpaka's; not the standard containers, which alpaka calls views as well.
template <class View>
concept AlpakaView = !std::ranges::contiguous_range<View&> && requires(View& view) {
  typename ::alpaka::Dim<View>;
  ::alpaka::getPtrNative(view);
  ::alpaka::getExtents(view);
  ::alpaka::getPitchesInBytes(view);
};

}  // namespace accel::detail

template <>
struct DeviceTraits<::alpaka::DevCpu> {
  static Device get(const ::alpaka::DevCpu&) noexcept { return Device::cpu(); }
};

template <>
struct QueueTraits<::alpaka::QueueCpuBlocking> {
  static Queue get(const ::alpaka::QueueCpuBlocking&) { return Queue(Device::cpu()); }
};

template <>
struct QueueTraits<::alpaka::QueueCpuNonBlocking> {
  /// @throws ConfigError always
  [[noreturn]] static Queue get(const ::alpaka::QueueCpuNonBlocking&) {
    throw ConfigError(
        "got a NonBlocking alpaka queue of the CPU, whose work runs in a thread of alpaka's; a "
        "model "
        "runs in the calling thread and would not keep the order of that queue; expected "
        "alpaka::Queue<…, alpaka::Blocking>");
  }
};

#if defined(ALPAKA_ACC_GPU_CUDA_ENABLED) || defined(ALPAKA_ACC_GPU_HIP_ENABLED)
template <class Api>
struct DeviceTraits<::alpaka::DevUniformCudaHipRt<Api>> {
  /// @throws DeviceError where tensoa sees another device of that index, or none
  static Device get(const ::alpaka::DevUniformCudaHipRt<Api>& device) {
    return accel::detail::device_of(device);
  }
};

template <class Api>
struct QueueTraits<::alpaka::QueueUniformCudaHipRtBlocking<Api>> {
  /// @throws DeviceError
  static Queue get(const ::alpaka::QueueUniformCudaHipRtBlocking<Api>& queue) {
    return accel::detail::borrow_stream(queue);
  }
};

template <class Api>
struct QueueTraits<::alpaka::QueueUniformCudaHipRtNonBlocking<Api>> {
  /// @throws DeviceError
  static Queue get(const ::alpaka::QueueUniformCudaHipRtNonBlocking<Api>& queue) {
    return accel::detail::borrow_stream(queue);
  }
};
#endif

/// Memory that alpaka allocated, as a column:
/// `foreign_view<Hit>(n, alpaka::getDev(x), x, y, z, layer, direction, covariance, field)`.
///
/// | alpaka | column |
/// | --- | --- |
/// | extent {} | Scalar |
/// | extent {n} | plain |
/// | extent {planes, n}, any row pitch | Vector, Matrix (planes column-major) |
///
/// @throws BindingError where a row pitch is not a multiple of the element size, and where the memory is of
/// another device than the view
template <accel::detail::AlpakaView View>
struct ForeignSource<View> {
  static Device device(const View& view) {
    return DeviceTraits<::alpaka::Dev<View>>::get(::alpaka::getDev(view));
  }

  template <class V>
  static auto get(V& view) {
    constexpr std::size_t kDimensions = ::alpaka::Dim<View>::value;
    static_assert(kDimensions <= 2, "foreign_view: an alpaka buffer has more than two dimensions");
    auto* const data = ::alpaka::getPtrNative(view);
    if constexpr (kDimensions == 0) {
      return data;
    } else {
      const auto extents = ::alpaka::getExtents(view);
      if constexpr (kDimensions == 1) {
        return std::span(data, static_cast<std::size_t>(extents[0]));
      } else {
        const auto planes = static_cast<std::size_t>(extents[0]);
        const auto rows = static_cast<std::size_t>(extents[1]);
        const auto bytes = static_cast<std::size_t>(::alpaka::getPitchesInBytes(view)[0]);
        if (bytes % sizeof(*data) != 0) {
          throw BindingError("foreign_view: an alpaka view has rows " + std::to_string(bytes) +
                             " bytes apart, expected a multiple of the element's " +
                             std::to_string(sizeof(*data)) + " bytes");
        }
        const std::size_t pitch = bytes / sizeof(*data);
        return Planes{std::span(data, planes == 0 ? 0 : (planes - 1) * pitch + rows), pitch};
      }
    }
  }
};

namespace accel {

/// alpaka's device for one of tensoa's: `alpaka_device<alpaka::Dev<Acc>>(parse_device("cuda:1"))`.
/// @throws ConfigError where `D` is of another kind; DeviceError where alpaka has no such device, or another
template <DeviceLike D>
D alpaka_device(Device device) {
  if (device.is_cpu() != std::is_same_v<D, ::alpaka::DevCpu>) {
    throw ConfigError("alpaka_device: got " + to_string(device) +
                      ", but this alpaka device is one of " +
                      (device.is_cpu() ? "a GPU" : "the CPU"));
  }
  const ::alpaka::Platform<D> platform;
  const std::size_t count = ::alpaka::getDevCount(platform);
  if (device.index < 0 || static_cast<std::size_t>(device.index) >= count) {
    throw DeviceError("alpaka_device: got " + to_string(device) + ", but alpaka has " +
                      std::to_string(count) + " such devices, tensoa " +
                      std::to_string(device_count(device.kind)));
  }
  const D there = ::alpaka::getDevByIdx(platform, static_cast<std::size_t>(device.index));
  static_cast<void>(DeviceTraits<D>::get(there));
  return there;
}

/// A point in the work of an alpaka queue, for a queue of tensoa's to wait for: `queue.wait_for(accel::event_of(event))`.
/// The other way about, an alpaka queue waits for tensoa's: `QueueTraits<Q>::get(alpaka_queue).wait_for(Event(queue))`.
/// @param event recorded; of a CPU queue: complete
/// @throws ConfigError for an event of the CPU that is not complete (that queue is NonBlocking); DeviceError
template <class AlpakaEvent>
Event event_of(const AlpakaEvent& event) {
  using D = ::alpaka::Dev<AlpakaEvent>;
  if constexpr (std::is_same_v<D, ::alpaka::DevCpu>) {
    if (!::alpaka::isComplete(event)) {
      throw ConfigError(
          "event_of: got an event of the CPU that is not complete, so it is of a NonBlocking "
          "queue; expected one of a Blocking queue, or one that was waited for "
          "(alpaka::wait(event))");
    }
    return Event(Queue(Device::cpu()));
  } else {
    return Event::borrow(DeviceTraits<D>::get(::alpaka::getDev(event)),
                         ::alpaka::getNativeHandle(event));
  }
}

}  // namespace accel
}  // namespace tensoa
