// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>

#include "tensoa/events/impl/arithmetic.hpp"
#include "tensoa/track/event.hpp"

/// @file
/// The candidate graph as kernels: plain functors over views, one call a row, that CPU and GPU run
/// from this one source, with equal results to the bit (arithmetic.hpp). This file sorts hits into
/// buckets, edge_search.hpp finds the edges, hit_groups.hpp what they connect, track_groups.hpp the tracks.
/// GraphBuilder, TrackFinder and DeviceEvent call them with a launcher (events/impl/serial_launcher.hpp).
///
/// Hits are sorted by phi inside buckets of one layer and a bin of r and
/// z. Pairs of buckets whose bounds no pair of hits can pass are dropped; in the others, only the phi
/// window that the cuts leave is looked at for a source.
///
/// *Lifetime*: functors borrow what they point to. *Threads*: rows write memory of their own, or
/// whole numbers by atomic operations.

namespace tensoa::track {

/// The properties of hits that the search needs, one row for each hit. Columns of the first group are in the order of the
/// hits, the others in that of the buckets, by phi inside a bucket ("places").
template <template <class> class F>
struct HitWork {
  F<double> r, phi;         ///< mm, rad
  F<float> eta;             ///< arsinh(z / r)
  F<std::int32_t> place;    ///< of the hit
  F<std::int64_t> targets;  ///< of the hit: how many
  F<std::int64_t> end;      ///< targets of all hits up to this one

  F<double> x_at, y_at, z_at, r_at, phi_at;  ///< mm, rad
  F<std::int32_t> row_at;                    ///< of the hit at this place
  F<std::int32_t> bucket_at;                 ///< counted from 1
};

/// The key that hits are sorted by.
struct HitKey {
  std::uint64_t bucket;  ///< layer, bin in r, bin in z
  double phi;
  std::int32_t row;

  /// A total order: the same result with every sort.
  struct Less {
    TENSOA_HOST_DEVICE bool operator()(const HitKey& a, const HitKey& b) const {
      if (a.bucket != b.bucket) return a.bucket < b.bucket;
      return a.phi != b.phi ? a.phi < b.phi : a.row < b.row;
    }
  };
};

/// A LayerMap for kernels.
struct LayerTable {
  static constexpr std::int32_t kUnknown = -1;

  const std::int32_t* layers = nullptr;      ///< [size], ascending
  const std::uint8_t* may_follow = nullptr;  ///< [size * size], by source and target
  std::size_t size = 0;                      ///< 0: every pair of layers passes

  /// The place of a layer in the table, or kUnknown.
  TENSOA_HOST_DEVICE std::int32_t number_of(std::int32_t layer) const {
    std::size_t first = 0;
    for (std::size_t n = size; n > 0;) {
      const std::size_t half = n / 2;
      if (layers[first + half] < layer) {
        first += half + 1;
        n -= half + 1;
      } else {
        n = half;
      }
    }
    return first < size && layers[first] == layer ? static_cast<std::int32_t>(first) : kUnknown;
  }

  /// @param source, target numbers, of which kUnknown passes
  TENSOA_HOST_DEVICE bool passes(std::int32_t source, std::int32_t target) const {
    if (source == kUnknown || target == kUnknown) return true;
    return may_follow[static_cast<std::size_t>(source) * size + static_cast<std::size_t>(target)] !=
           0;
  }
};

/// The hits at the places first .. last - 1: one layer, one bin in r, one bin in z.
struct Bucket {
  std::int32_t first, last, layer;
  std::int32_t layer_number;          ///< of the LayerTable
  std::int32_t targets;               ///< buckets that may have targets of its hits (BucketPairs)
  double r_min, r_max, z_min, z_max;  ///< mm, of the hits
};

/// Results of the kernels for an event as a whole.
struct GraphStatus {
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t hits = kNone;       ///< rows from here on are not hits
  std::uint64_t bad_hit = kNone;    ///< the first row with a NaN or infinite coordinate
  std::uint64_t bad_layer = kNone;  ///< the first row on a layer that the LayerTable does not have
  std::int64_t buckets = 0;
  std::int64_t edges = 0;
  std::uint64_t width = 0;  ///< targets of one hit, where there was no room for all of them

  TENSOA_HOST_DEVICE bool has_hit(std::size_t row) const { return row < hits; }

