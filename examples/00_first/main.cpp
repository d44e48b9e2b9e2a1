// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The shortest program, which README.md shows: 00_first MODEL
// make_model.py writes the package MODEL.

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

void run(const char* path) {
  // clang-format off
  // [call]
  const Model<> model(path);                           // network.pt2, loaded once
  PortableCollection<Point> points(4, Device::cpu());  // 4 rows; or parse_device("cuda:0")
  PortableCollection<Score> scores(4, Device::cpu());
  // [/call]
  fill(points.view());
  // [call]

  const auto point = points.view().records();
  const auto answer = scores.view().records();
  const CopyReport copies = model.forward(
      Queue(points.device()), bind("input", point.x(), point.y(), point.z()), bind("score", answer.score()));
  // [/call]
  // clang-format on
  print(scores.const_view());
  std::cout << "bytes copied: " << copies.bytes_in << " in, " << copies.bytes_out << " out\n";
}

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: 00_first MODEL\n";
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
  return 0;
}
