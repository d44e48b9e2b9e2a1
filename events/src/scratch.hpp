// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace tensoa::events {

/// Device memory that sorts and sums use. For one step at a time.
struct Scratch {
  std::byte* data;
  std::size_t bytes;
};

}  // namespace tensoa::events
