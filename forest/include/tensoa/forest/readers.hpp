// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "tensoa/forest/ensemble.hpp"

/// @file
/// Tree files of XGBoost and LightGBM as they are. Other formats become packages by `python -m tensoa.import`.

namespace tensoa::forest {

enum class TreeFile : std::uint8_t {
  kXgboostJson,    ///< Booster.save_model("model.json")
  kXgboostUbjson,  ///< Booster.save_model("model.ubj")
  kLightgbm,       ///< Booster.save_model("model.txt")
};

/// What the first bytes of a file say; nothing for another format.
std::optional<TreeFile> kind_of(std::string_view beginning) noexcept;

struct ReadOptions {
  /// How many rounds of boosting to take: all, those up to the file's best iteration, or a number.
  static constexpr std::size_t kAllRounds = 0;
  std::size_t rounds = kAllRounds;
  bool best_iteration = false;
};

/// @param bytes the whole file
/// @param subject the beginning of messages: "model FILE: "
/// @throws LoadError that names what is missing or unknown, with tree and node
Ensemble read_xgboost_json(std::string_view bytes, const std::string& subject,
                           const ReadOptions& options = {});
Ensemble read_xgboost_ubjson(std::string_view bytes, const std::string& subject,
                             const ReadOptions& options = {});
Ensemble read_lightgbm(std::string_view bytes, const std::string& subject,
                       const ReadOptions& options = {});

/// The file at `path`, of whichever of these formats. @throws LoadError
Ensemble read_tree_file(const std::filesystem::path& path, const ReadOptions& options = {});

}  // namespace tensoa::forest
