// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa/events/impl/serial_launcher.hpp"

namespace tensoa::track {

using events::OneLane;
using events::SerialLauncher;

}  // namespace tensoa::track
