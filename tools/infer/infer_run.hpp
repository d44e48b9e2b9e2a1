// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "infer_call.hpp"
#include "infer_columns.hpp"
#include "server_options.hpp"
#include "tensoa/engine/row_dependence.hpp"

namespace tensoa::tools {

struct InferCall {
  std::string model;
  ServerOptions servers;
  std::string binding;
  std::vector<std::string>
      outputs;  ///< of a model that does not state its columns: words, as choice.columns then are
  std::vector<std::string> inputs;
  std::string output;
  ColumnChoice choice;
  std::optional<bool> row_numbers;  ///< nothing: where rows are left out
  /// Of --rows: what the caller says of rows, instead of what is known of the model.
  std::optional<RowDependence::Answer> rows;
  bool skips_nulls = false;  ///< of `--null skip`: rows with nulls are not an error
  std::string device = "auto";
  int threads = 1;
  std::size_t rows_per_chunk = 20'000;
  std::string json;
};

/// Rows that could not be read or used.
struct LostRows {
  std::string path;
  std::uint64_t first_row = 0;        ///< in the file
  std::optional<std::uint64_t> rows;  ///< nothing where the file does not say
  std::string message;
};

/// Which numbers the rows of a file have in the output.
struct NumberedFile {
  std::string path;
  std::uint64_t first = 0;
  /// Whether that counts all rows of the files before it: of one that cannot be read to its end, those that were read.
  bool is_exact = true;
};

/// Rows of a file without which the run went on.
struct SkippedOfFile {
  std::string path;
  std::vector<SkippedRows> rows;
};

/// The results of a run.
struct InferSummary {
  std::string model;
  std::string device;
  std::string output;
  std::string row_numbers;                     ///< column of the output; empty: no such column
  std::string unit;                            ///< "rows", "groups" or "lists"
  RowDependence row_dependence;                ///< as far as it was requested: not for lists
  std::optional<RowDependence::Answer> given;  ///< of --rows
  int threads = 1;
  std::size_t files = 0;
  std::uint64_t rows = 0;  ///< that the model saw
  std::uint64_t rows_kept = 0;
  double wall_seconds = 0;
  double read_seconds = 0;  ///< summed over threads, as the next two
  double infer_seconds = 0;
  double write_seconds = 0;
  std::vector<double> busy_seconds;  ///< of each thread
  std::size_t peak_memory = 0;       ///< bytes of the process
  InferCopies copies;
  std::vector<std::string> conversions;
  std::vector<LostRows> lost;
  std::vector<SkippedOfFile> skipped;
  std::vector<NumberedFile> numbered;
  bool skips_nulls = false;  ///< as the call requested
  bool replaces = false;     ///< there was an output of that name

  std::uint64_t rows_skipped() const;
  /// Whether rows are missing that the call did not ask to leave out.
  bool lacks_rows() const;
};

std::string to_table(const InferSummary& summary);
nlohmann::ordered_json to_json(const InferSummary& summary);

/// Runs a model over files. @return the exit status @throws as the parts
int infer(const InferCall& call);

}  // namespace tensoa::tools
