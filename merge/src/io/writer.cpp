// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/writer.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/events/table_columns.hpp"

namespace tensoa::merge {
namespace {

events::TableColumns columns_of(const Event& event, std::vector<std::int64_t>& merged_id) {
  const ConstView<Fragment> fragments = event.fragments.const_view();
  merged_id.assign(event.clusters.size(), -1);
  for (std::size_t f = 0; f < fragments.size(); ++f) {
    std::fill(merged_id.begin() + fragments.first[f], merged_id.begin() + fragments.last[f],
              fragments.merged_id[f]);
  }
  auto table =
      events::TableColumns::of(event.clusters.const_view(), {"time", "cells", "particle_id"});
  table.add("merged_id", merged_id.data());
  return table;
}

std::vector<columnar::WrittenColumn> written_columns() {
  std::vector<std::int64_t> merged_id;
  std::string texts;
  events::TableColumns table = columns_of({}, merged_id);
  table.put_event("", texts);
  return table.columns;
}

std::filesystem::path checked(std::filesystem::path path) {
  events::require_table(path);
  return path;
}

}  // namespace

MergeWriter::MergeWriter(std::filesystem::path path)
    : writer_(checked(std::move(path)), written_columns()) {}

void MergeWriter::append(const Event& event) {
  if (event.clusters.size() == 0) return;
  std::vector<std::int64_t> merged_id;
  std::string texts;
  events::TableColumns table = columns_of(event, merged_id);
  table.put_event(event.name, texts);
  writer_.append(table.rows, table.numbers);
}

void MergeWriter::finish() { writer_.finish(); }

void write_graph(const std::filesystem::path& folder, std::string_view name,
                 ConstView<Fragment> fragments, ConstView<Node> nodes, ConstView<Edge> edges) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw OutputError("cannot make the folder " + folder.string() + ": " + error.message());
  }
  const std::string path = (folder / std::string(name)).string();
  events::TableColumns rows = events::TableColumns::of(fragments, {"first", "last", "merged_id"});
  rows += events::TableColumns::of(nodes, {});
  rows.write(path + "-fragments.parquet");
  events::TableColumns::of(edges, {"score"}).write(path + "-edges.parquet");
}

}  // namespace tensoa::merge
