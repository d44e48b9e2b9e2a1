// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include "aot_layouts.hpp"

/// @file
/// Columns for the program of "mlp" in fused_fixture.cpp, and what it makes of them.

namespace tensoa::test {

inline constexpr float kUntouched = -77.F;
inline std::filesystem::path fused_package(const std::string& name) {
  return TENSOA_FUSED_PACKAGES + name + ".pt2";
}

/// A number that looks like any other, and that sums of a few keep exact.
inline float noise(std::size_t seed) {
  return static_cast<float>((seed * 2654435761U) % 401U) / 4.F - 50.F;
}

inline PortableCollection<Points> points(std::size_t rows, std::size_t seed = 0) {
  PortableCollection<Points> all(rows, Device::cpu());
  for (std::size_t i = 0; i < rows; ++i) {
    all.view().x[i] = noise(3 * i + seed);
    all.view().y[i] = noise(3 * i + 1 + seed);
    all.view().z[i] = noise(3 * i + 2 + seed);
  }
  return all;
}

inline PortableCollection<Answers> answers(std::size_t rows) {
  PortableCollection<Answers> all(rows, Device::cpu());
  for (std::size_t i = 0; i < rows; ++i) all.view().m[i] = all.view().n[i] = kUntouched;
  return all;
}

/// Rows [first, last) are the program's, all others untouched.
inline void expect_sums(const PortableCollection<Answers>& got, std::size_t first, std::size_t last,
                        std::size_t seed = 0) {
  const auto view = got.const_view();
  for (std::size_t i = 0; i < view.size(); ++i) {
    const float x = noise(3 * i + seed);
    const float y = noise(3 * i + 1 + seed);
    const float z = noise(3 * i + 2 + seed);
    const bool is_written = i >= first && i < last;
    ASSERT_EQ(view.m[i], is_written ? x + 2 * y + 3 * z : kUntouched) << "row " << i;
    ASSERT_EQ(view.n[i], is_written ? x * y - z : kUntouched) << "row " << i;
  }
}

}  // namespace tensoa::test
