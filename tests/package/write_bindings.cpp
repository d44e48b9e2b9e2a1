// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Writes what the packages of the tests are made for that need no track: write_bindings FOLDER

#include <filesystem>
#include <iostream>

#include "aot_layouts.hpp"
#include "scattered_layouts.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/describe.hpp"
#include "write_if_changed.hpp"

namespace {

void write_all(const std::filesystem::path& folder) {
  using namespace tensoa;
  using namespace tensoa::test;
  std::filesystem::create_directories(folder);
  const Device cpu = Device::cpu();

  PortableCollection<Points> points(1, cpu);
  PortableCollection<Answers> answers(1, cpu);
  write_if_changed(folder / "mlp.json",
                   describe(mlp_metadata(points.const_view(), answers.view())));

  PortableCollection<Hits> hits(1, cpu);
  PortableCollection<Fits> fits(1, cpu);
  PortableCollection<Summary> summary(1, cpu);
  write_if_changed(folder / "kinds.json",
                   describe(kinds_metadata(hits.view(), fits.view(), summary.view())));

  PortableCollection<Nodes> nodes(1, cpu);
  PortableCollection<Links> links(1, cpu);
  write_if_changed(folder / "graph.json", describe(graph_metadata(nodes.view(), links.view())));

  PortableCollection<Scattered> scattered(1, cpu);
  PortableCollection<Found> found(1, cpu);
  write_if_changed(folder / "scattered.json",
                   describe(scattered_metadata(scattered.view(), found.view())));
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
