// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tensoa/core/error.hpp"

#ifndef NDEBUG
#include <mutex>
#include <unordered_set>
#endif

// Whether a handle that comes from outside is one of ours. A build with NDEBUG trusts all but NULL.

namespace tensoa::c {

#ifndef NDEBUG

/// Of one type, those that are there.
template <class Handle>
class Handles {
 public:
  static void add(const Handle* handle) {
    const std::lock_guard lock(mutex());
    all().insert(handle);
  }
  static void remove(const Handle* handle) {
    const std::lock_guard lock(mutex());
    all().erase(handle);
  }
  static bool has(const Handle* handle) {
    const std::lock_guard lock(mutex());
    return all().contains(handle);
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::unordered_set<const Handle*>& all() {
    static std::unordered_set<const Handle*> handles;
    return handles;
  }
};

#else

template <class Handle>
class Handles {
 public:
  static void add(const Handle* /*handle*/) noexcept {}
  static void remove(const Handle* /*handle*/) noexcept {}
  static bool has(const Handle* /*handle*/) noexcept { return true; }
};

#endif

/// @param name of the argument, for the message @throws ConfigError
template <class Handle>
Handle& require(Handle* handle, const char* name) {
  if (handle == nullptr) throw ConfigError(std::string(name) + " is NULL, expected a handle");
  if (!Handles<std::remove_const_t<Handle>>::has(handle)) {
    throw ConfigError(std::string(name) + " is no handle of this type, or was freed");
  }
  return *handle;
}

/// @throws ConfigError
template <class T>
T* require_place(T* place, const char* name) {
  if (place == nullptr) throw ConfigError(std::string(name) + " is NULL, expected where to write");
  return place;
}

}  // namespace tensoa::c
