// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "keep.hpp"
#include "tensoa/columnar/table_file.hpp"
#include "tensoa/columnar/table_writer.hpp"
#include "tensoa/package/inspect.hpp"

// Which columns of a file become which columns of a model.

namespace tensoa::tools {

/// The options of `tensoa infer` that concern columns.
struct ColumnChoice {
  std::vector<std::string> columns;  ///< of --columns: names, or FILE_NAME=MODEL_NAME
  std::vector<std::string> copied;
  std::string group;  ///< empty: none
  std::vector<KeepCondition> keep;
  columnar::NumberRules rules;  ///< of --convert and --null
};

/// The columns for one call of the model.
enum class CallUnit {
  kRows,    ///< any number of rows, which do not depend on each other
  kGroups,  ///< neighbours that have one number in the column of --group
  kLists,   ///< one row of the file, whose columns are lists
};

/// An input block, and which column of a chunk each of its planes is.
struct InputSource {
  BlockDescription block;
  std::size_t collection = 0;  ///< inputs of one number have equal numbers of rows
  std::vector<std::size_t> columns;
};

/// An output block, and how many rows a call gives it.
struct OutputTarget {
  BlockDescription block;
  std::optional<std::size_t> collection;  ///< the rows of this input collection
  std::size_t rows = 0;                   ///< else
};

/// A comparison of --keep, with an output or a column of the file.
struct BoundComparison {
  KeepCondition comparison;
  DType dtype = DType::kF64;
  std::optional<std::size_t> output;  ///< number among the written columns
  std::size_t column = 0;             ///< else of the chunk
};

/// The columns that are read from a file, and their use.
struct InferColumns {
  columnar::ReadOptions read;
  CallUnit unit = CallUnit::kRows;
  std::vector<InputSource> inputs;
  std::vector<OutputTarget> outputs;
  std::size_t collections = 0;
  bool gives_one_row_a_group = false;            ///< and not one for each row
  std::optional<std::size_t> group;              ///< column of the chunk
  std::vector<std::size_t> copied;               ///< likewise
  std::vector<columnar::WrittenColumn> written;  ///< of each plane of each output
  std::vector<BoundComparison> keep;
  std::vector<std::string> conversions;  ///< "x: int64 to float32, each number is checked"
};

/// Matches the columns of a model with those of a file.
/// @param model which has a binding
/// @throws InputError for what the file lacks, or has as another type; ConfigError for what the options or the
/// model do not allow
InferColumns match_columns(const package::ModelDescription& model, const std::string& model_name,
                           const columnar::TableFile& file, const ColumnChoice& choice);

}  // namespace tensoa::tools
