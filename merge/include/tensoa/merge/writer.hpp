// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "tensoa/events/table_columns.hpp"
#include "tensoa/merge/event.hpp"

namespace tensoa::merge {

/// Writes the clusters of any number of events with their merged particles: event (text), x, y, z (mm), energy (GeV), layer,
/// fragment_id, merged_id (-1: on no fragment).
class MergeWriter {
 public:
  /// @throws ConfigError for another ending than .csv and .parquet; OutputError
  explicit MergeWriter(const std::filesystem::path& path);

  /// @throws OutputError
  void append(const Event& event);
  void finish() { writer_.finish(); }

 private:
  events::AnswerWriter writer_;
};

/// Writes the graph of one event for training: FOLDER/NAME-fragments.parquet and FOLDER/NAME-edges.parquet,
/// with fragment_id and particle_id, the columns of Node, and those of Edge but the answer (score).
/// The folder is made when it is not there.
/// @throws OutputError when a file cannot be written.
/// *Threads*: any, for different names.
void write_graph(const std::filesystem::path& folder, std::string_view name,
                 ConstView<Fragment> fragments, ConstView<Node> nodes, ConstView<Edge> edges);

}  // namespace tensoa::merge
