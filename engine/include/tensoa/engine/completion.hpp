// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "tensoa/core/queue.hpp"
#include "tensoa/core/result.hpp"
#include "tensoa/engine/copy_report.hpp"

namespace tensoa {

/// The function that Model::submit calls when a call is done: any that accepts a Result<CopyReport>, also one
/// that can only be moved. Called once at most, and destroyed in the thread that called it.
///
/// It must not throw: the process ends there. Model::submit lists what else it may do.
class Completion {
 public:
  Completion() noexcept = default;  ///< empty: not to be called

  template <class Function>
    requires(!std::same_as<std::remove_cvref_t<Function>, Completion> &&
             std::invocable<std::decay_t<Function>&, Result<CopyReport>>)
  // NOLINTNEXTLINE(google-explicit-constructor,bugprone-forwarding-reference-overload): see `requires`
  Completion(Function&& function)
      : call_(std::make_unique<Of<std::decay_t<Function>>>(std::forward<Function>(function))) {}

  explicit operator bool() const noexcept { return call_ != nullptr; }

  /// Leaves it empty.
  void operator()(Result<CopyReport> result) noexcept {
    const std::unique_ptr<Call> call = std::move(call_);
    call->make(std::move(result));
  }

 private:
  struct Call {
    virtual ~Call() = default;
    virtual void make(Result<CopyReport> result) noexcept = 0;
  };
  template <class Function>
  struct Of final : Call {
    explicit Of(Function made) : function(std::move(made)) {}
    void make(Result<CopyReport> result) noexcept override { function(std::move(result)); }
    Function function;
  };

  std::unique_ptr<Call> call_;
};

/// Calls `completion` once all work of `queue` so far is done, with `report`, or with the DeviceError
/// that it failed with. For engines whose run() has enqueued everything.
void complete_after(const Queue& queue, const CopyReport& report, Completion completion);

/// The failure that stands for an exception of any type: an Error as it is, others as an EngineError.
/// Called in a handler.
Result<CopyReport> current_failure();

}  // namespace tensoa
