// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "copy_truth.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/record_function.h>
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <vector>

#include "tensoa/core/ragged.hpp"
#include "tensoa/core/strided_copy.hpp"

namespace tensoa {
namespace {

/// A tensor that an operator takes or gives.
struct Use {
  const void* storage;
  const std::byte* data;
  std::size_t bytes;
  bool written;
};

/// An operator or a TorchScript function that has begun.
struct Frame {
  bool is_operator;
  std::vector<Use> uses = {};
  std::set<const void*> written = {};  ///< storages that inner operators wrote
};

struct Watch {
  std::span<const MemoryRange> columns;
  std::size_t large;
  Seen seen = {};
  std::vector<Frame> frames = {};

  bool holds(const void* address) const {
    return std::ranges::any_of(columns, [&](const MemoryRange& range) {
      return address >= range.data && address < range.data + range.bytes;
    });
  }
  bool is_in_model() const {
    return std::ranges::any_of(frames, [](const Frame& frame) { return !frame.is_operator; });
  }
  bool is_in_operator() const { return !frames.empty() && frames.back().is_operator; }

  void tell(std::string_view what, std::size_t bytes, bool from, bool to) {
    seen.story += "  " + std::string(is_in_model() ? "model: " : "") + std::string(what) + " " +
                  std::to_string(bytes) + " bytes" + (from ? ", from columns" : "") +
                  (to ? ", to columns" : "") + "\n";
  }
};

constinit thread_local Watch* t_watch = nullptr;

/// The watch does not watch itself.
class LookAway {
 public:
  LookAway() : watch_(t_watch) { t_watch = nullptr; }
  ~LookAway() { t_watch = watch_; }
  LookAway(const LookAway&) = delete;
  LookAway& operator=(const LookAway&) = delete;
  Watch* operator->() const { return watch_; }

 private:
  Watch* watch_;
};

void add_uses(std::vector<Use>& uses, const c10::IValue& value, bool written) {
  const auto add = [&](const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.numel() == 0) return;
    uses.push_back({tensor.storage().data(), static_cast<const std::byte*>(tensor.const_data_ptr()),
                    tensor.nbytes(), written});
  };
  if (value.isTensor()) add(value.toTensor());
  if (value.isTensorList()) std::ranges::for_each(value.toTensorVector(), add);
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  const LookAway watch;
  Frame frame{function.scope() == at::RecordScope::FUNCTION};
  if (const auto schema = function.operator_schema()) {
    // From the interpreter comes all of its stack, with the arguments at the end.
    const std::vector<c10::Argument>& arguments = schema->arguments();
    const auto inputs = std::span(function.inputs()).last(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const c10::AliasInfo* const alias = arguments[i].alias_info();
      add_uses(frame.uses, inputs[i], alias != nullptr && alias->isWrite());
    }
  }
  watch->frames.push_back(std::move(frame));
  return nullptr;
}

void end(const at::RecordFunction& function, at::ObserverContext*) {
  const LookAway watch;
  Frame frame = std::move(watch->frames.back());
  watch->frames.pop_back();
  if (!frame.is_operator) return;

  // The memory that it writes: arguments, and results that are not views of arguments.
  std::vector<Use> results;
  for (const c10::IValue& output : std::span(function.outputs()).last(function.num_outputs()))
    add_uses(results, output, true);
  std::erase_if(results, [&](const Use& result) {
    return std::ranges::any_of(frame.uses,
                               [&](const Use& use) { return use.storage == result.storage; });
  });
  std::ranges::copy_if(frame.uses, std::back_inserter(results), &Use::written);
  // Inner operators have been counted.
  std::erase_if(results, [&](const Use& use) { return frame.written.contains(use.storage); });
  for (const Use& result : results) frame.written.insert(result.storage);
  if (!watch->frames.empty()) watch->frames.back().written.merge(frame.written);

  Seen& seen = watch->seen;
  const auto reads_column = [&](const Use& use) { return !use.written && watch->holds(use.data); };
  const bool from = std::ranges::any_of(frame.uses, reads_column);
  bool in_place = watch->is_in_model();
  for (const Use& result : results) {
    const bool to = watch->holds(result.data);
    watch->tell(function.name(), result.bytes, from, to);
    in_place = in_place || to;
    if (to) {
      seen.to_columns += result.bytes;
    } else if (from && !watch->is_in_model()) {
      seen.from_columns += result.bytes;
    } else if (from && function.name() == std::string_view("aten::copy_")) {
      seen.inside_model += result.bytes;
    }
  }
  for (const Use& use : frame.uses) {
    if (in_place && reads_column(use)) seen.in_place.insert(use.data);
  }
}

void count_allocation(std::size_t bytes) {
  if (t_watch == nullptr) return;
  const LookAway watch;
  if (watch->frames.empty()) ++watch->seen.allocations;
  if (bytes < watch->large) return;
  watch->seen.large_blocks += bytes;
  watch->tell("allocation", bytes, false, false);
}

void count_lock() {
  if (t_watch == nullptr) return;
  const LookAway watch;
  if (watch->frames.empty()) ++watch->seen.locks;
}

void count_copy(const void* to, const void* from, std::size_t bytes) {
  if (t_watch == nullptr || bytes < t_watch->large || t_watch->is_in_operator()) return;
  const LookAway watch;
  const bool is_from = watch->holds(from);
  const bool is_to = watch->holds(to);
  watch->tell("copy", bytes, is_from, is_to);
  if (is_to) {
    watch->seen.to_columns += bytes;
  } else if (is_from) {
    watch->seen.from_columns += bytes;
  }
}

}  // namespace

