// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exported/json.hpp"

// Sizes that differ from call to call, and the arithmetic that graphs do with them.

namespace tensoa::pytorch::exported {

/// The names of the sizes that a program leaves open: "s77".
class Symbols {
 public:
  std::size_t number_of(std::string_view name);
  std::size_t count() const noexcept { return names_.size(); }

 private:
  std::vector<std::string> names_;
};

/// A size as the file has it: a number, a symbol, or an expression of symbols as sympy's srepr writes it:
/// `Mul(Integer(2), Symbol('s77', positive=True, integer=True))`.
class Size {
 public:
  /// Values of symbols in a call; kUnknown before an input has bound them.
  using Values = std::vector<std::int64_t>;
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

  /// @param symbolic {"as_int": 3} or {"as_expr": {"expr_str": "…"}}
  Size(const Json& symbolic, Symbols& symbols);

  std::optional<std::int64_t> fixed() const noexcept;
  std::optional<std::size_t> symbol() const noexcept;

  /// Nothing where a symbol is unknown, the expression is not one of sums, products, quotients and bounds of
  /// whole numbers, or its value does not fit.
  std::optional<std::int64_t> value(const Values& symbols) const;

  /// Whether both are the same expression.
  friend bool operator==(const Size&, const Size&) = default;

 private:
  enum class Operation : std::uint8_t {
    kNumber,
    kSymbol,
    kAdd,
    kMul,
    kFloorDiv,
    kMod,
    kMax,
    kMin,
    kUnknown
  };
  struct Step {
    Operation operation;
    std::int64_t value;  ///< the number, the symbol, or how many operands
    friend bool operator==(const Step&, const Step&) = default;
  };
  class Parser;

  std::vector<Step> steps_;  ///< operands before their operation
};

/// Of the calls of operators.
using Stack = std::vector<c10::IValue>;

/// Arithmetic of Python on sizes: takes its operands from the stack and leaves its result there.
using SizeOperation = void (*)(Stack& stack);

/// That of a node's target, "_operator.floordiv", and the number of its operands; nothing for others.
struct KnownOperation {
  SizeOperation run;
  std::size_t operands;
};
std::optional<KnownOperation> size_operation(std::string_view target);

}  // namespace tensoa::pytorch::exported
