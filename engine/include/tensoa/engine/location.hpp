// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tensoa {

/// Where a model is: a path, or a URL, which begins with a scheme: `grpc://host:8001/network`.
class ModelLocation {
 public:
  ModelLocation(std::string text);                   // NOLINT(google-explicit-constructor)
  ModelLocation(const char* text);                   // NOLINT(google-explicit-constructor)
  ModelLocation(std::string_view text);              // NOLINT(google-explicit-constructor)
  ModelLocation(const std::filesystem::path& path);  // NOLINT(google-explicit-constructor)

  /// As it was given.
  const std::string& text() const noexcept { return text_; }

  bool is_url() const noexcept { return !scheme().empty(); }

  /// "grpc" of "grpc://host", in lower case; empty for a path.
  const std::string& scheme() const noexcept { return scheme_; }

  /// @throws ConfigError for a URL
  std::filesystem::path path() const;

  /// Whether it is the path of a file that is there.
  bool is_file() const;

  friend bool operator==(const ModelLocation& a, const ModelLocation& b) noexcept {
    return a.text_ == b.text_;
  }

 private:
  std::string text_;
  std::string scheme_;
};

/// As it was given: for messages.
std::string to_string(const ModelLocation& location);

}  // namespace tensoa
