// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensoa/forest/ensemble.hpp"

namespace tensoa::forest {

/// Pairs of a name and a text: the facts about an ensemble that people read. The same as facts_of() of
/// python/tensoa/package/forest.py, which packages are made with.
std::vector<std::pair<std::string, std::string>> facts_of(const Ensemble& ensemble);

}  // namespace tensoa::forest
