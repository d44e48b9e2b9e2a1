// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include "tensoa/forest/readers.hpp"

namespace tensoa::forest {

/// Of `rounds` in a file. @throws std::runtime_error where `options` wants more
inline std::size_t rounds_to_take(const ReadOptions& options, std::size_t rounds) {
  if (options.rounds > rounds) {
    throw std::runtime_error("it has " + std::to_string(rounds) + " rounds, " +
                             std::to_string(options.rounds) + " are wanted");
  }
  return options.rounds == ReadOptions::kAllRounds ? rounds : options.rounds;
}

}  // namespace tensoa::forest
