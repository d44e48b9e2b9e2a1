// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tensoa/engine/model_options.hpp"

namespace tensoa::tools {

/// Runs a model here and on a server: a package on the inputs that were recorded when it was made, and each on made-up ones.
/// Prints what it found. @return whether all answers have equal bits
/// @param file of a package or of trees
/// @param url of the model on the server
/// @throws Error
bool answers_equally(const std::string& file, const std::string& url, const ModelOptions& options);

}  // namespace tensoa::tools
