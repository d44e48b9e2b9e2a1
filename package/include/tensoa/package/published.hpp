// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tensoa/package/inspect.hpp"

/// @file
/// What a server says of a model file that it runs, as a value and as JSON: tensoa's back-end for Triton publishes it, clients
/// compare it. The JSON, of version kPublishedSchema:
///
///     {"schema": 1, "checksum": "9f86…", "columns": "named", "binding": {…},
///      "inputs": [{"collection": 0}], "outputs": [{"collection": 0}, {"rows": 1}],
///      "row_dependence": {"answer": "independent", "reason": ""}}
///
/// - "checksum": SHA-256 of the file, 64 hexadecimal digits.
/// - "columns": "named" where columns must have these names, in this order; "any": others may be bound.
/// - "binding": as tensoa/engine/describe.hpp has it.
/// - "inputs", "outputs": how many rows each block of the binding has, as ArgumentDescription.
/// - "row_dependence": as RowDependence has it; where it is missing, or has an answer of a later version, unknown.
/// - Other keys are ignored.

namespace tensoa::package {

inline constexpr int kPublishedSchema = 1;

struct PublishedModel {
  std::string checksum;
  bool are_columns_named = false;
  ModelDescription
      model;  ///< its binding, inputs and outputs with their blocks, row_dependence; nothing else
};

/// @param published with a binding
std::string to_json(const PublishedModel& published);

/// Names are printable: what a server sends may be shown.
/// @throws InputError that says what is missing or wrong, or that the schema is another
PublishedModel parse_published(std::string_view json);

}  // namespace tensoa::package
