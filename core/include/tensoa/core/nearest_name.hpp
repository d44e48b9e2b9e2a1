// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// @file
/// For messages about a name that is not there.

namespace tensoa {

/// Returns "; the nearest is jet_pt" for a message: the name with the fewest edits from `name`, before it a field of
/// that name ("jet.pt" for "pt"). Empty where the nearest has less than half in common with it.
std::string nearest_of(std::string_view name, const std::vector<std::string>& names);

/// Returns "x, y, z" for a message: of many names the first ones, and how many there are.
std::string listed(const std::vector<std::string>& names);

}  // namespace tensoa
