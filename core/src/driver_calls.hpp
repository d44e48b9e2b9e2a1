// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Notifications of implementations of device_ops.hpp to tensoa/core/driver_calls.hpp. Pairs may be nested: the outermost counts.

namespace tensoa::detail {

void driver_entered(int device) noexcept;
void driver_left() noexcept;

}  // namespace tensoa::detail
