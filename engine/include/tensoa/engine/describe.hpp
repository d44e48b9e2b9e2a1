// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensoa/engine/model_metadata.hpp"

/// @file
/// The part of a binding that is the same for all events, as a value and as JSON: how the exporter
/// (tensoa compile --binding FILE) gets the columns that a model will read and write, and how
/// a package stores the columns that it was made for.
///
///     write_file("binding.json", describe(metadata));
///
/// The JSON, of version kBindingSchema:
///
///     {"schema": 1, "match": "auto",
///      "inputs": [{"name": "features", "collection": 0, "shape": "rows", "kind": "plain",
///                  "element": [], "column_dtype": "float32", "dtype": "float32",
///                  "columns": [{"name": "x", "plane": 0}, {"name": "z", "plane": 2}]}],
///      "outputs": […]}
///
/// - "match": "auto", "order" or "name", see Match.
/// - "collection": position in the SoAMetadata of the inputs or of the outputs; blocks of one have one
///   number of rows.
/// - "shape": "rows" [n, k, …] or "columns" [k, n], see BlockShape.
/// - "kind": "plain", "vector", "matrix" or "scalar"; "element": [], [R] or [R, C].
/// - "column_dtype" is that of the columns, "dtype" that of the tensor (Repack converts).
/// - "plane": where the first plane of the column lies, counted in planes from the first one of the
///   block in memory, so that columns before and after may change. For scalars: in lines of
///   kAlignment bytes.

namespace tensoa {

inline constexpr int kBindingSchema = 1;

struct ColumnDescription {
  std::string name;
  std::uint32_t plane = 0;

  friend bool operator==(const ColumnDescription&, const ColumnDescription&) = default;
};

struct BlockDescription {
  std::string name;
  std::size_t collection = 0;
  BlockShape shape = BlockShape::kRows;
  FieldInfo element{};  ///< kind, dtype and extents of each column
  DType dtype = DType::kF32;
  std::vector<ColumnDescription> columns;
};

struct BindingDescription {
  Match match = Match::kAuto;
  std::vector<BlockDescription> inputs;
  std::vector<BlockDescription> outputs;
};

/// @throws BindingError for a block that has no columns of one dtype in its memory: ragged forms, and
///     Repack of several dtypes
BindingDescription description_of(const Binding& binding);

/// Whether `block` is what was described, but for its name, its collection and everything that changes
/// from event to event; and whether its tensors are such as those over columns: of their dtype and the
/// described sizes, rows side by side (of scalars: one element for all), one place for each column. Empty, or what
/// differs: "column 1 is z, expected y". Time grows with the columns, allocates only for the answer.
/// @param block with tensors that require_valid_tensors() accepts
std::string difference(const BlockDescription& described, const BoundBlock& block);

/// As difference(), of the columns alone, wherever they lie and whatever their dtype: their number, names, order, kinds and
/// elements.
std::string difference_of_columns(const BlockDescription& described,
                                  std::span<const BoundColumn> columns);

/// "auto", "order" or "name".
std::string_view name_of(Match match) noexcept;

/// JSON, as above.
std::string to_json(const BindingDescription& description);

/// @throws InputError that names the missing or wrong field, or another schema
BindingDescription parse_binding(std::string_view json);

/// The JSON of a binding. @throws BindingError, as description_of
template <template <template <class> class> class... Layouts>
std::string describe(const ModelMetadata<Layouts...>& metadata) {
  return to_json(description_of(metadata.binding()));
}

}  // namespace tensoa
