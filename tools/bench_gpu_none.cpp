// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "bench_gpu.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::tools {
namespace {

[[noreturn]] void fail() { throw DeviceError("this program was built without a GPU runtime"); }

}  // namespace

std::size_t gpu_memory_used(Device) { fail(); }
std::size_t gpu_launches_of(const Queue&, const std::function<void()>&) { fail(); }
EmptyKernel::EmptyKernel() { fail(); }
std::function<void()> EmptyKernel::call(const Queue&, std::size_t, bool) const { fail(); }
BlockedQueue::BlockedQueue(Queue queue) : queue_(std::move(queue)) { fail(); }
BlockedQueue::~BlockedQueue() = default;

}  // namespace tensoa::tools
