// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/location.hpp"

#include <algorithm>
#include <utility>

#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// RFC 3986: a letter, then letters, digits, "+", "-" and "."; a file "c://x" has one letter.
std::string scheme_of(std::string_view text) {
  const std::size_t end = text.find("://");
  if (end == std::string_view::npos || end < 2 || !is_letter(text[0])) return {};
  std::string scheme(text.substr(0, end));
  const bool is_one = std::ranges::all_of(scheme, [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
  if (!is_one) return {};
  for (char& c : scheme) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return scheme;
}

}  // namespace

ModelLocation::ModelLocation(std::string text)
    : text_(std::move(text)), scheme_(scheme_of(text_)) {}
ModelLocation::ModelLocation(const char* text) : ModelLocation(std::string(text)) {}
ModelLocation::ModelLocation(std::string_view text) : ModelLocation(std::string(text)) {}
ModelLocation::ModelLocation(const std::filesystem::path& path) : text_(path.string()) {}

std::filesystem::path ModelLocation::path() const {
  if (!is_url()) return text_;
  throw ConfigError("model " + text_ + ": is a URL, expected the path of a file");
}

bool ModelLocation::is_file() const {
  std::error_code status;
  return !is_url() && std::filesystem::is_regular_file(text_, status);
}

std::string to_string(const ModelLocation& location) { return location.text(); }

}  // namespace tensoa
