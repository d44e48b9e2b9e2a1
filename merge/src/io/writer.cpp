// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/writer.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "tensoa/core/error.hpp"

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

events::TableColumns header() {
  std::vector<std::int64_t> merged_id;
  return columns_of({}, merged_id);
}

}  // namespace

MergeWriter::MergeWriter(const std::filesystem::path& path) : writer_(path, header()) {}

void MergeWriter::append(const Event& event) {
  std::vector<std::int64_t> merged_id;
  writer_.append(event.name, columns_of(event, merged_id));
}

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