Seen watch(std::span<const MemoryRange> columns, std::size_t large,
           const std::function<void()>& call) {
  Watch watch{columns, large};
  struct Watching {
    explicit Watching(Watch* by) { t_watch = by; }
    ~Watching() {
      t_watch = nullptr;
      at::removeCallback(handle);
    }
    at::CallbackHandle handle = at::addThreadLocalCallback(
        at::RecordFunctionCallback(&begin, &end)
            .needsInputs(true)
            .needsOutputs(true)
            .scopes({at::RecordScope::FUNCTION, at::RecordScope::TORCHSCRIPT_FUNCTION}));
  };
  {
    const Watching now(&watch);
    call();
  }
  return std::move(watch.seen);
}

}  // namespace tensoa

// ---- what takes the place of the library's own copies: the linker leads calls here (--wrap)

namespace tensoa {

std::size_t real_strided_copy(const Queue&, const TensorView&, const TensorView&) __asm__(
    "__real__ZN6tensoa12strided_copyERKNS_5QueueERKNS_10TensorViewES5_");
std::size_t watched_strided_copy(const Queue&, const TensorView&, const TensorView&) __asm__(
    "__wrap__ZN6tensoa12strided_copyERKNS_5QueueERKNS_10TensorViewES5_");
std::size_t real_strided_copies(const Queue&, std::span<const TensorCopy>) __asm__(
    "__real__ZN6tensoa14strided_copiesERKNS_5QueueESt4spanIKNS_"
    "10TensorCopyELm18446744073709551615EE");
std::size_t watched_strided_copies(const Queue&, std::span<const TensorCopy>) __asm__(
    "__wrap__ZN6tensoa14strided_copiesERKNS_5QueueESt4spanIKNS_"
    "10TensorCopyELm18446744073709551615EE");
std::size_t
real_pad_rows(const Queue&, const TensorView&, const TensorView&, const TensorView&) __asm__(
    "__real__ZN6tensoa8pad_rowsERKNS_5QueueERKNS_"
    "10TensorViewES5_S5_");
std::size_t
watched_pad_rows(const Queue&, const TensorView&, const TensorView&, const TensorView&) __asm__(
    "__wrap__ZN6tensoa8pad_rowsERKNS_5QueueE"
    "RKNS_10TensorViewES5_S5_");

std::size_t watched_strided_copy(const Queue& queue, const TensorView& to, const TensorView& from) {
  count_copy(to.data, from.data, to.bytes());
  const LookAway watch;
  return real_strided_copy(queue, to, from);
}

std::size_t watched_strided_copies(const Queue& queue, std::span<const TensorCopy> copies) {
  for (const auto& [to, from] : copies) count_copy(to.data, from.data, to.bytes());
  const LookAway watch;
  return real_strided_copies(queue, copies);
}

std::size_t watched_pad_rows(const Queue& queue, const TensorView& to, const TensorView& values,
                             const TensorView& offsets) {
  count_copy(to.data, values.data, to.bytes());
  const LookAway watch;
  return real_pad_rows(queue, to, values, offsets);
}

}  // namespace tensoa

// ---- what takes the place of the C library's functions, in this program and in the libraries that
// it loads. The real ones are there under second names; locks are not, and are looked up.

namespace {

template <class Lock>
auto real_lock(const char* name) {
  return reinterpret_cast<int (*)(Lock*)>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* real_memmove(void*, const void*, std::size_t, std::size_t) __asm__("__memmove_chk");

void* malloc(std::size_t bytes) noexcept {
  tensoa::count_allocation(bytes);
  return __libc_malloc(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) noexcept {
  tensoa::count_allocation(count * bytes);
  return __libc_calloc(count, bytes);
}

void* realloc(void* data, std::size_t bytes) noexcept {
  tensoa::count_allocation(bytes);
  return __libc_realloc(data, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  tensoa::count_allocation(bytes);
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void** data, std::size_t alignment, std::size_t bytes) noexcept {
  tensoa::count_allocation(bytes);
  *data = __libc_memalign(alignment, bytes);
  return *data == nullptr ? ENOMEM : 0;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static const auto real = real_lock<pthread_mutex_t>("pthread_mutex_lock");
  tensoa::count_lock();
  return real(mutex);
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  static const auto real = real_lock<pthread_mutex_t>("pthread_mutex_trylock");
  tensoa::count_lock();
  return real(mutex);
}

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  static const auto real = real_lock<pthread_rwlock_t>("pthread_rwlock_rdlock");
  tensoa::count_lock();
  return real(lock);
}

int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  static const auto real = real_lock<pthread_rwlock_t>("pthread_rwlock_wrlock");
  tensoa::count_lock();
  return real(lock);
}

void* memcpy(void* to, const void* from, std::size_t bytes) noexcept {
  tensoa::count_copy(to, from, bytes);
  return real_memmove(to, from, bytes, SIZE_MAX);
}

void* memmove(void* to, const void* from, std::size_t bytes) noexcept {
  tensoa::count_copy(to, from, bytes);
  return real_memmove(to, from, bytes, SIZE_MAX);
}
}
