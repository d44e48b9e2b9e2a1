// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// From a file to an answer: 06_files MODEL POINTS ANSWERS
// reads the columns x, y, z of POINTS, runs the model on them where they lie, and writes m and n to ANSWERS (.parquet, .arrow, .csv).

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
struct Answer {
  F<float> m, n;
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
void run(const char* model_path, const char* points_path, const char* answers_path) {
  auto points = columnar::read_collection<Point>(points_path);
  PortableCollection<Answer> answers(points.size(), Device::cpu());
  std::cout << points.size() << " points, mean radius " << mean_radius(points.const_view())
            << " cm\n";

  const Model<> model(model_path);
  const auto point = points.view().records();
  const auto answer = answers.view().records();
  model.forward(Queue(Device::cpu()), bind("features", point.x(), point.y(), point.z()),
                bind("preds", answer.m(), answer.n()));
  columnar::write_collection(answers_path, answers.const_view());
}
// [/files]

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: 06_files MODEL POINTS ANSWERS\n";
    return 2;
  }
  try {
    run(argv[1], argv[2], argv[3]);
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
  return 0;
}
