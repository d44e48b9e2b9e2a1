// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "command.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::tools {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// The folder that has the package "tensoa" of Python: of a checkout, of an installation, of a wheel.
/// @throws ConfigError
fs::path module_folder() {
  const fs::path above = cli::program_folder().parent_path();
  std::string looked;
  for (const fs::path& folder :
       {above / "python", above / TENSOA_DATA / "python", above.parent_path()}) {
    if (is_there(folder / "tensoa" / "compiling.py")) return folder;
    looked += (looked.empty() ? "" : ", ") + folder.string();
  }
  throw ConfigError(
      "compile: the Python package tensoa, which does it, is not with the program; "
      "looked in " +
      looked + "; `pip install tensoa[compile]` has both");
}

std::string python() {
  const char* const asked = std::getenv("TENSOA_PYTHON");
  if (asked != nullptr && *asked != '\0') return asked;
  const fs::path of_checkout = cli::program_folder().parent_path() / ".venv" / "bin" / "python";
  return is_there(of_checkout) ? of_checkout.string() : "python3";
}

/// Becomes `python -m tensoa compile`. @throws ConfigError
int compile(const std::vector<std::string>& arguments) {
  std::string path = module_folder().string();
  const char* const others = std::getenv("PYTHONPATH");
  if (others != nullptr && *others != '\0') path += std::string(":") + others;
  setenv("PYTHONPATH", path.c_str(), 1);
  std::vector<std::string> call{python(), "-m", "tensoa", "compile"};
  call.insert(call.end(), arguments.begin(), arguments.end());
  std::vector<char*> words;
  words.reserve(call.size() + 1);
  for (std::string& word : call) words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  throw ConfigError("compile: cannot start " + call.front() + ": " +
                    std::generic_category().message(errno) +
                    "; TENSOA_PYTHON names the Python to use, with torch");
}

}  // namespace

void add_compile_command(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand(
      "compile",
      "Makes a package of a network or of trees, for columns by name; Python does it, with torch");
  // All that follows is read by Python, --help too.
  command->set_help_flag();
  command->prefix_command();
  command->callback([command, &action] {
    action = [arguments = command->remaining()] { return compile(arguments); };
  });
}

}  // namespace tensoa::tools
