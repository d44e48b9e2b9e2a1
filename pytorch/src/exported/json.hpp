// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

// Members of the JSON of torch.export, each checked. All throw std::runtime_error that says what is missing.

namespace tensoa::pytorch::exported {

using Json = nlohmann::json;

/// @throws std::runtime_error for what is not JSON
Json parse_json(std::string_view text, const std::string& file);

const Json& member(const Json& object, const char* key);
const Json& array(const Json& object, const char* key);

std::int64_t number(const Json& value);
const std::string& text(const Json& value);

/// A union of torch.export is an object of one member: "as_tensor", {"name": "x"}.
std::pair<std::string, const Json*> only_member(const Json& object);

}  // namespace tensoa::pytorch::exported
