// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tensoa {

/// Counts times in buckets of 1/32 of their size, from 1 ns to half an hour (3 % of error, 11 KB):
/// the log-linear histogram of HdrHistogram. Adding is a few instructions and allocates nothing.
/// *Threads*: one at a time; histograms add up.
class LatencyHistogram {
 public:
  void add(std::chrono::nanoseconds time) noexcept {
    ++counts_[bucket_of(static_cast<std::uint64_t>(time.count() > 0 ? time.count() : 0))];
    ++count_;
  }

  LatencyHistogram& operator+=(const LatencyHistogram& other) noexcept {
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
      counts_[bucket] += other.counts_[bucket];
    count_ += other.count_;
    return *this;
  }

  std::uint64_t count() const noexcept { return count_; }

  /// The time that a share of all stays within: percentile(0.999) is p99.9. 0 where there are none.
  /// @param share 0 to 1
  std::chrono::nanoseconds percentile(double share) const noexcept {
    const auto wanted =
        static_cast<std::uint64_t>(std::llround(share * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
      seen += counts_[bucket];
      if (seen > 0 && seen >= wanted) return std::chrono::nanoseconds(upper_of(bucket));
    }
    return std::chrono::nanoseconds(0);
  }

 private:
  static constexpr unsigned kBits = 5;  ///< a power of two has 2^5 buckets
  static constexpr std::uint64_t kParts = std::uint64_t{1} << kBits;
  static constexpr unsigned kPowers = 36;
  static constexpr std::size_t kBuckets = (kPowers + 1) * kParts;

  static std::size_t bucket_of(std::uint64_t time) noexcept {
    if (time < kParts) return static_cast<std::size_t>(time);
    const auto power = static_cast<unsigned>(std::bit_width(time)) - kBits - 1;
    if (power >= kPowers) return kBuckets - 1;
    return (power + 1) * kParts + static_cast<std::size_t>((time >> power) - kParts);
  }

  /// The largest time of a bucket.
  static std::int64_t upper_of(std::size_t bucket) noexcept {
    if (bucket < kParts) return static_cast<std::int64_t>(bucket);
    const std::size_t power = bucket / kParts - 1;
    return static_cast<std::int64_t>(((kParts + bucket % kParts + 1) << power) - 1);
  }

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t count_ = 0;
};

}  // namespace tensoa
