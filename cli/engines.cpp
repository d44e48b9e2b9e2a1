// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/engines.hpp"

#include "tensoa/forest/engines.hpp"
#include "tensoa/onnx/engines.hpp"

namespace tensoa::cli {

void register_engines(const CLI::App& command) {
  forest::register_engines();
  onnx::register_engines();
  register_torch();
  register_remote(command);
}

}  // namespace tensoa::cli
