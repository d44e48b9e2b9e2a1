// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "remote_seam.hpp"

void tensoa::c::register_remote() {}
