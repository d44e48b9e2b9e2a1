// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <new>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"

namespace tensoa::c {
namespace {

/// If a message cannot be stored, a fixed text replaces it.
struct LastError {
  std::string text;
  const char* fixed = "";

  const char* what() const noexcept { return fixed != nullptr ? fixed : text.c_str(); }
  void set(const char* prefix, const char* message) noexcept {
    try {
      text.assign(prefix).append(message);
      fixed = nullptr;
    } catch (...) {
      fixed = "the host's memory does not suffice, not even for the message";
    }
  }
};

LastError& last_error() {
  thread_local LastError error;
  return error;
}

/// The most derived first.
tensoa_status status_of(const Error& error) noexcept {
  if (dynamic_cast<const ConfigError*>(&error) != nullptr) return TENSOA_CONFIG_ERROR;
  if (dynamic_cast<const InputError*>(&error) != nullptr) return TENSOA_INPUT_ERROR;
  if (dynamic_cast<const OutputError*>(&error) != nullptr) return TENSOA_OUTPUT_ERROR;
  if (dynamic_cast<const LoadError*>(&error) != nullptr) return TENSOA_LOAD_ERROR;
  if (dynamic_cast<const BindingError*>(&error) != nullptr) return TENSOA_BINDING_ERROR;
  if (dynamic_cast<const DeviceFullError*>(&error) != nullptr) return TENSOA_DEVICE_FULL_ERROR;
  if (dynamic_cast<const DeviceLostError*>(&error) != nullptr) return TENSOA_DEVICE_LOST_ERROR;
  if (dynamic_cast<const DeviceError*>(&error) != nullptr) return TENSOA_DEVICE_ERROR;
  return TENSOA_ENGINE_ERROR;
}

}  // namespace

tensoa_status caught(std::exception_ptr error) noexcept {
  try {
    std::rethrow_exception(std::move(error));
  } catch (const Error& known) {
    last_error().set("", known.what());
    return status_of(known);
  } catch (const std::bad_alloc&) {
    last_error().set("the host's memory does not suffice", "");
    return TENSOA_MEMORY_ERROR;
  } catch (const std::exception& other) {
    last_error().set("a bug, please report it: ", other.what());
    return TENSOA_BUG;
  } catch (...) {
    last_error().set("a bug, please report it", "");
    return TENSOA_BUG;
  }
}

}  // namespace tensoa::c

const char* tensoa_last_error() { return tensoa::c::last_error().what(); }
