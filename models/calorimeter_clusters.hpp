// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tensoa/engine/model_metadata.hpp"
#include "tensoa/soa/portable_collection.hpp"

/// @file
/// The columns of the model calorimeter_clusters (calorimeter_clusters.md).

namespace tensoa::models {

/// A cluster: a fragment of a shower, or noise.
template <template <class> class F>
struct Cluster {
  F<float> phi;     // rad; the model does not see it
  F<float> energy;  // GeV
  F<float> eta;
  F<float> depth;     // layers
  F<float> time;      // ns
  F<float> width;     // in (eta, phi)
  F<float> length;    // layers
  F<float> fraction;  // written: the part of the energy that is of the shower, 0 to 1
};

/// Two near clusters, the source has more energy. Differences are target - source.
template <template <class> class F>
struct ClusterPair {
  F<std::int64_t> source, target;  // rows of the clusters
  F<float> d_eta, d_phi;           // d_phi in rad, -pi to pi
  F<float> d_depth;                // layers
  F<float> d_time;                 // ns
  F<float> merge;                  // written: both are of one shower, 0 to 1
};

inline ModelMetadata<Cluster, ClusterPair, ClusterPair, Cluster> calorimeter_clusters(
    ConstView<Cluster> clusters, ConstView<ClusterPair> pairs, View<ClusterPair> merge,
    View<Cluster> fraction) {
  const auto cluster = clusters.records();
  const auto pair = pairs.records();
  SoAMetadata<Cluster, ClusterPair> inputs(clusters.size(), pairs.size());
  inputs.append_block("x", cluster.energy(), cluster.eta(), cluster.depth(), cluster.time(),
                      cluster.width(), cluster.length());
  inputs.append_block(BlockShape::kColumns, "edge_index", pair.source(), pair.target());
  inputs.append_block("edge_attr", pair.d_eta(), pair.d_phi(), pair.d_depth(), pair.d_time());
  SoAMetadata<ClusterPair, Cluster> outputs(merge.size(), fraction.size());
  outputs.append_block("merge", merge.records().merge());
  outputs.append_block("fraction", fraction.records().fraction());
  return {inputs, outputs};
}

}  // namespace tensoa::models
