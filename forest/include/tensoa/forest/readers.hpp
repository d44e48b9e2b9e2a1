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
/// Tree files of XGBoost and LightGBM as they are, also for `tensoa compile`, which makes packages of other formats, too.
///
/// Margins are equal to the last bit to those of the framework: XGBoost's `Booster.predict(output_margin=True)`
/// (not `inplace_predict` of dart, which adds and subtracts the base for each tree), LightGBM's
/// `Booster.predict(raw_score=True)` (of a random forest divided by the number of rounds). Columns hold what the
/// trees see: NaN where a value is missing, categories as the numbers 0, 1, 2 … of the training.
///
/// Links are those of the objective, but multi:softmax returns the probabilities, not the most probable class.
///
/// Refused: linear boosters and trees, unknown objectives, several quantiles of XGBoost 3.4 on (it sorts them),
/// categories that were numbers other than 0, 1, 2 … in a data frame.

namespace tensoa::forest {

enum class TreeFile : std::uint8_t {
  kXgboostJson,    ///< Booster.save_model("model.json")
  kXgboostUbjson,  ///< Booster.save_model("model.ubj")
  kXgboostBinary,  ///< Booster.save_model("model.bin") before XGBoost 3.1, which cannot read it
  kLightgbm,       ///< Booster.save_model("model.txt")
};

/// The format of a file by its first bytes, at most 512; nothing for another format.
std::optional<TreeFile> kind_of(std::string_view beginning) noexcept;

/// The rounds of boosting to read: all, the first ones, or those up to the best iteration.
struct ReadOptions {
  static constexpr std::size_t kAllRounds = 0;
  std::size_t rounds = kAllRounds;
  bool best_iteration = false;  ///< instead of `rounds`; files of LightGBM do not have it
};

/// @param bytes the whole file
/// @param subject the beginning of messages: "model FILE: "
/// @return a whole ensemble (require_whole); its memory is bounded by the size of the file
/// @throws LoadError that names what is missing or unknown, with the tree and the node as the file counts it
Ensemble read_xgboost_json(std::string_view bytes, const std::string& subject,
                           const ReadOptions& options = {});
Ensemble read_xgboost_ubjson(std::string_view bytes, const std::string& subject,
                             const ReadOptions& options = {});
Ensemble read_xgboost_binary(std::string_view bytes, const std::string& subject,
                             const ReadOptions& options = {});
Ensemble read_lightgbm(std::string_view bytes, const std::string& subject,
                       const ReadOptions& options = {});

/// Of whichever of these formats.
Ensemble read_trees(std::string_view bytes, const std::string& subject,
                    const ReadOptions& options = {});

/// The file at `path`. @throws LoadError
Ensemble read_tree_file(const std::filesystem::path& path, const ReadOptions& options = {});

}  // namespace tensoa::forest
