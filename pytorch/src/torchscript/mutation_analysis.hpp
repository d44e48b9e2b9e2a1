// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <string>
#include <vector>

namespace tensoa::pytorch {

/// The memory that a call of a frozen graph may write.
///
/// An answer "not written" is a proof, under one assumption: an operator does to its arguments what
/// its schema says, but for those that mutation_analysis.cpp lists (decision 0020; a test calls torch's
/// operators to verify it). What cannot be followed counts as written.
class MutationAnalysis {
 public:
  /// @param graph  of forward: input 0 is the module, the others are the arguments
  explicit MutationAnalysis(const torch::jit::Graph& graph);

  /// For each argument of forward, whether a call may write it.
  const std::vector<bool>& to_arguments() const noexcept { return to_arguments_; }

  /// The operator that may leave something behind in the module, like "aten::batch_norm"; empty
  /// where a call changes nothing. A model that changes is not a function of its inputs, threads would
  /// race for it, and it might keep tensors over columns that are gone by the next call.
  const std::string& state_writer() const noexcept { return state_writer_; }

 private:
  std::vector<bool> to_arguments_;
  std::string state_writer_;
};

}  // namespace tensoa::pytorch
