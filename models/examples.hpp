// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "tensoa/engine/model_metadata.hpp"

/// @file
/// The examples that `python -m tensoa.models export` writes next to the packages: inputs, and what the
/// network gives for them in float64.

namespace tensoa::models {

/// The file of one block of one example; "in" or "out".
inline std::filesystem::path example_file(const std::string& model, std::size_t example,
                                          const std::string& direction, const std::string& block) {
  return std::filesystem::path(TENSOA_MODELS) / model /
         (std::to_string(example) + '-' + direction + '-' + block + ".bin");
}

/// All numbers of a file. @throws std::runtime_error when there is no such file
template <class T>
std::vector<T> numbers_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file && bytes.empty()) throw std::runtime_error(path.string() + ": cannot read");
  std::vector<T> numbers(bytes.size() / sizeof(T));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(T));
  return numbers;
}

/// Calls `action(offset)` for each element in row-major order; offset in elements from `data`.
template <class Action>
void for_each_element(const TensorView& tensor, const Action& action, std::size_t dim = 0,
                      std::int64_t offset = 0) {
  if (dim == tensor.rank) return action(offset);
  for (std::int64_t i = 0; i < tensor.size_of_dim[dim]; ++i) {
    for_each_element(tensor, action, dim + 1, offset + i * tensor.stride_of_dim[dim]);
  }
}

/// Fills the columns of a block on the host with the first rows of an example, again from the start
/// where it has fewer.
template <class T>
void fill_as(const BoundBlock& block, const std::filesystem::path& path) {
  const std::vector<T> numbers = numbers_of<T>(path);
  std::size_t next = 0;
  for_each_element(block.tensor, [&](std::int64_t offset) {
    static_cast<T*>(block.tensor.data)[offset] = numbers.at(next++ % numbers.size());
  });
}

/// Fills all inputs of a binding on the host.
inline void fill_inputs(const Binding& binding, const std::string& model, std::size_t example) {
  for (const BoundBlock& block : binding.inputs) {
    const std::filesystem::path path = example_file(model, example, "in", block.name);
    if (block.tensor.dtype == DType::kI64) {
      fill_as<std::int64_t>(block, path);
    } else {
      fill_as<float>(block, path);
    }
  }
}

}  // namespace tensoa::models
