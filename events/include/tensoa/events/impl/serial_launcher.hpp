// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tensoa::events {

/// A team of one.
struct OneLane {
  static constexpr std::size_t lane() { return 0; }
  static constexpr std::size_t size() { return 1; }
  static constexpr void sync() {}
  static constexpr bool any(bool condition) { return condition; }
  template <class T, class Less>
  static bool sort(T* values, std::size_t n, const Less& less) {
    std::sort(values, values + n, less);
    return true;
  }
};

/// Runs kernels in the calling thread, row by row; see track/impl/hit_buckets.hpp.
struct SerialLauncher {
  template <class Functor>
  void rows(std::size_t n, const Functor& functor) const {
    for (std::size_t row = 0; row < n; ++row) functor(row);
  }

  template <class Functor>
  void teams(std::size_t n, const Functor& functor) const {
    for (std::size_t i = 0; i < n; ++i) functor(OneLane(), i);
  }

  template <class T, class Less>
  void sort(const T* in, std::size_t n, T* out, Less less) const {
    std::copy(in, in + n, out);
    std::sort(out, out + n, less);
  }

  template <class T>
  void running_sum(const T* in, std::size_t n, T* out) const {
    std::inclusive_scan(in, in + n, out);
  }
};

}  // namespace tensoa::events
