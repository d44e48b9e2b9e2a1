// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tensoa::forest {

/// Of lists and objects in each other; parsers and messages recurse.
inline constexpr std::size_t kDeepestJson = 64;

/// Receives the values of read_json, in the order of the text.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void begin_object() = 0;
  virtual void key(std::string_view name) = 0;
  virtual void end_object() = 0;
  virtual void begin_array() = 0;
  virtual void end_array() = 0;
  virtual void string(std::string value) = 0;
  /// A number, or a word, as it is written: "-1.5E0", "Infinity", "true".
  virtual void word(std::string_view text) = 0;
};

/// Reads one JSON text. Unlike nlohmann::json it leaves numbers as text: most of those in a model of XGBoost are not
/// used, the others become floats without a double between. XGBoost also writes NaN and Infinity.
/// @throws std::runtime_error that says what is wrong where, and what `events` throws
void read_json(std::string_view text, JsonEvents& events);

}  // namespace tensoa::forest
