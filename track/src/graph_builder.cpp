// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/graph_builder.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "capacity.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/track/serial_launcher.hpp"

namespace tensoa::track {
namespace {

void require_cut(const char* name, double value) {
  if (!std::isfinite(value) || value < 0) {
    throw ConfigError("graph cut " + std::string(name) + ": got " + std::to_string(value) +
                      ", expected a finite number that is not negative");
  }
}

}  // namespace

void require_cuts(const GraphCuts& cuts) {
  require_cut("min_dr", cuts.min_dr);
  require_cut("max_dphi", cuts.max_dphi);
  require_cut("max_dphi_per_dr", cuts.max_dphi_per_dr);
  require_cut("max_distance", cuts.max_distance);
  require_cut("max_z0", cuts.max_z0);
}

GraphBuilder::GraphBuilder(const GraphCuts& cuts) : cuts_(cuts) { require_cuts(cuts); }

PortableCollection<Edge>& GraphBuilder::build(View<Hit> hits) {
  detail::require_countable(hits.size());
  detail::make_room(work_, hits.size());
  keys_.resize(hits.size());
  buckets_.resize(hits.size());
  GraphStatus status;
  find_buckets(SerialLauncher{}, hits, work_.view(), keys_.data(), buckets_.data(), &status);
  detail::require_finite(status);

  const TargetSearch search{cuts_, work_.view(), buckets_.data()};
  pair_buckets(search, static_cast<std::size_t>(status.buckets));
  find_targets(search);
  fill_edge_columns(hits);
  return edges_;
}

void GraphBuilder::pair_buckets(const TargetSearch& search, std::size_t n_buckets) {
  pairs_.clear();
  pairs_begin_.clear();
  pairs_begin_.push_back(0);
  for (std::size_t source = 0; source < n_buckets; ++source) {
    for (std::size_t target = 0; target < n_buckets; ++target) {
      if (search.may_have_edges(buckets_[source], buckets_[target])) {
        pairs_.push_back(static_cast<std::int32_t>(target));
      }
    }
    pairs_begin_.push_back(pairs_.size());
  }
}

void GraphBuilder::find_targets(const TargetSearch& search) {
  targets_.clear();
  begin_.clear();
  begin_.push_back(0);
  const auto found = [this](std::int32_t row) { targets_.push_back(row); };
  for (std::size_t row = 0; row < search.work.size(); ++row) {
    const auto place = static_cast<std::size_t>(search.work.place[row]);
    const auto bucket = static_cast<std::size_t>(search.work.bucket_at[place] - 1);
    for (std::size_t k = pairs_begin_[bucket]; k < pairs_begin_[bucket + 1]; ++k) {
      search.scan(place, buckets_[static_cast<std::size_t>(pairs_[k])], found);
    }
    std::sort(targets_.begin() + static_cast<std::ptrdiff_t>(begin_.back()), targets_.end());
    begin_.push_back(targets_.size());
  }
}

void GraphBuilder::fill_edge_columns(View<Hit> hits) {
  detail::make_room(edges_, targets_.size());
  const EdgeColumns columns{hits, work_.view(), edges_.view()};
  for (std::size_t s = 0; s < hits.size(); ++s) {
    for (std::size_t e = begin_[s]; e < begin_[s + 1]; ++e) {
      columns.fill(e, s, static_cast<std::size_t>(targets_[e]));
    }
  }
}

}  // namespace tensoa::track
