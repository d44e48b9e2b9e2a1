// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array_view.hpp"

// The columns that a call is given, by name, whatever they are in.

namespace tensoa::python {

/// How a call's table is given back; kLibrary: a dict of arrays of one library.
enum class TableKind { kDict, kLibrary, kStructured, kPandas, kPolars, kPyarrow, kAwkward };

/// Columns by name. @throws BindingError, and what Python raises
class Columns {
 public:
  virtual ~Columns() = default;

  /// The column of this name; nothing where no column has it.
  /// @param wants_number whether a single number will do
  virtual std::optional<ArrayView> find(const std::string& name, const ArrayUse& use,
                                        bool wants_number) = 0;

  virtual std::vector<std::string> names() const = 0;

  /// Whether columns that the model does not read are an error: of what was written for this call, not of a table.
  virtual bool is_exact() const { return false; }
};

/// A dict, or another mapping. @throws BindingError for keys that are not text
std::unique_ptr<Columns> columns_of_mapping(nb::object mapping, const std::string& subject);

/// The columns of `table`, where it is a table; nothing for arrays and other objects.
/// @param kind set to what gives it back
std::unique_ptr<Columns> columns_of_table(nb::object table, const std::string& subject,
                                          TableKind& kind);

/// By the Arrow PyCapsule interface.
std::unique_ptr<Columns> columns_of_arrow(nb::object table, const std::string& subject);

/// An array of records of Awkward Array, or of lists of them.
std::unique_ptr<Columns> columns_of_awkward(nb::object array);

/// A single column of Arrow (`__arrow_c_array__`, `__arrow_c_stream__`).
ArrayView view_of_arrow(nb::handle column, const ArrayUse& use);

/// Whether an object has the Arrow PyCapsule interface.
bool is_arrow(nb::handle value);

}  // namespace tensoa::python
