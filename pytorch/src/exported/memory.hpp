// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "exported/program.hpp"

namespace tensoa::pytorch::exported {

/// Where the memory of each value may come from, and what nodes write: data flow through the graph, with what
/// schemas say and what operator_effects.hpp says of those that do not (decision 0020). A graph of
/// torch.export is a list without loops, so that each value has its memory once and for all.
class Memory {
 public:
  /// @throws std::runtime_error that names the node, for one that changes an input, or what may be a weight
  explicit Memory(const Program& program);

  /// Whether a node may write memory of the value, before or after it has it.
  bool is_written(ValueId value) const;

  /// Whether the value has its own memory, which its node has allocated.
  bool is_fresh(ValueId value) const { return roots_[value] == std::vector{value}; }

  /// The values whose memory it may have, ascending.
  const std::vector<ValueId>& roots(ValueId value) const { return roots_[value]; }

  /// Whether both may lie in the same memory.
  bool may_overlap(ValueId a, ValueId b) const;

 private:
  void follow(const Program& program, const Node& node);
  void write(const Program& program, const Node& node, const Argument& argument);

  std::vector<std::vector<ValueId>> roots_;  ///< of each value, ascending: whose memory it may have
  std::vector<ValueId> view_of_;             ///< the input that a value is, or is a view of
  std::vector<bool> written_;                ///< roots
  std::vector<bool> is_weight_;
};

}  // namespace tensoa::pytorch::exported
