// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Writes what the package of the edge network is made for: write_network_binding FILE

#include <iostream>

#include "package/write_if_changed.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/describe.hpp"
#include "tensoa/track/edge_scorer.hpp"

namespace {

void write_binding(const std::filesystem::path& file) {
  using namespace tensoa;
  std::filesystem::create_directories(file.parent_path());
  PortableCollection<track::Hit> hits(1, Device::cpu());
  PortableCollection<track::Edge> edges(1, Device::cpu());
  const auto metadata = track::bind_edge_network(/*takes_edge_columns=*/true, hits.const_view(),
                                                 edges.const_view(), edges.view());
  test::write_if_changed(file, describe(metadata));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_network_binding FILE\n";
    return 2;
  }
  try {
    write_binding(argv[1]);
  } catch (const tensoa::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
