// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Runs a network on three columns of four rows. Nothing is copied: the package reads and writes the columns where they lie.
//
//     cmake --build build --target example_01_first_program && cd build/examples && ./01_first_program
//
// Prints:
//
//     score = 20.5
//     score = 22.5
//     score = 24.5
//     score = 26.5

#include <iostream>

// [layouts]
#include <tensoa/tensoa.hpp>

using namespace tensoa;

template <template <class> class F>
struct Point {
  F<float> x, y, z;
};

template <template <class> class F>
struct Score {
  F<float> score;
};
// [/layouts]

void fill(const View<Point>& points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    points.x[i] = static_cast<float>(i);
    points.y[i] = 10.F;
    points.z[i] = -1.F;
  }
}

void print(const ConstView<Score>& scores) {
  for (std::size_t i = 0; i < scores.size(); ++i)
    std::cout << "score = " << scores.score[i] << '\n';
}

int main(int argc, char** argv) try {
  const char* const path = argc > 1 ? argv[1] : "network.pt2";
  // [call]
  const Model<> model(path);            // network.pt2, loaded once
  PortableCollection<Point> points(4);  // 4 rows on the CPU; on a GPU: (4, Device::cuda(0))
  PortableCollection<Score> scores(4);
  // [/call]
  fill(points.view());
  // [call]

  model.forward(bind("input", points.const_view()), bind("score", scores.view()));
  // [/call]
  print(scores.const_view());
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
