// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "loaded_model.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "service.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/package/columns_in_words.hpp"
#include "tensoa/package/described_columns.hpp"

namespace tensoa::python {

FileStamp stamp_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    const std::string why = std::generic_category().message(errno);
    throw LoadError("model " + path + ": " +
                    (errno == ENOENT ? "there is no such file" : "cannot be read: " + why));
  }
  constexpr std::int64_t kSecond = 1'000'000'000;
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec};
}

ThreadCall::~ThreadCall() {
  if (in_use.empty()) return;
  try {
    in_use.back().first.wait();
  } catch (const DeviceError&) {
    // A device that failed uses nothing any more.
  }
}

void ThreadCall::let_go() {
  while (!in_use.empty() && in_use.front().first.is_reached()) in_use.pop_front();
}

/// Of each thread that has called a model.
struct LoadedModel::Calls {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, std::unique_ptr<ThreadCalls>> of_threads;
};

namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> next{1};
  return next++;
}

FileStamp stamp_if_any(const std::string& file) {
  return file.empty() ? FileStamp{} : stamp_of(file);
}

package::ModelDescription described(const ModelSource& source) {
  package::ModelDescription description = source.file.empty()
                                              ? package::inspect(source.path, source.options)
                                              : package::inspect(source.file);
  const auto refuse = [&](const std::string& what) {
    throw ConfigError("model " + source.path + ": " + what);
  };
  const bool is_said = description.binding.has_value();
  if (is_said && !source.outputs.empty()) {
    refuse("states its columns; expected no outputs, and of columns the names in your data");
  }
  if (!is_said && source.outputs.empty()) {
    refuse("does not state which columns it reads; expected them in words: " +
           package::words_for(description));
  }
  if (!is_said) {
    package::use_binding(description, package::columns_in_words(source.inputs, source.outputs));
  }
  const auto has_block = [](const package::ArgumentDescription& argument) {
    return argument.block.has_value();
  };
  if (!std::ranges::all_of(description.inputs, has_block) ||
      !std::ranges::all_of(description.outputs, has_block)) {
    refuse("has arguments that are not columns");
  }
  return description;
}

/// Servers that say which file they have are held to it: they may get another one before they are asked again.
ModelOptions options_of(const ModelSource& source, const package::ModelDescription& description) {
  if (!source.is_url() || description.checksum.empty()) return source.options;
  return with_checksum(source.options, description.checksum);
}

RowDependence rows_of(const AnyModel& model, const package::ModelDescription& description,
                      const PlanesOfModel& planes, Device device) {
  if (description.row_dependence.answer != RowDependence::Answer::kUnknown || !device.is_cpu()) {
    return description.row_dependence;
  }
  std::vector<std::byte> memory;
  return model.row_dependence(PlaneCall::example(planes, memory));
}

}  // namespace

LoadedModel::LoadedModel(ModelSource source, Device device)
    : source_(std::move(source)),
      stamp_(stamp_if_any(source_.file)),
      device_(device),
      description_(described(source_)),
      model_(source_.path, CompilationType::kAny, options_of(source_, description_)),
      planes_(planes_of(description_, source_.is_url())),
      number_(next_number()),
      calls_(std::make_shared<Calls>()) {
  model_.deploy(device_);
  rows_ = rows_of(model_, description_, planes_, device_);
}

LoadedModel::~LoadedModel() = default;

ThreadCalls& LoadedModel::of_this_thread() const {
  // Frees at the end of the thread what it has in models that are still there.
  struct Mine {
    std::uint64_t thread = next_number();
    std::uint64_t model = 0;  ///< of `last`
    ThreadCalls* last = nullptr;
    std::vector<std::weak_ptr<Calls>> all;

    Mine() = default;
    Mine(const Mine&) = delete;
    Mine& operator=(const Mine&) = delete;
    ~Mine() {
      for (const std::weak_ptr<Calls>& one : all) {
        const std::shared_ptr<Calls> calls = one.lock();
        if (calls == nullptr) continue;
        // Freed without the lock: letting arrays go takes the interpreter, whose owner may want the lock.
        std::unique_lock lock(calls->mutex);
        const auto ended = calls->of_threads.extract(thread);
        lock.unlock();
      }
    }
  };
  thread_local Mine mine;
  if (mine.model == number_) return *mine.last;
  const std::lock_guard lock(calls_->mutex);
  std::unique_ptr<ThreadCalls>& calls = calls_->of_threads[mine.thread];
  if (calls == nullptr) {
    std::erase_if(mine.all, [](const std::weak_ptr<Calls>& one) { return one.expired(); });
    mine.all.emplace_back(calls_);
    calls = std::make_unique<ThreadCalls>();
  }
  mine.model = number_;
  mine.last = calls.get();
  return *calls;
}

