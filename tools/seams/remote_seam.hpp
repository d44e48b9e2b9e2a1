// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tensoa/engine/model_options.hpp"

// What the program asks of remote/: a seam. with_remote.cpp or without_remote.cpp is linked.

namespace tensoa::tools {

/// Makes models of servers known, where the build has them.
void register_remote();

/// Options for `model` with a model file that runs where no server answers; empty: there is none.
/// @throws ConfigError for a fallback of a model that is a file
ModelOptions with_fallback(const std::string& model, const std::string& fallback);

/// The counters of the servers that this process called, in the text format of Prometheus; empty where there are none.
std::string service_metrics();

}  // namespace tensoa::tools
