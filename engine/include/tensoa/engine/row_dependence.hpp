// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// @file
/// Whether a model's results for a row depend on the other rows of the call: Model::row_dependence().

namespace tensoa {

/// Whether the rows of a call depend on each other. docs/row_dependence.md describes how it is found.
struct RowDependence {
  enum class Answer : std::uint8_t {
    kUnknown,  ///< unknown: treat them as dependent
    kIndependent,  ///< proven: each row of each output follows from the same row of the inputs of its collection,
    ///< and from the scalars of the call, whichever and however many other rows there are
    kDependent,  ///< an operation reads other rows, their number, or a row's place among them
  };

  Answer answer = Answer::kUnknown;

  /// Of kDependent the operation, and the author's line where the model has it; of kUnknown why not.
  std::string reason;

  /// Whether rows may be given in other calls than they were, up to rounding: in chunks, or those of several
  /// calls that have equal scalars in one.
  bool are_independent() const noexcept { return answer == Answer::kIndependent; }
};

/// "independent", "dependent" or "unknown".
std::string_view name_of(RowDependence::Answer answer) noexcept;

/// "dependent: aten.mean along the rows, at model.py:12": for people.
std::string to_string(const RowDependence& rows);

}  // namespace tensoa
