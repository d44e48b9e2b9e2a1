// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

/// @file
/// The frame of a program with subcommands.

namespace tensoa::cli {

/// The function of a subcommand, called once its arguments are read; the result is the program's exit status.
using Action = std::function<int()>;

/// Exit status: 0 success, 2 bad input or use, 1 anything else.
inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;
inline constexpr int kBadInput = 2;

struct Program {
  std::string name;
  std::string description;
  /// Adds the subcommands; the callback of the chosen one sets `action`.
  std::function<void(CLI::App& program, Action& action)> add_commands;
};

/// Runs the subcommand that the arguments name, with the engines of the build. Prints an error as one line
/// "NAME: what is wrong" on stderr. *Threads*: one call for each process.
/// @return the exit status
int run(int argc, char** argv, const Program& program);

/// A check of an option that takes a number: it lies between two others. Not CLI::Range: a NaN is in each of them.
CLI::Validator number_between(double least, double most);

/// The meaning of the path "-".
inline const std::string kStdout = "/dev/stdout";

/// Adds an option that takes the path of something to write, or "-".
CLI::Option* add_path_option(CLI::App& command, const std::string& name, std::string& path,
                             const std::string& help);

}  // namespace tensoa::cli
