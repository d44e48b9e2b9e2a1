// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tensoa::events {

/// A stream of random numbers that is the same on every platform: SplitMix64 (Steele, Lea, Flood,
/// "Fast splittable pseudorandom number generators", OOPSLA 2014) and our distributions,
/// because those of the standard library differ between implementations. Not for cryptography.
class Random {
 public:
  /// Streams of different (seed, stream) are independent, so that any of them can be started
  /// directly.
  constexpr explicit Random(std::uint64_t seed, std::uint64_t stream = 0) noexcept
      : state_(mix(seed + kStep) ^ mix(mix(stream + kStep))) {}

  /// 64 uniform bits.
  constexpr std::uint64_t next() noexcept { return mix(state_ += kStep); }

  /// Uniform in [0, 1), a multiple of 2^-53.
  constexpr double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

  /// Uniform in [low, high).
  constexpr double uniform(double low, double high) noexcept {
    return low + (high - low) * uniform();
  }

  /// True with this probability.
  constexpr bool chance(double probability) noexcept { return uniform() < probability; }

  /// Uniform in 0 .. n - 1, for n much smaller than 2^53.
  constexpr std::int64_t below(std::int64_t n) noexcept {
    return static_cast<std::int64_t>(uniform() * static_cast<double>(n));
  }

  /// Gaussian of mean 0 and this standard deviation (Box-Muller).
  double normal(double sigma) noexcept;

  /// Exponential of this mean.
  double exponential(double mean) noexcept;

  /// Poisson of this mean; takes time in proportion to it.
  std::int64_t poisson(double mean) noexcept;

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;

  static constexpr std::uint64_t mix(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace tensoa::events
