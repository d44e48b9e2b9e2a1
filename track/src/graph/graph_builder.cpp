// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/graph_builder.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/checks.hpp"
#include "grow.hpp"
#include "tensoa/events/impl/serial_launcher.hpp"
#include "tensoa/track/impl/edge_search.hpp"
#include "tensoa/track/impl/hit_buckets.hpp"
#include "tensoa/track/impl/layer_memory.hpp"

namespace tensoa::track {
struct GraphBuilder::Workspace {
  GraphRules rules;
  LayerMemory layers{{}, Queue(Device::cpu())};
  PortableCollection<HitWork> hits{0, Device::cpu()};
  std::vector<HitKey> keys, sorted;
  std::vector<Bucket> buckets;
  std::vector<std::size_t> pairs_begin;  // [n_buckets + 1], into pairs
  std::vector<std::int32_t> pairs;       // target buckets, grouped by source bucket
  std::vector<std::size_t> begin;        // [n_hits + 1], by row: into targets
  std::vector<std::int32_t> targets;     // rows, grouped by source row

  void pair_buckets(const TargetSearch& search, std::size_t n_buckets) {
    pairs.clear();
    pairs_begin.clear();
    pairs_begin.push_back(0);
    for (std::size_t source = 0; source < n_buckets; ++source) {
      for (std::size_t target = 0; target < n_buckets; ++target) {
        if (search.may_have_edges(buckets[source], buckets[target])) {
          pairs.push_back(static_cast<std::int32_t>(target));
        }
      }
      pairs_begin.push_back(pairs.size());
    }
  }

  void find_targets(const TargetSearch& search) {
    targets.clear();
    begin.clear();
    begin.push_back(0);
    const auto found = [this](std::int32_t row) { targets.push_back(row); };
    for (std::size_t row = 0; row < search.work.size(); ++row) {
      const auto place = static_cast<std::size_t>(search.work.place[row]);
      const auto bucket = static_cast<std::size_t>(search.work.bucket_at[place] - 1);
      for (std::size_t k = pairs_begin[bucket]; k < pairs_begin[bucket + 1]; ++k) {
        search.scan(place, buckets[static_cast<std::size_t>(pairs[k])], found);
      }
      std::sort(targets.begin() + static_cast<std::ptrdiff_t>(begin.back()), targets.end());
      begin.push_back(targets.size());
    }
  }

  void fill_edges_of(View<Hit> of, View<Edge> edges) {
    const EdgeColumns columns{of, hits.view(), edges};
    for (std::size_t s = 0; s < of.size(); ++s) {
      for (std::size_t e = begin[s]; e < begin[s + 1]; ++e) {
        columns.fill(e, s, static_cast<std::size_t>(targets[e]));
      }
    }
  }
};

GraphBuilder::GraphBuilder(const GraphRules& rules) : work_(std::make_unique<Workspace>()) {
  require_rules(rules);
  work_->rules = rules;
  work_->layers = LayerMemory(rules, Queue(Device::cpu()));
}
GraphBuilder::~GraphBuilder() = default;
GraphBuilder::GraphBuilder(GraphBuilder&&) noexcept = default;
GraphBuilder& GraphBuilder::operator=(GraphBuilder&&) noexcept = default;

PortableCollection<Edge>& GraphBuilder::build(View<Hit> hits) {
  detail::require_countable(hits.size());
  Workspace& work = *work_;
  events::make_room(work.hits, hits.size());
  work.keys.resize(hits.size());
  work.sorted.resize(hits.size());
  work.buckets.resize(hits.size());
  GraphStatus status;
  find_buckets(events::SerialLauncher{}, hits, work.hits.view(), work.keys.data(),
               work.sorted.data(), work.buckets.data(), work.layers.table(), &status);
  detail::require_usable(status, hits.layer.data());

  const TargetSearch search =
      search_by(work.rules, work.layers.table(), work.hits.view(), work.buckets.data());
  work.pair_buckets(search, static_cast<std::size_t>(status.buckets));
  work.find_targets(search);
  events::make_room(edges_, work.targets.size());
  work.fill_edges_of(hits, edges_.view());
  return edges_;
}

}  // namespace tensoa::track
