// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The shortest program, which README.md shows: 00_first MODEL
// make_model.py writes the package MODEL.

#include <iostream>

// [call]
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

CopyReport run(const char* path, PortableCollection<Point>& points,
               PortableCollection<Score>& scores) {
  const Model<> model(path);  // load once, call often
  const auto point = points.view().records();
  const auto answer = scores.view().records();
  return model.forward(Queue(points.device()), bind("input", point.x(), point.y(), point.z()),
                       bind("score", answer.score()));
}
// [/call]

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: 00_first MODEL\n";
    return 2;
  }
  try {
    PortableCollection<Point> points(4, Device::cpu());
    PortableCollection<Score> scores(points.size(), Device::cpu());
    const auto in = points.view();
    for (std::size_t i = 0; i < in.size(); ++i) {
      in.x[i] = static_cast<float>(i);
      in.y[i] = 10.F;
      in.z[i] = -1.F;
    }
    const CopyReport copies = run(argv[1], points, scores);
    const auto out = scores.const_view();
    for (std::size_t i = 0; i < out.size(); ++i) std::cout << "score = " << out.score[i] << '\n';
    std::cout << "bytes copied: " << copies.bytes_in << " in, " << copies.bytes_out << " out\n";
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
  return 0;
}
