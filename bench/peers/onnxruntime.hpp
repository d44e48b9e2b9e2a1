// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensoa/core/tensor_view.hpp"
#include "tensoa/engine/model_metadata.hpp"

namespace tensoa::peers {

/// A model in ONNX Runtime on one thread of the CPU, as its users call it: the values are made once,
/// over memory that stays. Opens libonnxruntime.so when it runs; its wheel ships no headers, so the
/// functions are taken from their places in the table OrtApi, to which versions only append.
/// *Lifetime*: the memory of the tensors must outlive it.
class OnnxRuntime {
 public:
  /// @param tensors row-major, float32 or int64, in host memory: the inputs, then the outputs; bind() gives
  ///     those that are missing
  /// @param names of them in the model
  /// @param outputs how many of them are outputs
  /// @throws EngineError with what ONNX Runtime says
  OnnxRuntime(const std::string& library, const std::string& model,
              std::span<const TensorView> tensors, std::vector<std::string> names,
              std::size_t outputs = 1);
  /// @param packed row-major: the blocks are its tensors; one answer a row is [n], where the block has [n, 1]
  OnnxRuntime(const std::string& library, const std::string& model, const Binding& packed);
  ~OnnxRuntime();
  OnnxRuntime(const OnnxRuntime&) = delete;
  OnnxRuntime& operator=(const OnnxRuntime&) = delete;

  /// Takes another tensor for the i-th one.
  void bind(std::size_t i, const TensorView& tensor);

  void run();

 private:
  template <class... Parameters, class... Arguments>
  void call(std::size_t place, Arguments... arguments) const;

  void release(std::size_t place, void* object) const;

  void* const* api_ = nullptr;
  void* session_ = nullptr;
  void* memory_ = nullptr;
  std::size_t outputs_;
  std::vector<std::string> names_;
  std::vector<const char*> name_pointers_;
  std::vector<void*> values_;
};

}  // namespace tensoa::peers