ThreadCall& LoadedModel::call_on(const Queue& queue, ThreadCalls& calls,
                                 std::unique_ptr<ThreadCall>& dropped) const {
  const auto is_here = [&](const std::unique_ptr<ThreadCall>& one) {
    return one->call.queue().native_handle() == queue.native_handle();
  };
  auto& all = calls.on_queues;
  const auto found = std::ranges::find_if(all, is_here);
  if (found != all.end()) return **found;
  constexpr std::size_t kMost = 128;  // torch has 64 streams on each device
  const auto oldest = std::ranges::find_if_not(all, [](const auto& one) { return one->is_busy; });
  if (all.size() >= kMost && oldest != all.end()) {
    dropped = std::move(*oldest);
    all.erase(oldest);
  }
  return *all.emplace_back(another_call(queue));
}

namespace {

using Loaded = std::shared_ptr<const LoadedModel>;
using Key = std::tuple<std::vector<std::string>, int, int, FileStamp>;

/// All models of the process.
struct Models {
  std::mutex mutex;
  std::map<Key, std::weak_ptr<const LoadedModel>> there;
  std::map<Key, std::shared_future<Loaded>> loading;
  std::deque<Loaded> kept;  ///< the last used first
};

Models& models() {
  static auto* const all =
      new Models;  // never destroyed: threads may use it until the process ends
  return *all;
}

}  // namespace

std::shared_ptr<const LoadedModel> load_model(const ModelSource& source, Device device) {
  std::vector<std::string> same{source.is_url() ? source.same_as : source.path};
  if (same.front().empty()) return std::make_shared<const LoadedModel>(source, device);
  same.insert(same.end(), source.inputs.begin(), source.inputs.end());
  same.emplace_back();  // between them
  same.insert(same.end(), source.outputs.begin(), source.outputs.end());
  const Key key{std::move(same), static_cast<int>(device.kind), device.index,
                stamp_if_any(source.file)};
  Models& all = models();
  std::promise<Loaded> mine;
  std::shared_future<Loaded> other;
  {
    const std::lock_guard lock(all.mutex);
    std::erase_if(all.there, [](const auto& entry) { return entry.second.expired(); });
    if (const auto found = all.there.find(key); found != all.there.end()) {
      if (Loaded model = found->second.lock()) return model;
    }
    const auto [place, is_first] = all.loading.try_emplace(key);
    if (is_first) place->second = mine.get_future().share();
    if (!is_first) other = place->second;
  }
  if (other.valid()) return other.get();
  const auto done = [&](const Loaded& model) {
    const std::lock_guard lock(all.mutex);
    all.loading.erase(key);
    if (model != nullptr) all.there[key] = model;
  };
  try {
    Loaded model = std::make_shared<const LoadedModel>(source, device);
    done(model);
    mine.set_value(model);
    return model;
  } catch (const std::exception&) {
    done(nullptr);
    mine.set_exception(std::current_exception());
    throw;
  }
}

std::shared_ptr<const LoadedModel> load_model_to_keep(const ModelSource& source, Device device) {
  constexpr std::size_t kMost = 8;
  Loaded model = load_model(source, device);
  std::vector<Loaded> dropped;  // freed without the lock
  Models& all = models();
  const std::lock_guard lock(all.mutex);
  std::erase(all.kept, model);
  all.kept.push_front(model);
  while (all.kept.size() > kMost) {
    dropped.push_back(std::move(all.kept.back()));
    all.kept.pop_back();
  }
  return model;
}

}  // namespace tensoa::python
