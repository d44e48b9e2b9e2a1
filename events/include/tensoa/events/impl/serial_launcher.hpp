// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>

/// @file
/// Runs the kernels of applications: plain functors over views that CPU and GPU run from one source, with equal
/// results to the bit (arithmetic.hpp). Any launcher (alpaka, oneTBB) can that has:
///
///     launch.rows(n, functor);            // functor(row) for row < n, in any order, in parallel
///     launch.teams(n, functor);           // the same with functor(team, i), by all lanes of a team:
///                                         // team.lane() < team.size(), which wait for each other in
///                                         // team.sync(), team.any(condition) and
///                                         // team.sort(values, n, less), which returns false, with
///                                         // nothing done, where it cannot; OneLane is one
///     launch.warps(n, functor);           // the same with smaller teams that also have what follows
///     launch.sort(in, n, out, less);      // ascending; less is a total order
///     launch.running_sum(in, n, out);     // out[i] = in[0] + … + in[i]; in place where in == out
///
/// each after the one before. All lanes of a warp call together, and all get the result of
///
///     team.sum(n, sums, terms);           // sums[k]: terms(i, to) adds to to[k], for i < n
///     team.most(n, most, terms);          // most[k]: terms(i, to) raises to[k], from what is there
///     team.append(condition, count);      // count grows by the lanes with the condition; the place of this one
///     team.sort_into(in, n, out, less);   // ascending; no two values are equal
///
/// A sum is made of kParts sums, of the terms i, i + kParts, i + 2 kParts …, so that its bits do not depend on
/// the lanes.

namespace tensoa::events {

/// A team of one.
struct OneLane {
  static constexpr std::size_t kParts = 32;

  static constexpr std::size_t lane() { return 0; }
  static constexpr std::size_t size() { return 1; }
  static constexpr void sync() {}
  static constexpr bool any(bool condition) { return condition; }
  template <class T, class Less>
  static bool sort(T* values, std::size_t n, const Less& less) {
    std::sort(values, values + n, less);
    return true;
  }

  template <std::size_t N, class Terms>
  static void sum(std::size_t n, double (&sums)[N], const Terms& terms) {
    double parts[kParts][N];
    std::fill_n(&parts[0][0], std::bit_ceil(std::min(n, kParts)) * N, 0.0);
    for (std::size_t i = 0; i < n; ++i) terms(i, parts[i % kParts]);
    // As the lanes of a warp do. What has no terms is 0, and adding it changes nothing.
    for (std::size_t half = std::bit_ceil(std::min(n, kParts)) / 2; half > 0; half /= 2) {
      for (std::size_t part = 0; part < half; ++part) {
        for (std::size_t k = 0; k < N; ++k) parts[part][k] += parts[part + half][k];
      }
    }
    std::copy_n(parts[0], N, sums);
  }

  template <class T, std::size_t N, class Terms>
  static void most(std::size_t n, T (&most)[N], const Terms& terms) {
    for (std::size_t i = 0; i < n; ++i) terms(i, most);
  }

  static std::size_t append(bool condition, std::size_t& count) {
    return condition ? count++ : count;
  }

  template <class T, class Less>
  static void sort_into(const T* in, std::size_t n, T* out, const Less& less) {
    std::copy(in, in + n, out);
    std::sort(out, out + n, less);
  }
};

/// Runs kernels in the calling thread, row by row.
struct SerialLauncher {
  template <class Functor>
  void rows(std::size_t n, const Functor& functor) const {
    for (std::size_t row = 0; row < n; ++row) functor(row);
  }

  template <class Functor>
  void teams(std::size_t n, const Functor& functor) const {
    for (std::size_t i = 0; i < n; ++i) functor(OneLane(), i);
  }

  template <class Functor>
  void warps(std::size_t n, const Functor& functor) const {
    teams(n, functor);
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
