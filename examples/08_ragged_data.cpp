// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Jets with unequal numbers of constituents: two collections of different lengths, in one call. Nothing is padded, nothing
// copied. The model is that of 08_ragged_data.py.
//
//     cmake --build build --target example_08_ragged_data && cd build/examples && ./08_ragged_data
//
// Prints:
//
//     jet 0: 3 constituents, tag 24.6
//     jet 1: 0 constituents, tag 0.5
//     jet 2: 2 constituents, tag 9.1
//     0 bytes in, 0 bytes out

#include <algorithm>
#include <array>
#include <iostream>
#include <tensoa/tensoa.hpp>

using namespace tensoa;

template <template <class> class F>
struct Constituent {
  F<float> pt, dr;
  F<std::int64_t> jet;  // the row of its jet
};

template <template <class> class F>
struct Jet {
  F<float> mass, tag;
  F<std::int32_t> first;  // jet j is the constituents first[j] to first[j + 1]
};

int main(int argc, char** argv) try {
  const Model<> model(argc > 1 ? argv[1] : "jets.pt2");
  PortableCollection<Constituent> constituents(5, Device::cpu());
  PortableCollection<Jet> jets(3 + 1, Device::cpu());  // an offset more than there are jets
  jets.resize(3);
  const auto constituent = constituents.view();
  const auto jet = jets.view();
  std::ranges::copy(std::array{10.F, 5.F, 3.F, 4.F, 2.F}, constituent.pt.data());
  std::ranges::copy(std::array{0.1F, 0.2F, 0.3F, 0.F, 0.1F}, constituent.dr.data());
  std::ranges::copy(std::array{5.F, 0.F, 1.F}, jet.mass.data());
  std::ranges::copy(std::array{0, 3, 3, 5}, jet.first.data());

  // [groups]
  for (std::size_t j = 0; j < jet.size(); ++j) {
    const auto of_jet = group(constituent, jet.first, j);  // a view of the rows of one jet
    std::fill_n(of_jet.jet.data(), of_jet.size(), static_cast<std::int64_t>(j));
  }

  const auto c = constituent.records();
  const auto j = jet.records();
  const CopyReport copies = model.forward(
      Queue(Device::cpu()),
      bind(bind("constituents", c.pt(), c.dr()), bind("jet", c.jet()), bind("mass", j.mass())),
      bind("tag", j.tag()));
  // [/groups]
  for (std::size_t i = 0; i < jet.size(); ++i) {
    std::cout << "jet " << i << ": " << group(constituent, jet.first, i).size()
              << " constituents, tag " << jet.tag[i] << '\n';
  }
  std::cout << to_string(copies) << '\n';
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
