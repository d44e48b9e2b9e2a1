// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/demo_models.hpp"

#include <system_error>

#include "tensoa/core/error.hpp"

namespace tensoa::cli {

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

}  // namespace tensoa::cli
