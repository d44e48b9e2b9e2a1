// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// From a file to a file: reads x, y, z of POINTS, runs the network of 01_first_program.py on them where they lie, and writes SCORES.
// Files are .parquet, .arrow or .csv. `tensoa infer network.pt2 points.csv --output scores.csv` does the same without code.
//
//     cmake --build build --target example_03_files && cd build/examples && ./03_files ../../examples/points.csv scores.csv
//
// Prints:
//
//     3 points, mean radius 38.3333 cm
//     score = 602.5
//     score = 26.5
//     score = 7.5

#include <cmath>
#include <concepts>
#include <iostream>
#include <tensoa/columnar/collection.hpp>
#include <tensoa/tensoa.hpp>

using namespace tensoa;

template <template <class> class F>
struct Point {
  F<float> x, y, z;  // cm
};

template <template <class> class F>
struct Score {
  F<float> score;
};

// [generic]
/// A view of any layout that has these columns, writable or const.
template <class View>
concept HasPosition = requires(const View& view) {
  { view.x[0] } -> std::convertible_to<float>;
  { view.y[0] } -> std::convertible_to<float>;
  { view.size() } -> std::convertible_to<std::size_t>;
};

double mean_radius(const HasPosition auto& view) {
  double sum = 0;
  for (std::size_t i = 0; i < view.size(); ++i) sum += std::hypot(view.x[i], view.y[i]);
  return view.size() == 0 ? 0 : sum / static_cast<double>(view.size());
}
// [/generic]

// [files]
void run(const char* points_path, const char* scores_path, const char* model_path) {
  auto points = columnar::read_collection<Point>(points_path);
  PortableCollection<Score> scores(points.size(), Device::cpu());
  std::cout << points.size() << " points, mean radius " << mean_radius(points.const_view())
            << " cm\n";

  const Model<> model(model_path);
  const auto point = points.view().records();
  model.forward(Queue(Device::cpu()), bind("input", point.x(), point.y(), point.z()),
                bind("score", scores.view().records().score()));
  columnar::write_collection(scores_path, scores.const_view());
}
// [/files]

int main(int argc, char** argv) try {
  if (argc < 3) throw ConfigError("usage: 03_files POINTS SCORES [network.pt2]");
  run(argv[1], argv[2], argc > 3 ? argv[3] : "network.pt2");
  const auto scores = columnar::read_collection<Score>(argv[2]);
  for (std::size_t i = 0; i < scores.size(); ++i)
    std::cout << "score = " << scores.const_view().score[i] << '\n';
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
