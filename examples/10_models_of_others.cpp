// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Files of other frameworks, as they are: trees of XGBoost, and a pipeline of scikit-learn as ONNX, which ONNX Runtime runs.
// 10_models_of_others.py writes them, and rows with the answers of both.
//
//     cmake --build build --target example_10_models_of_others && cd build/examples
//     export TENSOA_ONNXRUNTIME=$(python -c "import onnxruntime; print(onnxruntime.__path__[0])")/capi
//     ./10_models_of_others
//
// Prints:
//
//     trees.json: 1000 rows, the answers of XGBoost, 0 bytes in, 0 bytes out
//     ridge.onnx: 1000 rows, the answers of scikit-learn, 12000 bytes in, 0 bytes out (the engine has row-major tensors alone)

#include <cmath>
#include <iostream>
#include <string>
#include <tensoa/columnar/collection.hpp>
#include <tensoa/tensoa.hpp>

using namespace tensoa;

template <template <class> class F>
struct Example {
  F<float> x, y, z;
  F<float> trees, ridge;  // what the frameworks answer
};

template <template <class> class F>
struct Answer {
  F<float> answer;
};

void require_equal(const std::string& path, const float* answers, const float* expected,
                   std::size_t rows) {
  for (std::size_t i = 0; i < rows; ++i) {
    if (!(std::abs(answers[i] - expected[i]) <= 1e-4F * (1 + std::abs(expected[i])))) {
      throw EngineError(path + ": row " + std::to_string(i) + ": got " +
                        std::to_string(answers[i]) + ", expected " + std::to_string(expected[i]));
    }
  }
}

int main() try {
  auto rows = columnar::read_collection<Example>("rows.csv");
  const auto row = rows.const_view();
  PortableCollection<Answer> answers(rows.size(), Device::cpu());
  const auto run = [&](const std::string& path, const char* framework, const float* expected) {
    // [call]
    const Model<> model(path);  // what is in the file says which engine runs it
    const auto record = row.records();
    const CopyReport copies =
        model.forward(Queue(Device::cpu()), bind("features", record.x(), record.y(), record.z()),
                      bind("answers", answers.view().records().answer()));
    // [/call]
    require_equal(path, answers.view().answer.data(), expected, rows.size());
    std::cout << path << ": " << rows.size() << " rows, the answers of " << framework << ", "
              << to_string(copies) << '\n';
  };
  run("trees.json", "XGBoost", row.trees.data());
  run("ridge.onnx", "scikit-learn", row.ridge.data());
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 2;
}
