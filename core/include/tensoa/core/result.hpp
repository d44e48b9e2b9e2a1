// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "tensoa/core/error.hpp"

namespace tensoa {

/// Either a value or the error that prevented it, for failures that are expected at run
/// time.
///
/// Test and branch (`if (result) use(*result); else log(result.message());`) or call `value()`,
/// which throws the stored error with its own type.
template <class T>
class [[nodiscard]] Result {
 public:
  /// A success.
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)

  /// A failure; `error` is one of the types of error.hpp.
  template <class E>
    requires std::is_base_of_v<Error, E>
  static Result failure(const E& error) {
    return Result(Failure{std::make_exception_ptr(error), error.what()});
  }

  /// A failure that is an exception of any type derived from std::exception.
  static Result failure(std::exception_ptr error) {
    std::string message;
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& thrown) {
      message = thrown.what();
    }
    return Result(Failure{std::move(error), std::move(message)});
  }

  /// Runs `function()` and turns an `Error` that it throws into a failure. Other exceptions pass.
  template <class Function>
  static Result of(Function&& function) {
    try {
      return Result(std::forward<Function>(function)());
    } catch (const Error& error) {
      return Result(Failure{std::current_exception(), error.what()});
    }
  }

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  /// The value. @throws the stored error where the result is an error.
  T& value() & { return checked(*this); }
  const T& value() const& { return checked(*this); }
  T&& value() && { return std::move(checked(*this)); }

  /// The value, unchecked: only after `has_value()`.
  T& operator*() noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const noexcept { return *std::get_if<0>(&state_); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  /// The message of the error, "" for a success.
  const char* message() const noexcept {
    const Failure* failure = std::get_if<1>(&state_);
    return failure != nullptr ? failure->message.c_str() : "";
  }

 private:
  struct Failure {
    std::exception_ptr error;
    std::string message;
  };

  explicit Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}

  template <class Self>
  static auto& checked(Self& self) {
    if (!self.has_value()) std::rethrow_exception(std::get_if<1>(&self.state_)->error);
    return *std::get_if<0>(&self.state_);
  }

  std::variant<T, Failure> state_;
};

}  // namespace tensoa
