// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "exported/memory.hpp"
#include "exported/program.hpp"

namespace tensoa::pytorch::exported {

/// An operator to call, with everything that is known before the call.
struct Step {
  Node node;
  /// The variant that writes its result into a tensor that it is given, as its last argument, and the
  /// number of the output that is.
  std::optional<c10::OperatorHandle> into;
  std::size_t output = 0;
};

/// A tensor that the program gives.
struct Output {
  ValueId value;
  std::optional<c10::IValue> constant;  ///< it does not depend on the inputs

  /// Whether a step can write it into memory that it is given: as a tensor of `written`, which differs from that
  /// of the output, `meta`, in dimensions of size 1 alone. `value` is then that of `written`.
  bool is_direct = false;
  std::optional<TensorMeta> meta = {};
  std::optional<TensorMeta> written = {};
};

/// A program made ready to run many times on one device.
///
/// Values that depend on weights alone are computed when it is made. A result that nothing else needs is written over
/// an argument that nothing needs any more, where the operator has such a variant. The last operator of an
/// output that nothing else uses comes at the end, and can write into memory of the caller.
struct Schedule {
  Schedule() = default;

  /// @param weights of the program, in its order, on the device
  /// @throws std::runtime_error that names a node that fails on its weights
  Schedule(Program program, const Memory& memory, const std::vector<at::Tensor>& weights,
           c10::Device device);

  std::vector<Step> steps;
  std::size_t first_direct = 0;  ///< the steps from here on write outputs, and nothing else
  std::vector<Output> outputs;
  std::size_t values = 0;
};

/// Puts the arguments of a step on the stack. Those that nothing needs afterwards are taken from `values`.
void push_arguments(const std::vector<Argument>& arguments, std::vector<c10::IValue>& values,
                    Stack& stack);

/// Takes the results of a step from the stack.
/// @throws std::runtime_error where an operator gives a list of another length
void pop_results(const std::vector<Result>& results, std::vector<c10::IValue>& values,
                 Stack& stack);

}  // namespace tensoa::pytorch::exported
