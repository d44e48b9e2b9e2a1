// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tensoa/engine/model_options.hpp"

// Models of servers, which a build may lack: with_remote.cpp or without_remote.cpp is linked.

namespace tensoa::c {

/// Makes them known, where there are any.
void register_remote();

/// Options of a model of servers, which are held to one file: they may get another one before they are asked again.
/// @param checksum empty: they do not state which they have
ModelOptions options_for_file(const std::string& checksum);

}  // namespace tensoa::c
