// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace tensoa::track {

/// Runs kernels in the calling thread, row by row; see hit_buckets.hpp.
struct SerialLauncher {
  template <class Functor>
  void rows(std::size_t n, const Functor& functor) const {
    for (std::size_t row = 0; row < n; ++row) functor(row);
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

}  // namespace tensoa::track
