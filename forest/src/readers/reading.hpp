// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "tensoa/core/error.hpp"
#include "tensoa/forest/readers.hpp"

/// @file
/// Common part of all readers: errors are std::runtime_error inside and one line of a LoadError outside.

namespace tensoa::forest {

[[noreturn]] inline void fail(const std::string& what) { throw std::runtime_error(what); }

constexpr const char* kCategoriesHadNames =
    "its categories had names: columns must hold their codes of the training data, counted from 0";

/// Of `rounds` in a file.
inline std::size_t rounds_to_take(const ReadOptions& options, std::size_t rounds) {
  if (options.rounds > rounds) {
    fail("it has " + std::to_string(rounds) + " rounds, " + std::to_string(options.rounds) +
         " are wanted");
  }
  return options.rounds == ReadOptions::kAllRounds ? rounds : options.rounds;
}

/// The whole ensemble that `read` returns. @throws LoadError
template <class Read>
Ensemble read_whole(const std::string& subject, const char* framework, const Read& read) {
  Ensemble ensemble;
  try {
    ensemble = read();
  } catch (const std::runtime_error& error) {
    std::string what = error.what();
    std::ranges::replace(what, '\n', ' ');  // of names in the file
    throw LoadError(subject + "this model of " + framework + " cannot be read: " + what);
  }
  require_whole(ensemble, subject);
  return ensemble;
}

}  // namespace tensoa::forest
