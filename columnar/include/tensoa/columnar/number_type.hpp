// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensoa/core/dtype.hpp"

/// @file
/// The number type of a column of a file, and the columns of a collection that can be made of it.

namespace tensoa::columnar {

/// The numbers of a column of a file. More than DType has: files also have unsigned integers of 16, 32
/// and 64 bits.
enum class NumberType : std::uint8_t {
  kNone,  ///< text, dates, structs, …: no numbers
  kBool,
  kU8,
  kU16,
  kU32,
  kU64,
  kI8,
  kI16,
  kI32,
  kI64,
  kF16,
  kF32,
  kF64,
  kDecimal,  ///< of any number of digits
};

/// A column of a file, or a field of one: that of a struct is called "jet.pt", and so is that of a list of
/// structs, which is a column of lists. A column without a name is left out: "pt".
struct FileColumn {
  std::string name;
  std::string type;                        ///< as Arrow spells it: "float", "list<item: float>"
  NumberType numbers = NumberType::kNone;  ///< of a list: of its elements
  bool is_list = false;                    ///< each row is a list of any length
};

/// How numbers become those of another type.
enum class Conversion : std::uint8_t {
  kNone,        ///< it is the same type
  kExact,       ///< every number of the type is kept
  kChecked,     ///< numbers of which some may not fit, or are not whole: each is checked
  kRounds,      ///< to floating point of fewer digits
  kImpossible,  ///< numbers to truth values, anything to bfloat16
};

/// Returns how numbers of a file become those of a collection.
Conversion conversion(NumberType from, DType to) noexcept;

/// Returns whether a value is a number of a type: of integers a whole one in their range, of truth values
/// 0 or 1, of floating point one that does not become infinite.
bool holds(DType type, double value) noexcept;

/// Returns the type of a collection's column that has the same values; nothing where no column type has them.
std::optional<DType> dtype_of(NumberType type) noexcept;

}  // namespace tensoa::columnar
