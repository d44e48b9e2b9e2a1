// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "bench/gpu_probe.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::bench {
namespace {

[[noreturn]] void fail() { throw DeviceError("this program was built without a GPU runtime"); }

}  // namespace

std::vector<GpuLaunch> gpu_launches_of(const Queue&, const std::function<void()>&) { fail(); }
std::function<void()> in_one_graph(const Queue&, const std::function<void()>&) { fail(); }
EmptyKernels::EmptyKernels(std::vector<GpuLaunch> launches) : launches_(std::move(launches)) {
  fail();
}
std::function<void()> EmptyKernels::call(const Queue&) const { fail(); }
BusyKernel::BusyKernel() { fail(); }
void BusyKernel::enqueue(const Queue&, std::chrono::nanoseconds) const { fail(); }
std::unique_ptr<sched::Waiting> wait_by(HostFunction) { fail(); }
BlockedQueue::BlockedQueue(Queue queue) : queue_(std::move(queue)) { fail(); }
BlockedQueue::~BlockedQueue() = default;

}  // namespace tensoa::bench
