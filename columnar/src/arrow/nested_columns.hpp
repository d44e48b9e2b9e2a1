// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/api.h>

#include <memory>
#include <string>
#include <vector>

#include "tensoa/columnar/number_type.hpp"

// Columns of a table, and fields inside them, by names.

namespace tensoa::columnar {

/// A column, or a field of the structs in one. A list of structs is one list for each field.
struct NestedColumn {
  std::string name;                       ///< "jet.pt"
  std::vector<int> places;                ///< of the column, of the field in its struct, …
  std::shared_ptr<arrow::DataType> type;  ///< of a field of structs in lists: lists
};

FileColumn file_column(std::string name, const arrow::DataType& type);

/// All that a name can mean, each before its fields, which may not be called as a column is.
std::vector<NestedColumn> nested_columns(const arrow::Schema& schema);
std::vector<FileColumn> file_columns(const arrow::Schema& schema);

/// The type with the values of dictionaries in their place, also inside structs, lists and maps.
std::shared_ptr<arrow::DataType> without_dictionaries(const std::shared_ptr<arrow::DataType>& type);

/// The columns of these names. @throws InputError for one that is absent, or there twice
std::vector<NestedColumn> find_columns(const std::vector<std::string>& names,
                                       const arrow::Schema& schema, const std::string& path);

/// A batch of these columns. Copies no numbers. @throws InputError where memory does not suffice
std::shared_ptr<arrow::RecordBatch> select(const arrow::RecordBatch& batch,
                                           const std::vector<NestedColumn>& columns,
                                           const std::string& path);

/// The type of the elements of a list; nullptr of other types.
const arrow::DataType* element_type(const arrow::DataType& type);

}  // namespace tensoa::columnar
