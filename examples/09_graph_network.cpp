// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Hits and edges of two files into the graph network of 09_graph_network.py, its scores into tracks. `tensoa track` does this for a
// whole detector.
//
//     cmake --build build --target example_09_graph_network && cd build/examples && ./09_graph_network
//
// Prints:
//
//     60 hits, 126 edges, 0 bytes in, 0 bytes out
//     kept 50 edges: 10 tracks of 6 to 6 hits

#include <algorithm>
#include <iostream>
#include <numeric>
#include <tensoa/columnar/collection.hpp>
#include <tensoa/tensoa.hpp>
#include <vector>

using namespace tensoa;

template <template <class> class F>
struct Hit {
  F<float> r, phi, cot_theta;
};

template <template <class> class F>
struct Edge {
  F<std::int64_t> source, target;  // rows of the hits
};

template <template <class> class F>
struct Score {
  F<float> score;
};

/// The number of hits of each track: what edges with a score above 0 connect.
std::vector<int> tracks_of(std::size_t hits, const View<Edge>& edges, const View<Score>& scores) {
  std::vector<std::size_t> parent(hits);
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](std::size_t hit) {
    while (parent[hit] != hit) hit = parent[hit] = parent[parent[hit]];
    return hit;
  };
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (scores.score[i] <= 0) continue;
    const auto source = static_cast<std::size_t>(edges.source[i]);
    parent[root(source)] = root(static_cast<std::size_t>(edges.target[i]));
  }
  std::vector<int> lengths(hits);
  for (std::size_t hit = 0; hit < hits; ++hit) ++lengths[root(hit)];
  std::erase(lengths, 0);
  return lengths;
}

int main() try {
  // [call]
  auto hits = columnar::read_collection<Hit>("hits.csv");
  auto edges = columnar::read_collection<Edge>("edges.csv");
  PortableCollection<Score> scores(edges.size(), Device::cpu());

  const Model<> model("graph.pt2");
  const auto hit = hits.view().records();
  const auto edge = edges.view().records();
  const CopyReport copies =
      model.forward(Queue(Device::cpu()),
                    bind(bind("x", hit.r(), hit.phi(), hit.cot_theta()),
                         bind(BlockShape::kColumns, "edge_index", edge.source(), edge.target())),
                    bind("score", scores.view().records().score()));
  // [/call]

  std::cout << hits.size() << " hits, " << edges.size() << " edges, " << to_string(copies) << '\n';
  const float* const score = scores.view().score.data();
  const auto lengths = tracks_of(hits.size(), edges.view(), scores.view());
  std::cout << "kept " << std::count_if(score, score + scores.size(), [](float s) { return s > 0; })
            << " edges: " << lengths.size() << " tracks of " << *std::ranges::min_element(lengths)
            << " to " << *std::ranges::max_element(lengths) << " hits\n";
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
