// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

/// @file
/// Settings in the environment for property tests that draw at run time. A failure prints the seed.

namespace tensoa::test {

/// TENSOA_TEST_SEED of the environment: other draws for each.
inline std::uint32_t seed() {
  const char* const text = std::getenv("TENSOA_TEST_SEED");
  return text == nullptr ? 1U : static_cast<std::uint32_t>(std::stoul(text));
}

/// TENSOA_TEST_DRAWS of the environment, or `usual`.
inline std::size_t draws(std::size_t usual) {
  const char* const text = std::getenv("TENSOA_TEST_DRAWS");
  return text == nullptr ? usual : std::stoul(text);
}

}  // namespace tensoa::test
