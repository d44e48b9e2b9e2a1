// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// A model compiled for the columns of a C++ layout: vectors, integers, one number for all rows. Nothing is copied.
//
//     cmake --build build --target example_04_ahead_of_time && cd build/examples
//     ./04_ahead_of_time binding.json                    # describes the columns
//     python ../../examples/04_ahead_of_time.py          # compiles helix.pt2 for them
//     ./04_ahead_of_time helix.pt2                       # runs it
//
// Prints:
//
//     pt = 5 GeV, radius = 4.38596 m
//     pt = 13 GeV, radius = 11.4035 m
//     pt = 1 GeV, radius = 0.438596 m
//     0 bytes in, 0 bytes out

#include <filesystem>
#include <iostream>
#include <tensoa/tensoa.hpp>

using namespace tensoa;

template <template <class> class F>
struct Track {
  F<Vector<float, 3>> momentum;  // GeV
  F<std::int32_t> charge;
  F<Scalar<float>> field;  // T, one for all tracks
};

template <template <class> class F>
struct Helix {
  F<float> pt;      // GeV
  F<float> radius;  // m
};

void fill(const View<Track>& tracks) {
  const float momenta[3][3] = {{3, 4, 1}, {5, 12, 0}, {0, 1, 7}};
  const int charges[3] = {1, -1, 2};
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    for (std::size_t k = 0; k < 3; ++k) tracks.momentum[i][k] = momenta[i][k];
    tracks.charge[i] = charges[i];
  }
  *tracks.field = 3.8F;
}

int main(int argc, char** argv) try {
  if (argc != 2) throw ConfigError("usage: 04_ahead_of_time binding.json | helix.pt2");
  const std::filesystem::path path = argv[1];

  PortableCollection<Track> tracks(3, Device::cpu());
  PortableCollection<Helix> helices(3, Device::cpu());
  fill(tracks.view());
  const auto track = tracks.const_view().records();
  const auto helix = helices.view().records();
  const ModelMetadata metadata(bind(bind("momentum", track.momentum()),
                                    bind("charge", track.charge()), bind("field", track.field())),
                               bind("helix", helix.pt(), helix.radius()));
  if (path.extension() == ".json") {
    // [binding]
    write_file(path, describe(metadata));
    // [/binding]
    return 0;
  }

  // [run]
  Model<CompilationType::kAheadOfTime> model(path);
  model.to(Queue(Device::cpu()));
  const CopyReport copies = model.forward(metadata);
  // [/run]
  const auto view = helices.const_view();
  for (std::size_t i = 0; i < view.size(); ++i)
    std::cout << "pt = " << view.pt[i] << " GeV, radius = " << view.radius[i] << " m\n";
  std::cout << to_string(copies) << '\n';
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
