// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "tensoa/core/queue.hpp"

namespace tensoa::events {

/// Work of a queue, to be given to it again and again with one call of the driver: a CUDA graph.
///
/// *Lifetime*: it uses the memory, the code and the weights that the work used; these must outlive what was
/// enqueued. *Threads*: one at a time.
class RecordedWork {
 public:
  /// Whether this build can record the work of such a device.
  static bool is_supported(Device device) noexcept;

  /// @param work enqueues on `queue`, and neither waits nor takes or frees memory; none of it runs yet
  /// @throws DeviceError where something in it cannot be recorded; what `work` throws
  RecordedWork(const Queue& queue, const std::function<void()>& work);
  ~RecordedWork();
  RecordedWork(RecordedWork&&) noexcept;
  RecordedWork& operator=(RecordedWork&&) noexcept;

  /// Enqueues the work, on the queue where it was recorded or another one of the device. Its next run begins after
  /// this one. @throws DeviceError
  void enqueue(const Queue& queue) const;

 private:
  struct Graph;

  std::unique_ptr<Graph> graph_;
};

}  // namespace tensoa::events
