// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <string>

namespace tensoa::tools {

/// What a subcommand does once its arguments are read; the result is the program's exit status.
using Action = std::function<int()>;

/// Exit status: 0 success, 2 bad input or use, 1 anything else.
inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;
inline constexpr int kBadInput = 2;

// Each adds one subcommand to the program and sets `action` when it is chosen.
// @param command_line the whole call, for the result files

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
void add_bench_command(CLI::App& program, Action& action, const std::string& command_line);

/// What a model may be, for help texts.
inline const std::string kModel =
    "A package or program of torch.export (both .pt2), TorchScript file (.pt), tree file (XGBoost, "
    "LightGBM), ONNX file or the URL of a model on servers";

/// A check of an option that takes a number: it lies between two others. Not CLI::Range: a NaN is in each of them.
CLI::Validator number_between(double least, double most);

/// What the path "-" stands for.
inline const std::string kStdout = "/dev/stdout";

/// Adds an option that takes the path of something to write, or "-".
CLI::Option* add_path_option(CLI::App& command, const std::string& name, std::string& path,
                             const std::string& help);

std::filesystem::path program_folder();

/// The model beside the program, or installed with it: what `make models` writes, else the package of
/// `make demo`. @param name of the file; "tensoa" for tracks, "merge" for fragments
std::string default_model(const std::string& name = "tensoa");

/// The path. @throws LoadError with the way out where it is the default, and nothing is there
const std::string& require_model(const std::string& path);

/// The folder beside the program that `make bench-packages` fills.
std::string default_packages();

}  // namespace tensoa::tools
