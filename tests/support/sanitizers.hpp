// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tensoa::test {

/// Whether this is a build with AddressSanitizer or ThreadSanitizer. They expect one stack for each
/// thread: those that a oneTBB built without them switches to look like a wild access.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kStacksAreWatched = true;
#else
inline constexpr bool kStacksAreWatched = false;
#endif

}  // namespace tensoa::test
