// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa/core/memory.hpp"
#include "tensoa/engine/engine.hpp"

namespace tensoa::test {

/// The output is the input "x", copied on the queue.
class CopyEngine final : public Engine {
 public:
  /// Without weights.
  CopyEngine() = default;
  /// Its weights, 100 bytes, lie on `device`.
  explicit CopyEngine(Device device) : weights_(device, 100, MemoryPurpose::kWeights) {}

  const Signature& signature() const noexcept override { return signature_; }

  CopyReport run(const Queue& queue, const Binding& binding, const Prepared&) const override {
    const TensorView& from = binding.inputs[0].tensor;
    const TensorView& to = binding.outputs[0].tensor;
    copy_bytes(queue, to.data, to.device, from.data, from.device, from.bytes());
    return {.bytes_in = 0, .bytes_out = from.bytes()};
  }

 private:
  Buffer weights_;
  Signature signature_{.inputs = {{.name = "x"}}, .required_inputs = 1};
};

}  // namespace tensoa::test
