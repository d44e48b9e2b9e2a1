// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tensoa/core/error.hpp"

namespace tensoa {

/// Reads descriptions in JSON, also of strangers. All throw InputError.
class JsonFields {
 public:
  using Json = nlohmann::ordered_json;

  /// @param subject begins messages: "description of a binding"
  constexpr explicit JsonFields(std::string_view subject) : subject_(subject) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(std::string(subject_) + ": " + what);
  }

  Json object(std::string_view text) const {
    constexpr int kDeepest = 16;  // what is written has 6; messages and copies recurse
    const auto require_shallow = [this](int depth, Json::parse_event_t, const Json&) {
      if (depth > kDeepest) fail("is nested deeper than " + std::to_string(kDeepest) + " levels");
      return true;
    };
    Json all = Json::parse(text, require_shallow, /*allow_exceptions=*/false);
    if (!all.is_object()) fail("is not JSON of an object");
    return all;
  }

  const Json& member(const Json& object, const char* key) const {
    if (!object.is_object() || !object.contains(key)) fail(quoted(key) + " is missing");
    return object[key];
  }

  const Json& array(const Json& object, const char* key) const {
    const Json& value = member(object, key);
    if (!value.is_array()) fail(quoted(key) + " is " + value.dump() + "; expected a list");
    return value;
  }

  std::string text(const Json& object, const char* key) const {
    const Json& value = member(object, key);
    if (!value.is_string()) fail(quoted(key) + " is " + value.dump() + "; expected text");
    return value.get<std::string>();
  }

  /// A whole number that fits into 32 bits. @param key in messages
  std::uint32_t number(const Json& value, const std::string& key) const {
    const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() <= 0xFFFF'FFFFU;
    if (!fits) fail(quoted(key) + " is " + value.dump() + "; expected a whole number from 0 on");
    return value.get<std::uint32_t>();
  }

 private:
  static std::string quoted(const std::string& key) { return '"' + key + '"'; }

  std::string_view subject_;
};

}  // namespace tensoa
