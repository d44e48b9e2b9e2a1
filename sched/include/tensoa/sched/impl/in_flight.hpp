// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tensoa/core/error.hpp"

namespace tensoa::sched::detail {

/// @param requested 0: the default, two for each thread of the arena
std::size_t events_in_flight(std::size_t requested);

/// The error of an event in which std::bad_alloc was thrown.
DeviceFullError no_memory_for_event();

}  // namespace tensoa::sched::detail
