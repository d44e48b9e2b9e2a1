// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Writes what the packages of the tests are made for: write_bindings FOLDER

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "package/aot_layouts.hpp"
#include "scattered_layouts.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/output_file.hpp"
#include "tensoa/engine/describe.hpp"
#include "tensoa/track/edge_scorer.hpp"

namespace {

/// Leaves a file that is right already alone, so that nothing is made from it again.
void write(const std::filesystem::path& path, const std::string& text) {
  std::ifstream file(path);
  const std::string before{std::istreambuf_iterator<char>(file), {}};
  if (before != text) tensoa::write_file(path, text);
}

void write_all(const std::filesystem::path& folder) {
  using namespace tensoa;
  using namespace tensoa::test;
  std::filesystem::create_directories(folder);
  const Device cpu = Device::cpu();

  PortableCollection<Points> points(1, cpu);
  PortableCollection<Answers> answers(1, cpu);
  write(folder / "mlp.json", describe(mlp_metadata(points.const_view(), answers.view())));

  PortableCollection<Hits> hits(1, cpu);
  PortableCollection<Fits> fits(1, cpu);
  PortableCollection<Summary> summary(1, cpu);
  write(folder / "kinds.json", describe(kinds_metadata(hits.view(), fits.view(), summary.view())));

  PortableCollection<Nodes> nodes(1, cpu);
  PortableCollection<Links> links(1, cpu);
  write(folder / "graph.json", describe(graph_metadata(nodes.view(), links.view())));

  PortableCollection<Scattered> scattered(1, cpu);
  PortableCollection<Found> found(1, cpu);
  write(folder / "scattered.json", describe(scattered_metadata(scattered.view(), found.view())));

  PortableCollection<track::Hit> all_hits(1, cpu);
  PortableCollection<track::Edge> edges(1, cpu);
  const auto plan = track::plan_edge_network(/*takes_edge_columns=*/true, all_hits.const_view(),
                                             edges.const_view(), edges.view());
  write(folder / "edge_network.json", to_json(description_of(plan.binding())));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_bindings FOLDER\n";
    return 2;
  }
  try {
    write_all(argv[1]);
  } catch (const tensoa::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
