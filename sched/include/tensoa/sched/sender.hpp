// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <version>

#if defined(__cpp_lib_senders)
#include <execution>
#define TENSOA_EXECUTION std::execution
#elif __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#define TENSOA_EXECUTION stdexec
#endif

#ifdef TENSOA_EXECUTION
#include <concepts>
#include <exception>
#include <type_traits>
#include <utility>

#include "tensoa/core/queue.hpp"
#include "tensoa/core/result.hpp"

/// @file
/// Queues and calls as senders (C++26, P2300), for frameworks that schedule with these. Uses std::execution where the
/// standard library has it, else stdexec (https://github.com/NVIDIA/stdexec) where its headers are found; without either
/// the header is empty, and TENSOA_EXECUTION is not defined.
///
///     auto scored = tensoa::sched::call_sender<CopyReport>(
///                       [&](auto completion) { model.submit(queue, plan, std::move(completion)); }) |
///                   stdexec::continues_on(pool) |
///                   stdexec::then([&](CopyReport) { return select(scores); });
///
/// *Threads*: a sender completes in the thread that calls the completion: on a GPU one of the driver's, which must not
/// block nor call the GPU runtime. So put `continues_on(scheduler)` behind it, before anything else.

namespace tensoa::sched {

namespace detail {

template <class... Values>
using Completions =
    TENSOA_EXECUTION::completion_signatures<TENSOA_EXECUTION::set_value_t(Values...),
                                            TENSOA_EXECUTION::set_error_t(std::exception_ptr)>;

/// A function that is called with a receiver's part of a completion, when it is started.
template <class Begin, class Receiver>
struct SenderOperation {
  using operation_state_concept = TENSOA_EXECUTION::operation_state_t;

  SenderOperation(Begin begun, Receiver to) : begin(std::move(begun)), receiver(std::move(to)) {}
  SenderOperation(SenderOperation&&) = delete;
  SenderOperation& operator=(SenderOperation&&) = delete;
  ~SenderOperation() = default;

  void start() & noexcept {
    try {
      begin(receiver);
    } catch (...) {  // what throws calls no completion
      TENSOA_EXECUTION::set_error(std::move(receiver), std::current_exception());
    }
  }

  Begin begin;
  Receiver receiver;
};

template <class Begin, class... Values>
struct Sender {
  using sender_concept = TENSOA_EXECUTION::sender_t;
  using completion_signatures = Completions<Values...>;

  template <class Receiver>
  auto connect(Receiver receiver) const {
    return SenderOperation<Begin, Receiver>(begin, std::move(receiver));
  }

  Begin begin;
};

}  // namespace detail

/// A sender that completes when what was enqueued on `queue` until it was started is done: with no value, or with the
/// DeviceError of the work as std::exception_ptr. On the CPU at once.
inline auto queue_sender(const Queue& queue) {
  const auto begin = [queue](auto& receiver) {
    queue.when_settled([&receiver](std::exception_ptr failure) {
      if (failure) return TENSOA_EXECUTION::set_error(std::move(receiver), std::move(failure));
      TENSOA_EXECUTION::set_value(std::move(receiver));
    });
  };
  return detail::Sender<std::remove_const_t<decltype(begin)>>{begin};
}

/// A sender of the result of a call with a completion, such as Model::submit: completes with its T, or with the error
/// that it ended with.
/// @param start called as `start(completion)` when the sender is started; `completion(Result<T>)` must be called once, by
/// any thread, or never where `start` throws
template <class T, std::copy_constructible Start>
auto call_sender(Start start) {
  const auto begin = [start = std::move(start)](auto& receiver) {
    start([&receiver](Result<T> result) {
      if (result) return TENSOA_EXECUTION::set_value(std::move(receiver), *std::move(result));
      try {
        static_cast<void>(result.value());
      } catch (...) {
        TENSOA_EXECUTION::set_error(std::move(receiver), std::current_exception());
      }
    });
  };
  return detail::Sender<std::remove_const_t<decltype(begin)>, T>{begin};
}

}  // namespace tensoa::sched
#endif
