// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tensoa::tools {

/// Runs a package here and on a server, on the inputs that were recorded when it was made, and on made-up ones.
/// Prints what it found. @return whether all answers have equal bits
/// @param url of the model on the server
/// @throws Error
bool answers_equally(const std::string& package, const std::string& url);

}  // namespace tensoa::tools
