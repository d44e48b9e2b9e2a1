// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Columns in five kinds of memory go into the network of 01_first_program.py; each line says what a call copied.
//
//     cmake --build build --target example_02_columns && cd build/examples && ./02_columns
//
// Prints:
//
//     a collection:              last score 50.5, 0 bytes in
//     rows 4 to 7 of it:         last score 34.5, 0 bytes in
//     one allocation, a pitch:   last score 50.5, 0 bytes in
//     a vector for each column:  last score 50.5, 192 bytes in
//     blocks of 8 rows (AoSoA):  last score 50.5, 0 bytes in

#include <array>
#include <iostream>
#include <tensoa/tensoa.hpp>
#include <vector>

using namespace tensoa;

template <template <class> class F>
struct Point {
  F<float> x, y, z;
};

template <template <class> class F>
struct Hit {  // has other columns than those of the model, too
  F<std::int64_t> id;
  F<float> x, y, z;
};

template <template <class> class F>
struct Score {
  F<float> score;
};

constexpr std::size_t kRows = 16;

/// Any view with these columns, of a collection or of other memory.
void fill(const auto& view, std::size_t first = 0) {
  for (std::size_t i = 0; i < view.size(); ++i) {
    view.x[i] = static_cast<float>(first + i);
    view.y[i] = 10.F;
    view.z[i] = -1.F;
  }
}

CopyReport call(const Model<>& model, const auto& view, const View<Score>& scores) {
  const auto point = view.records();
  // Repack: columns that do not lie at equal distances are copied, instead of an error.
  return model.forward(Queue(Device::cpu()),
                       bind(Repack{}, "input", point.x(), point.y(), point.z()),
                       bind("score", scores.records().score()));
}

void print(const char* what, const View<Score>& scores, const CopyReport& copies) {
  std::cout << what << "  last score " << scores.score[scores.size() - 1] << ", " << copies.bytes_in
            << " bytes in\n";
}

int main(int argc, char** argv) try {
  const Model<> model(argc > 1 ? argv[1] : "network.pt2");
  PortableCollection<Score> all(kRows, Device::cpu());
  const View<Score> scores = all.view();

  PortableCollection<Hit> hits(kRows, Device::cpu());
  fill(hits.view());
  print("a collection:            ", scores, call(model, hits.view(), scores));
  const View<Score> four = slice(scores, 4, 4);
  print("rows 4 to 7 of it:       ", four, call(model, slice(hits.view(), 4, 4), four));

  std::vector<float> memory(300);  // columns begin at 0, 100 and 200
  float* const at = memory.data();
  const auto planes = foreign_view<Point>(kRows, Device::cpu(), at, at + 100, at + 200);
  fill(planes);
  print("one allocation, a pitch: ", scores, call(model, planes, scores));

  std::vector<float> x(kRows), y(kRows), z(kRows);
  const auto vectors = foreign_view<Point>(kRows, Device::cpu(), x, y, z);
  fill(vectors);
  print("a vector for each column:", scores, call(model, vectors, scores));

  struct Tile {
    std::array<float, 8> x, y, z;
  };
  std::array<Tile, kRows / 8> tiles;
  CopyReport copies;
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    const auto tile = foreign_view<Point>(8, Device::cpu(), tiles[t].x, tiles[t].y, tiles[t].z);
    fill(tile, 8 * t);
    copies += call(model, tile, slice(scores, 8 * t, 8));
  }
  print("blocks of 8 rows (AoSoA):", scores, copies);
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
