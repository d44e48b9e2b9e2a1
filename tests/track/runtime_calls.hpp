// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// @file
/// Calls of the GPU runtime by this program, from any of its parts: runtime_calls_cuda.cpp takes the
/// place of the functions and calls them.

namespace tensoa::test {

struct RuntimeCalls {
  std::size_t copies_up = 0;    ///< host to device
  std::size_t copies_down = 0;  ///< device to host
  std::size_t other_copies = 0;
  std::size_t bytes_up = 0;
  std::size_t bytes_down = 0;
  std::size_t waits = 0;        ///< for a stream, an event or the device
  std::size_t allocations = 0;  ///< of device or pinned memory, and frees
  std::size_t kernels = 0;
  std::size_t graphs = 0;  ///< launched
};

/// Since the start of the program; none where there is no GPU runtime.
RuntimeCalls runtime_calls();

}  // namespace tensoa::test
