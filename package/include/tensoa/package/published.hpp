// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensoa/package/inspect.hpp"

/// @file
/// A server's description of a model file that it runs, as a value and as JSON: tensoa's back-end for Triton publishes it, clients
/// compare it. The JSON, of version kPublishedSchema:
///
///     {"schema": 1, "checksum": "9f86…", "columns": "named", "binding": {…},
///      "inputs": [{"collection": 0}], "outputs": [{"collection": 0}, {"rows": 1}],
///      "row_dependence": {"answer": "independent", "reason": ""}}
///
/// - "checksum": SHA-256 of the file (is_checksum).
/// - "columns": "named" where columns must have these names, in this order; "inputs": those of the inputs alone, as of trees, whose
///   answers have no names; "any": others may be bound.
/// - "binding": as tensoa/engine/describe.hpp has it.
/// - "inputs", "outputs": how many rows each block of the binding has, as ArgumentDescription.
/// - "row_dependence": as RowDependence has it; where it is missing, or has an answer of a later version, unknown.
/// - Other keys are ignored.

namespace tensoa::package {

inline constexpr int kPublishedSchema = 1;

/// Parameters of ModelInfer messages (docs/triton.md). The SHA-256 of the file: in a request, the one that must be served; in each
/// answer, and in a config.pbtxt, the one that is.
inline constexpr const char* kChecksumParameter = "tensoa_checksum";

/// A request with this parameter is answered without outputs, and with the model, as the JSON above, in the other parameter.
inline constexpr const char* kDescribeParameter = "tensoa_describe";
inline constexpr const char* kModelParameter = "tensoa_model";

/// The beginning of the message with which a server refuses a request (INVALID_ARGUMENT) whose kChecksumParameter is of another
/// file than its own. Clients look for it: the request may be right for another server.
inline constexpr const char* kOtherFileMessage = "parameter tensoa_checksum: ";

/// Which columns must have the names of the binding.
enum class NamedColumns : std::uint8_t { kNone, kInputs, kAll };

struct PublishedModel {
  std::string checksum;
  NamedColumns named = NamedColumns::kNone;
  ModelDescription
      model;  ///< its binding, inputs and outputs with their blocks, row_dependence; nothing else
};

/// @param published with a binding
std::string to_json(const PublishedModel& published);

/// Names are printable: what a server sends may be shown.
/// @throws InputError that names the missing or wrong field, or another schema
PublishedModel parse_published(std::string_view json);

}  // namespace tensoa::package
