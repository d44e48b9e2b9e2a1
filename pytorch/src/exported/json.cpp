// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "exported/json.hpp"

#include <stdexcept>

namespace tensoa::pytorch::exported {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("its JSON is not that of torch.export: " + what);
}

}  // namespace

Json parse_json(std::string_view text, const std::string& file) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    throw std::runtime_error("its " + file + " is not JSON: it was changed or damaged");
  }
  return json;
}

const Json& member(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end()) fail(std::string("\"") + key + "\" is missing");
  return *found;
}

const Json& array(const Json& object, const char* key) {
  const Json& found = member(object, key);
  if (!found.is_array()) fail(std::string("\"") + key + "\" is not a list");
  return found;
}

std::int64_t number(const Json& value) {
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)) {
    fail(std::string("a ") + value.type_name() + " where a whole number is expected");
  }
  return value.get<std::int64_t>();
}

const std::string& text(const Json& value) {
  if (!value.is_string()) fail(std::string("a ") + value.type_name() + " where text is expected");
  return value.get_ref<const std::string&>();
}

std::pair<std::string, const Json*> only_member(const Json& object) {
  if (!object.is_object() || object.size() != 1) fail("a union without exactly one member");
  return {object.begin().key(), &object.begin().value()};
}

}  // namespace tensoa::pytorch::exported
