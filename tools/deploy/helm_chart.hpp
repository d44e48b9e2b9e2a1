// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "deploy/model_folder.hpp"

namespace tensoa::tools {

/// Returns the files of a Helm chart: Triton servers with this model repository, scaled by their load.
/// @param listen the address in a pod where its server accepts calls
std::vector<NewFile> helm_chart(const std::string& name, const std::string& listen);

}  // namespace tensoa::tools
