// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Where 06_queues.cpp runs: on alpaka where RECO_ALPAKA is defined and one of its back-ends is chosen (ALPAKA_ACC_…_ENABLED), else
// without it. Both have Device, Queue, device_of, wait, for_each_row, and RECO_FN for functions of the device.

#include <cstddef>
#include <string>
#include <tensoa/tensoa.hpp>

#ifdef RECO_ALPAKA

#include <tensoa/accel/alpaka.hpp>
#include <tensoa/accel/for_each_row.hpp>
#include <tuple>
#include <type_traits>

#define RECO_FN ALPAKA_FN_HOST_ACC

namespace reco {

// [aliases]
using Acc = alpaka::TagToAcc<std::tuple_element_t<0, alpaka::EnabledAccTags>, alpaka::DimInt<1>,
                             std::size_t>;
using Device = alpaka::Dev<Acc>;
// On the CPU a Blocking queue; on a GPU either.
using Queue = alpaka::Queue<Acc, std::conditional_t<std::is_same_v<Device, alpaka::DevCpu>,
                                                    alpaka::Blocking, alpaka::NonBlocking>>;
// [/aliases]

inline constexpr bool kGpu = !std::is_same_v<Device, alpaka::DevCpu>;

inline Device device_of(tensoa::Device of) { return tensoa::accel::alpaka_device<Device>(of); }

inline void wait(Queue& queue) { alpaka::wait(queue); }

template <class Functor>
void for_each_row(Queue& queue, std::size_t rows, const Functor& functor) {
  tensoa::accel::for_each_row<Acc>(queue, rows, functor);
}

}  // namespace reco

#else

#ifdef __CUDACC__
#define RECO_FN __host__ __device__
#else
#define RECO_FN
#endif

namespace reco {

using Device = tensoa::Device;
using Queue = tensoa::Queue;

inline Device device_of(tensoa::Device device) { return device; }

inline void wait(const Queue& queue) { queue.wait(); }

#ifdef __CUDACC__

inline constexpr bool kGpu = true;

template <class Functor>
__global__ void row_kernel(std::size_t rows, Functor functor) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < rows) functor(i);
}

template <class Functor>
void for_each_row(const Queue& queue, std::size_t rows, const Functor& functor) {
  constexpr unsigned kThreads = 256;
  const tensoa::DeviceGuard guard(queue);  // a kernel is launched on the current device
  const auto blocks = static_cast<unsigned>((rows + kThreads - 1) / kThreads);
  row_kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(queue.native_handle())>>>(rows,
                                                                                        functor);
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess) {
    throw tensoa::DeviceError("launching a kernel on " + to_string(queue.device()) + ": " +
                              cudaGetErrorString(status));
  }
}

#else

inline constexpr bool kGpu = false;

template <class Functor>
void for_each_row(const Queue&, std::size_t rows, const Functor& functor) {
  for (std::size_t i = 0; i < rows; ++i) functor(i);
}

#endif

}  // namespace reco

#endif
