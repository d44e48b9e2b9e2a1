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
/// What a column of a file holds, and which columns of a collection can be made of it.

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
};

/// A column of a file.
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
  kChecked,     ///< integers, of which some may not fit: each is looked at, and kept or an error
  kRounds,      ///< to floating point of fewer digits
  kImpossible,  ///< floating point to integers, numbers to truth values, anything to bfloat16
};

/// Returns how numbers of a file become those of a collection.
Conversion conversion(NumberType from, DType to) noexcept;

/// Returns the type of a collection's column that has the same values; nothing where there is none.
std::optional<DType> dtype_of(NumberType type) noexcept;

/// Returns the name with the fewest edits from `name`; empty without names.
std::string nearest_name(std::string_view name, const std::vector<std::string>& names);

}  // namespace tensoa::columnar
