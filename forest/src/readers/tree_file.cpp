// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "tensoa/core/error.hpp"
#include "tensoa/forest/readers.hpp"

namespace tensoa::forest {

std::optional<TreeFile> kind_of(std::string_view beginning) noexcept {
  if (beginning.starts_with("tree\n") || beginning.starts_with("tree\r\n")) {
    return TreeFile::kLightgbm;
  }
  if (!beginning.starts_with('{')) return std::nullopt;
  // The first key: in quotes, or behind its length, a number whose type is a letter.
  const std::size_t first = beginning.find_first_not_of(" \t\r\n", 1);
  if (first == std::string_view::npos) return std::nullopt;
  const std::string_view key = beginning.substr(first);
  const auto is_of_model = [](std::string_view name) {
    return name.starts_with("learner") || name.starts_with("version");
  };
  if (key.front() == '"' && is_of_model(key.substr(1))) return TreeFile::kXgboostJson;
  constexpr std::size_t kLengthBytes = 9;  // 'L', and an int64
  if (key.front() == 'L' && key.size() > kLengthBytes && is_of_model(key.substr(kLengthBytes))) {
    return TreeFile::kXgboostUbjson;
  }
  return std::nullopt;
}

namespace {

/// Whether it is a binary file of XGBoost before 3.1: parameters, then two texts behind their lengths, of the objective and of the booster.
bool is_binary_xgboost(std::string_view bytes) noexcept {
  constexpr std::size_t kParameters = 136;
  constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);
  std::size_t at = kParameters;
  std::string_view text;
  for (int i = 0; i < 2; ++i) {
    std::uint64_t length = 0;
    if (bytes.size() < at + kLengthBytes) return false;
    std::memcpy(&length, bytes.data() + at, kLengthBytes);
    at += kLengthBytes;
    if (bytes.size() - at < length) return false;
    text = bytes.substr(at, length);
    at += length;
  }
  return text == "gbtree" || text == "gblinear" || text == "dart";
}

}  // namespace

Ensemble read_tree_file(const std::filesystem::path& path, const ReadOptions& options) {
  const std::string subject = "model " + path.string() + ": ";
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw LoadError(subject + error.message());
  std::string bytes(size, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(size))) {
    throw LoadError(subject + "it cannot be read");
  }
  return read_trees(bytes, subject, options);
}

Ensemble read_trees(std::string_view bytes, const std::string& subject,
                    const ReadOptions& options) {
  const std::optional<TreeFile> kind = kind_of(bytes);
  if (!kind && is_binary_xgboost(bytes)) {
    throw LoadError(subject +
                    "it is a binary file of XGBoost before 3.1; load it with xgboost < 3.1 and "
                    "save_model(\"model.json\")");
  }
  if (!kind) {
    throw LoadError(subject +
                    "it is none of XGBoost (JSON, UBJSON) or LightGBM (text); make a package of it "
                    "with tensoa compile");
  }
  switch (*kind) {
    case TreeFile::kXgboostJson:
      return read_xgboost_json(bytes, subject, options);
    case TreeFile::kXgboostUbjson:
      return read_xgboost_ubjson(bytes, subject, options);
    case TreeFile::kLightgbm:
      break;
  }
  return read_lightgbm(bytes, subject, options);
}

}  // namespace tensoa::forest