  /// Edges in that many rows: all, or none where they are too many.
  TENSOA_HOST_DEVICE std::size_t edges_in(std::size_t rows) const {
    const auto n = static_cast<std::size_t>(edges);
    return n <= rows && width == 0 ? n : 0;
  }
};

/// Fills the node features and what the search needs of each hit. Rows that are none become the last places.
struct FillNodes {
  View<Hit> hits;  ///< x, y, z, layer are read
  View<HitWork> work;
  HitKey* keys;     ///< [n_hits]
  Bucket* buckets;  ///< [n_hits], emptied
  GraphStatus* status;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    constexpr double kFar = std::numeric_limits<double>::infinity();
    work.targets[row] = 0;
    buckets[row] = {0, 0, 0, 0, 0, kFar, -kFar, kFar, -kFar};
    if (!status->has_hit(row)) {
      work.r[row] = 0;
      hits.r_scaled[row] = hits.phi_scaled[row] = hits.z_scaled[row] = 0;
      keys[row] = {std::numeric_limits<std::uint64_t>::max(), kFar, static_cast<std::int32_t>(row)};
      return;
    }
    // A hit on the beam line has no finite eta; this radius in mm stands in for it.
    constexpr double kSmallestRadius = 1e-3;
    constexpr float kLargest = std::numeric_limits<float>::max();
    const bool is_bad = !(std::abs(hits.x[row]) <= kLargest && std::abs(hits.y[row]) <= kLargest &&
                          std::abs(hits.z[row]) <= kLargest);
    if (is_bad) events::atomic::lower(status->bad_hit, row);
    const double x = is_bad ? 0 : hits.x[row];
    const double y = is_bad ? 0 : hits.y[row];
    const double z = is_bad ? 0 : hits.z[row];
    const double r = std::sqrt(x * x + y * y);
    const double phi = events::angle_of(y, x);
    work.r[row] = r;
    work.phi[row] = phi;
    work.eta[row] = static_cast<float>(events::inverse_sinh(z / std::max(r, kSmallestRadius)));
    hits.r_scaled[row] = static_cast<float>(r / 3000.0);
    hits.phi_scaled[row] = static_cast<float>(phi / std::numbers::pi);
    hits.z_scaled[row] = static_cast<float>(z / 400.0);
    keys[row] = {bucket_of(hits.layer[row], r, z), phi, static_cast<std::int32_t>(row)};
  }

 private:
  TENSOA_HOST_DEVICE static std::uint64_t bin_of(double value, double width, double offset) {
    return static_cast<std::uint64_t>(std::clamp(std::floor(value / width) + offset, 0.0, 65535.0));
  }

  // Bins in mm: small enough to skip most pairs, large enough to keep buckets few.
  TENSOA_HOST_DEVICE static std::uint64_t bucket_of(std::int32_t layer, double r, double z) {
    return std::uint64_t{static_cast<std::uint32_t>(layer)} << 32U | bin_of(r, 50, 0) << 16U |
           bin_of(z, 250, 32768);
  }
};

/// Writes the hits at their places; `bucket_at` becomes 1 where a bucket starts, else 0.
struct PlaceHits {
  View<Hit> hits;
  View<HitWork> work;
  const HitKey* keys;  ///< sorted

  TENSOA_HOST_DEVICE void operator()(std::size_t place) const {
    const auto row = static_cast<std::size_t>(keys[place].row);
    work.place[row] = static_cast<std::int32_t>(place);
    work.x_at[place] = hits.x[row];
    work.y_at[place] = hits.y[row];
    work.z_at[place] = hits.z[row];
    work.r_at[place] = work.r[row];
    work.phi_at[place] = keys[place].phi;
    work.row_at[place] = keys[place].row;
    work.bucket_at[place] = place == 0 || keys[place].bucket != keys[place - 1].bucket ? 1 : 0;
  }
};

/// Fills the buckets by their hits, and their number.
struct FillBuckets {
  View<Hit> hits;
  View<HitWork> work;  ///< `bucket_at` is summed up
  Bucket* buckets;     ///< [n_hits] at most
  LayerTable layers;
  GraphStatus* status;

  TENSOA_HOST_DEVICE void operator()(std::size_t place) const {
    if (!status->has_hit(place)) return;
    const bool is_last = place + 1 == work.size() || !status->has_hit(place + 1);
    const std::int32_t number = work.bucket_at[place];
    if (is_last) status->buckets = number;
    Bucket& bucket = buckets[number - 1];
    if (place == 0 || work.bucket_at[place - 1] != number) {
      bucket.first = static_cast<std::int32_t>(place);
      const auto row = static_cast<std::size_t>(work.row_at[place]);
      bucket.layer = hits.layer[row];
      bucket.layer_number = layers.number_of(bucket.layer);
      const bool is_missing = layers.size > 0 && bucket.layer_number == LayerTable::kUnknown;
      if (is_missing && bucket.layer != 0) events::atomic::lower(status->bad_layer, row);
    }
    if (is_last || work.bucket_at[place + 1] != number) {
      bucket.last = static_cast<std::int32_t>(place + 1);
    }
    events::atomic::lower(bucket.r_min, work.r_at[place]);
    events::atomic::raise(bucket.r_max, work.r_at[place]);
    events::atomic::lower(bucket.z_min, work.z_at[place]);
    events::atomic::raise(bucket.z_max, work.z_at[place]);
  }
};

/// Sorts the hits into buckets.
/// @param hits, work [n_hits]
/// @param keys, sorted, buckets [n_hits]
template <class Launcher>
void find_buckets(const Launcher& launch, View<Hit> hits, View<HitWork> work, HitKey* keys,
                  HitKey* sorted, Bucket* buckets, const LayerTable& layers, GraphStatus* status) {
  const std::size_t n = hits.size();
  launch.rows(n, FillNodes{hits, work, keys, buckets, status});
  launch.sort(keys, n, sorted, HitKey::Less{});
  launch.rows(n, PlaceHits{hits, work, sorted});
  launch.running_sum(work.bucket_at.data(), n, work.bucket_at.data());
  launch.rows(n, FillBuckets{hits, work, buckets, layers, status});
}

}  // namespace tensoa::track
