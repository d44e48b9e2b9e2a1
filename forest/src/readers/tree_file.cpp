// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "tensoa/core/error.hpp"
#include "tensoa/forest/readers.hpp"
#include "xgboost_file.hpp"

namespace tensoa::forest {

std::optional<TreeFile> kind_of(std::string_view beginning) noexcept {
  if (beginning.starts_with("tree\n") || beginning.starts_with("tree\r\n")) {
    return TreeFile::kLightgbm;
  }
  if (is_binary_xgboost(beginning)) return TreeFile::kXgboostBinary;
  beginning.remove_prefix(std::min(beginning.find_first_not_of(" \t\r\n"), beginning.size()));
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
  if (!kind) {
    throw LoadError(subject +
                    "it is none of XGBoost (JSON, UBJSON, binary; the first key is learner or "
                    "version) or LightGBM (text); other "
                    "formats become packages by tensoa compile");
  }
  switch (*kind) {
    case TreeFile::kXgboostJson:
      return read_xgboost_json(bytes, subject, options);
    case TreeFile::kXgboostUbjson:
      return read_xgboost_ubjson(bytes, subject, options);
    case TreeFile::kXgboostBinary:
      return read_xgboost_binary(bytes, subject, options);
    case TreeFile::kLightgbm:
      break;
  }
  return read_lightgbm(bytes, subject, options);
}

}  // namespace tensoa::forest
