// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "recorded_work.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::events {

struct RecordedWork::Graph {};

bool RecordedWork::is_supported(Device /*device*/) noexcept { return false; }

RecordedWork::RecordedWork(const Queue& queue, const std::function<void()>& /*work*/) {
  throw DeviceError("work of " + to_string(queue.device()) +
                    " cannot be recorded: tensoa was built without CUDA");
}
RecordedWork::~RecordedWork() = default;
RecordedWork::RecordedWork(RecordedWork&&) noexcept = default;
RecordedWork& RecordedWork::operator=(RecordedWork&&) noexcept = default;

void RecordedWork::enqueue(const Queue& /*queue*/) const {}

}  // namespace tensoa::events
