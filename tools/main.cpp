// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "seams/remote_seam.hpp"
#include "seams/torch_seam.hpp"
#include "signals.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/log.hpp"
#include "tensoa/core/nearest_name.hpp"
#include "tensoa/core/version.hpp"

namespace tensoa::tools {
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

/// What is wrong with an argument that a command does not take.
std::string unexpected(const CLI::App& command, const std::string& argument) {
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
  return "\"" + argument + "\" stands behind no option; expected tensoa " + command.get_name() +
         required;
}

/// One line: what is wrong, what is near to it, and where more is said.
std::string message_of_wrong_use(const CLI::App* program, const CLI::Error& error) {
  std::string name = "tensoa";
  const CLI::App* command = program;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    name += ' ' + command->get_name();
  }
  // CLI11 misses what is required before it looks at what stands in its place.
  const std::vector<std::string> unknown = command->remaining();
  const bool is_missing = error.get_name() == "RequiredError" ||
                          error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  return "tensoa: " +
         (is_missing && !unknown.empty() ? unexpected(*command, unknown.front())
                                         : std::string(error.what())) +
         "; `" + name + " --help` lists what there is\n";
}

void print_warning(LogLevel level, std::string_view message) {
  if (level == LogLevel::kWarning) fmt::print(stderr, "tensoa: {}\n", message);
}

int run(int argc, char** argv) {
  keep_freed_memory();
  set_log_sink(print_warning);
  handle_signals();
  CLI::App program(
      "Machine-learning models on structure-of-arrays data, where the data already lies.",
      "tensoa");
  const std::string torch = torch_version();
  program.set_version_flag(
      "--version",
      std::string(kVersion) + (torch.empty() ? " (without torch)" : " (torch " + torch + ")"));
  program.require_subcommand(1);
  program.failure_message(message_of_wrong_use);
  std::string command_line;
  for (int i = 0; i < argc; ++i) command_line += (i > 0 ? " " : "") + std::string(argv[i]);

  Action action;
  add_compile_command(program, action);
  add_track_command(program, action);
  add_merge_command(program, action);
  add_graph_command(program, action);
  add_infer_command(program, action);
  add_check_command(program, action);
  add_inspect_command(program, action);
  add_deploy_command(program, action);
  add_top_command(program, action);
  add_describe_command(program, action);
  add_bench_command(program, action, command_line);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kSuccess : kBadInput;
  }
  try {
    register_engines();
    register_remote(*program.get_subcommands().front());
    const int status = action();
    if (std::fflush(stdout) != 0) throw OutputError("cannot write to stdout");
    return status;
  } catch (const EngineError& error) {
    fmt::print(stderr, "tensoa: {}\n", error.what());
    return kFailure;
  } catch (const Error& error) {
    fmt::print(stderr, "tensoa: {}\n", error.what());
    return kBadInput;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tensoa: a bug, please report it: {}\n", error.what());
    return kFailure;
  }
}

}  // namespace

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

std::filesystem::path program_folder() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

std::string default_model(const std::string& stem) {
  const std::filesystem::path built = program_folder() / "models";
  const std::filesystem::path installed = program_folder().parent_path() / TENSOA_DATA / "models";
  for (const std::filesystem::path& folder : {built, installed}) {
    for (const std::string& name : {stem + ".pt", stem + ".pt2"}) {
      if (std::error_code ignored; std::filesystem::exists(folder / name, ignored)) {
        return (folder / name).string();
      }
    }
  }
  return (built / (stem + ".pt")).string();
}

const std::string& require_model(const std::string& path) {
  std::error_code ignored;
  const bool is_default = path == default_model() || path == default_model("merge");
  if (!is_default || std::filesystem::exists(path, ignored)) return path;
  throw LoadError(
      "model " + path +
      ": there is no such file; give a model with --model, or that of the demo: in a checkout "
      "`make models` writes it, `make demo` writes the package tensoa.pt2 in its place, and `cmake "
      "--install` then installs both");
}

std::string default_packages() { return (program_folder() / "bench_packages").string(); }

}  // namespace tensoa::tools

int main(int argc, char** argv) { return tensoa::tools::run(argc, argv); }
