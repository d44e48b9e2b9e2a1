// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <vector>

namespace tensoa::pytorch {

/// What a call of a frozen graph may write. Conservative: what cannot be followed counts as written.
///
/// Torch's alias analysis, with two corrections. It assumes that all inputs lie in one memory, so that
/// a write to one would be a write to all; asked about clones of the inputs, put between them and the
/// graph, it tells them apart. (A block that is copied shares its memory with no other.) And it
/// believes the schemas of operators, of which some give back their argument, or a view of it,
/// without saying so: `x.type_as(y)` of one type is x.
class Writes {
 public:
  explicit Writes(torch::jit::Graph& graph);

  /// For each argument of forward, whether a call may write it.
  std::vector<bool> to_arguments() const;

  /// Whether a call leaves anything behind in the module: then it is no function of its inputs,
  /// threads would race for it, and it might keep tensors over columns that are gone by the next
  /// call.
  bool keep_state() const { return keep_state(*graph_->block()); }

 private:
  bool keep_state(torch::jit::Block& block) const;
  bool reach(torch::jit::Value* value) const;
  bool reach_any_list() const;
  void find_suspects(torch::jit::Block& block);

  std::shared_ptr<torch::jit::Graph> graph_;
  std::vector<torch::jit::Value*> clones_;  ///< of the arguments
  std::unique_ptr<const torch::jit::AliasDb> aliases_;

  /// A node whose results may lie in its arguments although its schema does not say so.
  struct Suspect {
    torch::jit::Node* node;
    std::vector<torch::jit::Value*> arguments;
  };
  std::vector<Suspect> suspects_;  ///< of which no result is written
  std::vector<Suspect> leaks_;     ///< of which one may be: so may the arguments
};

}  // namespace tensoa::pytorch
