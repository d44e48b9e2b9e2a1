// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "session.hpp"
#include "tensoa/core/tensor_view.hpp"
#include "tensoa/engine/model_metadata.hpp"

namespace tensoa::test {

inline std::string onnx_file(const std::string& name) {
  return std::string(TENSOA_ONNX_FILES) + '/' + name + ".onnx";
}

/// How the elements of a tensor lie.
enum class Lying { kRowMajor, kColumns };

/// A tensor with its own memory, between bytes that no call may write.
class Tensor {
 public:
  static constexpr std::byte kPoison{0xA5};

  Tensor(DType dtype, std::vector<std::int64_t> sizes, Lying lying = Lying::kRowMajor) {
    view_.dtype = dtype;
    view_.rank = static_cast<std::uint8_t>(sizes.size());
    for (std::size_t d = 0; d < sizes.size(); ++d) view_.size_of_dim[d] = sizes[d];
    make_row_major(view_);
    std::size_t bytes = view_.bytes();
    if (lying == Lying::kColumns && sizes.size() == 2) {
      const std::int64_t pitch = sizes[0] + 5;
      view_.stride_of_dim[0] = 1;
      view_.stride_of_dim[1] = pitch;
      bytes = static_cast<std::size_t>(pitch * sizes[1]) * size_of(dtype);
    }
    memory_.assign(bytes + 2 * kGuard, kPoison);
  }

  TensorView view() {
    view_.data = memory_.data() + kGuard;
    return view_;
  }

  /// Where an element is.
  std::byte* at(std::int64_t number) {
    std::int64_t place = 0;
    for (std::size_t d = view_.rank; d-- > 0;) {
      place += number % view_.size_of_dim[d] * view_.stride_of_dim[d];
      number /= view_.size_of_dim[d];
    }
    return memory_.data() + kGuard + place * static_cast<std::int64_t>(size_of(view_.dtype));
  }

  /// The elements, row-major.
  std::vector<std::byte> bytes() {
    const std::size_t each = size_of(view_.dtype);
    std::vector<std::byte> all(view_.bytes());
    for (std::int64_t i = 0; i < view_.elements(); ++i) {
      std::memcpy(all.data() + static_cast<std::size_t>(i) * each, at(i), each);
    }
    return all;
  }

  void set_bytes(const std::vector<std::byte>& all) {
    const std::size_t each = size_of(view_.dtype);
    for (std::int64_t i = 0; i < view_.elements(); ++i) {
      std::memcpy(at(i), all.data() + static_cast<std::size_t>(i) * each, each);
    }
  }

  template <class T>
  std::vector<T> values() {
    std::vector<T> all(static_cast<std::size_t>(view_.elements()));
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::memcpy(&all[i], at(static_cast<std::int64_t>(i)), sizeof(T));
    }
    return all;
  }

  template <class T>
  void set_values(const std::vector<T>& all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::memcpy(at(static_cast<std::int64_t>(i)), &all[i], sizeof(T));
    }
  }

  /// Whether no byte around the elements was written.
  bool is_intact() {
    std::vector<std::byte> others = memory_;
    for (std::int64_t i = 0; i < view_.elements(); ++i) {
      const auto place = static_cast<std::size_t>(at(i) - memory_.data());
      std::memset(others.data() + place, static_cast<int>(kPoison), size_of(view_.dtype));
    }
    return others == std::vector<std::byte>(others.size(), kPoison);
  }

  bool is_untouched() { return memory_ == std::vector<std::byte>(memory_.size(), kPoison); }

 private:
  static constexpr std::size_t kGuard = 64;

  TensorView view_;
  std::vector<std::byte> memory_;
};

/// A block of one tensor.
inline BoundBlock block_of(std::string name, Tensor& tensor, BlockShape shape = BlockShape::kRows) {
  BoundBlock block;
  block.name = std::move(name);
  block.shape = shape;
  block.tensor = tensor.view();
  return block;
}

inline Binding binding_of(std::vector<BoundBlock> inputs, std::vector<BoundBlock> outputs,
                          Match match = Match::kAuto) {
  Binding binding;
  binding.inputs = std::move(inputs);
  binding.outputs = std::move(outputs);
  binding.input_collections = binding.inputs.size();
  binding.match = match;
  return binding;
}

/// A tensor as make_onnx_files.py wrote it.
struct Written {
  DType dtype;
  std::vector<std::int64_t> sizes;
  std::vector<std::byte> bytes;
};

inline std::vector<Written> written_values(const std::string& name, std::int64_t rows) {
  std::ifstream file(
      std::string(TENSOA_ONNX_FILES) + '/' + name + '.' + std::to_string(rows) + ".values",
      std::ios::binary);
  const auto number = [&] {
    std::int64_t value = 0;
    file.read(reinterpret_cast<char*>(&value), sizeof(value));
    return value;
  };
  std::vector<Written> all;
  for (std::int64_t dtype = number(); file; dtype = number()) {
    Written one{onnx::from_onnx(static_cast<int>(dtype)).value(), {}, {}};
    one.sizes.resize(static_cast<std::size_t>(number()));
    std::size_t bytes = size_of(one.dtype);
    for (std::int64_t& size : one.sizes) {
      size = number();
      bytes *= static_cast<std::size_t>(size);
    }
    one.bytes.resize(bytes);
    file.read(reinterpret_cast<char*>(one.bytes.data()), static_cast<std::streamsize>(bytes));
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace tensoa::test
