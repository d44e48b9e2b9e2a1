// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa/events/impl/arithmetic.hpp"

/// @file
/// The arithmetic of all applications by the names that the kernels of track use.

namespace tensoa::track {

namespace atomic = events::atomic;
using events::angle_of;
using events::inverse_sinh;

}  // namespace tensoa::track
