// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/demo_models.hpp"
#include "cli/program.hpp"

namespace tensoa::tools {

using cli::Action;
using cli::kBadInput;
using cli::kFailure;
using cli::kStdout;
using cli::kSuccess;

// Each adds one subcommand to the program and sets `action` when it is chosen.

void add_track_command(CLI::App& program, Action& action);
void add_merge_command(CLI::App& program, Action& action);
void add_graph_command(CLI::App& program, Action& action);
void add_infer_command(CLI::App& program, Action& action);
void add_check_command(CLI::App& program, Action& action);
void add_inspect_command(CLI::App& program, Action& action);
void add_deploy_command(CLI::App& program, Action& action);
/// Adds nothing where the program was built without models of servers.
void add_top_command(CLI::App& program, Action& action);
void add_compile_command(CLI::App& program, Action& action);
void add_describe_command(CLI::App& program, Action& action);

/// The kinds of models, for help texts.
inline const std::string kModel =
    "A package or program of torch.export (both .pt2), TorchScript file (.pt), tree file (XGBoost, "
    "LightGBM), ONNX file or the URL of a model on servers";

}  // namespace tensoa::tools
