// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/program.hpp"

#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "cli/engines.hpp"
#include "cli/signals.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/log.hpp"
#include "tensoa/core/nearest_name.hpp"
#include "tensoa/core/version.hpp"

namespace tensoa::cli {
namespace {

/// The C library gives large blocks back to the kernel at every free, and each event would fault
/// its pages in again (measured: a tenth to a quarter of the time of inference). Here they are
/// kept.
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that glibc takes
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

/// How an option is written: `--input INPUT`, or `INPUT` for a positional one.
std::string in_a_call(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  std::string value = option.get_single_name();
  std::ranges::transform(value, value.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return "--" + option.get_single_name() + ' ' + value;
}

/// The message about an argument that a command does not accept.
/// @param call how the command is called: "tensoa track"
std::string unexpected(const std::string& call, const CLI::App& command,
                       const std::string& argument) {
  std::string text = '"' + argument + "\" is unknown";
  const auto subcommands = command.get_subcommands([](const CLI::App*) { return true; });
  std::vector<std::string> names;
  if (argument.starts_with('-')) {
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    return text + nearest_of(argument.substr(0, argument.find('=')), names);
  }
  if (!subcommands.empty()) {
    for (const CLI::App* subcommand : subcommands) names.push_back(subcommand->get_name());
    return text + nearest_of(argument, names);
  }
  std::string required;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_required()) required += ' ' + in_a_call(*option);
  }
  return "\"" + argument + "\" stands behind no option; expected " + call + required;
}

/// One line: what is wrong, what is near to it, and where more is said.
std::string message_of_wrong_use(const CLI::App* program, const CLI::Error& error) {
  std::string name = program->get_name();
  const CLI::App* command = program;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += ' ' + command->get_name();
  }
  // CLI11 misses what is required before it looks at what stands in its place.
  const std::vector<std::string> unknown = command->remaining();
  const bool is_missing = error.get_name() == "RequiredError" ||
                          error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  return program->get_name() + ": " +
         (is_missing && !unknown.empty() ? unexpected(name, *command, unknown.front())
                                         : std::string(error.what())) +
         "; `" + name + " --help` lists what there is\n";
}

std::string& program_name() {
  static std::string name;
  return name;
}

void print_error(std::string_view what) { fmt::print(stderr, "{}: {}\n", program_name(), what); }

void print_warning(LogLevel level, std::string_view message) {
  if (level == LogLevel::kWarning) print_error(message);
}

}  // namespace

int run(int argc, char** argv, const Program& parts) {
  program_name() = parts.name;
  keep_freed_memory();
  set_log_sink(print_warning);
  handle_signals(program_name());
  CLI::App program(parts.description, parts.name);
  const std::string torch = torch_version();
  program.set_version_flag(
      "--version",
      std::string(kVersion) + (torch.empty() ? " (without torch)" : " (torch " + torch + ")"));
  program.require_subcommand(1);
  program.failure_message(message_of_wrong_use);

  Action action;
  parts.add_commands(program, action);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kSuccess : kBadInput;
  }
  try {
    register_engines(*program.get_subcommands().front());
    const int status = action();
    if (std::fflush(stdout) != 0) throw OutputError("cannot write to stdout");
    return status;
  } catch (const EngineError& error) {
    print_error(error.what());
    return kFailure;
  } catch (const Error& error) {
    print_error(error.what());
    return kBadInput;
  } catch (const std::exception& error) {
    print_error(std::string("a bug, please report it: ") + error.what());
    return kFailure;
  }
}

CLI::Validator number_between(double least, double most) {
  std::string range = fmt::format("{} to {}", least, most);
  const auto problem_of = [=](const std::string& text) {
    double number = 0;
    const bool is_right =
        CLI::detail::lexical_cast(text, number) && number >= least && number <= most;
    return is_right ? std::string() : "got " + text + ", expected a number, " + range;
  };
  return {problem_of, range, "number"};
}

CLI::Option* add_path_option(CLI::App& command, const std::string& name, std::string& path,
                             const std::string& help) {
  return command.add_option(name, path, help)
      ->transform([](const std::string& text) { return text == "-" ? kStdout : text; })
      ->check([](const std::string& text) {
        return std::string(text.empty() ? "got an empty path, expected one to write to" : "");
      });
}

}  // namespace tensoa::cli
