// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensoa/core/event.hpp"
#include "tensoa/engine/copy_report.hpp"
#include "tensoa/engine/location.hpp"
#include "tensoa/engine/model_options.hpp"
#include "tensoa/engine/row_dependence.hpp"
#include "tensoa/package/plane_call.hpp"

// A model file on a device, loaded once in a process, with what its calls need in each thread. No Python here.

namespace tensoa::python {

using package::BlockOfPlanes;
using package::FailedGroup;
using package::Groups;
using package::Plane;
using package::PlaneCall;
using package::PlanesOfModel;

/// Whether a file is the one that it was: it was neither written nor replaced.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t written = 0;  ///< ns

  auto operator<=>(const FileStamp&) const = default;
};

/// @throws LoadError where there is no such file
FileStamp stamp_of(const std::string& path);

/// A model, and how it is loaded.
struct ModelSource {
  std::string path;                       ///< absolute, or the URL of a model of servers
  ModelOptions options = {};              ///< of a URL: how its servers are reached
  std::vector<std::string> inputs = {};   ///< columns in words, of a file that does not state them
  std::vector<std::string> outputs = {};  ///< likewise
  /// The digest of the model: that of `path`, or of a URL its fallback; empty: its servers say it.
  std::string file = {};
  /// Of a URL: what two have in common that are the same model, reached in the same way; empty where its servers may
  /// have another one by then.
  std::string same_as = {};

  bool is_url() const { return ModelLocation(path).is_url(); }
};

/// Buffers that calls of one model by one thread on one queue use again.
struct ThreadCall {
  ThreadCall(const AnyModel& model, const PlanesOfModel& planes, Queue queue)
      : call(model, planes, std::move(queue)) {}
  ThreadCall(const ThreadCall&) = delete;
  ThreadCall& operator=(const ThreadCall&) = delete;
  ~ThreadCall();

  /// Lets go what the device is done with.
  void let_go();

  PlaneCall call;
  std::vector<void*> held;  ///< objects of Python that the call in progress uses
  bool is_busy = false;     ///< an array of the call in progress calls the model itself
  /// Of calls that the device may still be at: what keeps their memory.
  std::deque<std::pair<Event, std::shared_ptr<void>>> in_use;
};

/// The same on all queues.
struct ThreadCalls {
  std::deque<std::unique_ptr<ThreadCall>> on_queues;  ///< the oldest first
  std::optional<CopyReport> last_copies;
};

class LoadedModel {
 public:
  /// @throws LoadError, DeviceError; ConfigError where the file does not state which columns it reads
  LoadedModel(ModelSource source, Device device);
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;
  ~LoadedModel();

  const ModelSource& source() const noexcept { return source_; }
  const FileStamp& stamp() const noexcept { return stamp_; }
  Device device() const noexcept { return device_; }
  const package::ModelDescription& description() const noexcept { return description_; }
  const PlanesOfModel& planes() const noexcept { return planes_; }
  const RowDependence& row_dependence() const noexcept { return rows_; }

  /// Those of the calling thread; they go with the model or with the thread.
  ThreadCalls& of_this_thread() const;

  /// That of `calls` on a queue.
  /// @param dropped a call of a queue that was not used for long, for the caller to free
  ThreadCall& call_on(const Queue& queue, ThreadCalls& calls,
                      std::unique_ptr<ThreadCall>& dropped) const;

  /// For a call within a call.
  std::unique_ptr<ThreadCall> another_call(const Queue& queue) const {
    return std::make_unique<ThreadCall>(model_, planes_, queue);
  }

 private:
  struct Calls;

  ModelSource source_;
  FileStamp stamp_;  ///< of ModelSource::file
  Device device_;
  package::ModelDescription description_;
  AnyModel model_;
  PlanesOfModel planes_;
  RowDependence rows_;
  std::uint64_t number_;  ///< no other model of the process ever has it
  std::shared_ptr<Calls> calls_;
};

/// A model on a device: one that is there, where it is the same, else it is loaded. Threads that request one at the same
/// time wait for one load.
/// @throws as LoadedModel
std::shared_ptr<const LoadedModel> load_model(const ModelSource& source, Device device);

/// The same, and keeps the last few of them: each task of a cluster's worker unpickles its model and lets it go.
std::shared_ptr<const LoadedModel> load_model_to_keep(const ModelSource& source, Device device);

}  // namespace tensoa::python
