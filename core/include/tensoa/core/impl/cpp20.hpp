// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// The first lines that a compiler reads, so that an older standard ends in one sentence and not in
/// errors about syntax.

#if __cplusplus < 202002L
#error "tensoa needs C++20: compile with -std=c++20 (CMake: target_compile_features, cxx_std_20)"
#endif
