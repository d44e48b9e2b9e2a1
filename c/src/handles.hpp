// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>

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
  /// @return whether it was there
  static bool remove(const Handle* handle) {
    const std::lock_guard lock(mutex());
    return all().erase(handle) > 0;
  }
  static bool has(const Handle* handle) {
    const std::lock_guard lock(mutex());
    return all().contains(handle);
  }

 private:
  // Never destroyed: other objects may free handles at the end of the process.
  static std::mutex& mutex() {
    static auto& one = *new std::mutex;
    return one;
  }
  static std::unordered_set<const Handle*>& all() {
    static auto& handles = *new std::unordered_set<const Handle*>;
    return handles;
  }
};

#else

template <class Handle>
class Handles {
 public:
  static void add(const Handle* /*handle*/) noexcept {}
  static bool remove(const Handle* /*handle*/) noexcept { return true; }
  static bool has(const Handle* /*handle*/) noexcept { return true; }
};

#endif

[[noreturn]] inline void refuse(const char* name) {
  throw ConfigError(std::string(name) + " is not a handle of this type, or was freed");
}

/// @param name of the argument, for the message @throws ConfigError
template <class Handle>
Handle& require(Handle* handle, const char* name) {
  if (handle == nullptr) throw ConfigError(std::string(name) + " is NULL, expected a handle");
  if (!Handles<std::remove_const_t<Handle>>::has(handle)) refuse(name);
  return *handle;
}

/// Frees a handle, once. @throws ConfigError
template <class Handle>
void free_once(Handle* handle, const char* name) {
  if (!Handles<Handle>::remove(handle)) refuse(name);
  delete handle;
}

/// @throws ConfigError
template <class T>
T* require_place(T* place, const char* name) {
  if (place == nullptr) throw ConfigError(std::string(name) + " is NULL, expected where to write");
  return place;
}

}  // namespace tensoa::c
