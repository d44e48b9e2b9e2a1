// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "library_file.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tensoa/core/own_library.hpp"

namespace tensoa::onnx {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kName = "libonnxruntime.so";
constexpr const char* kVariable = "TENSOA_ONNXRUNTIME";

struct Finder {
  std::mutex mutex;
  std::function<fs::path()> find;
};

Finder& finder() {
  static Finder one;
  return one;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The runtime in a folder; wheels have it with its version behind its name. Empty where the folder has none.
fs::path library_in(const fs::path& folder) {
  fs::path best;
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const fs::path& file = entry->path();
    const std::string name = file.filename().string();
    const bool is_it = name == kName || name.starts_with(std::string(kName) + '.');
    if (is_it && (best.empty() || file < best)) best = file;  // without a version first
  }
  return best;
}

/// Folders of Python packages below the folder of a Python installation.
std::vector<fs::path> packages_of(const fs::path& installation) {
  std::vector<fs::path> folders;
  std::error_code failure;
  for (fs::directory_iterator entry(installation / "lib", failure), end; !failure && entry != end;
       entry.increment(failure)) {
    if (!entry->path().filename().string().starts_with("python3")) continue;
    folders.push_back(entry->path() / "site-packages");
    folders.push_back(entry->path() / "dist-packages");
  }
  return folders;
}

/// In the order in which they are looked into.
std::vector<fs::path> folders() {
  std::vector<fs::path> all;
  const fs::path own = own_folder();
  if (!own.empty()) {
    all.push_back(own);
    all.push_back(own / "../lib");
  }
  std::function<fs::path()> find;
  {
    const std::lock_guard lock(finder().mutex);
    find = finder().find;
  }
  if (find) {
    if (const fs::path package = find(); !package.empty()) all.push_back(package / "capi");
  }
  std::vector<fs::path> packages;
  const auto add = [&](const fs::path& installation) {
    if (installation.empty()) return;
    for (fs::path& folder : packages_of(installation)) packages.push_back(std::move(folder));
  };
  add(fs::path(variable("TENSOA_PYTHON")).parent_path().parent_path());
  add(variable("VIRTUAL_ENV"));
  if (!own.empty()) add(own.parent_path() / ".venv");  // of a checkout
  for (fs::path above = own; above.has_relative_path(); above = above.parent_path()) {
    if (above.filename() == "site-packages" || above.filename() == "dist-packages") {
      packages.push_back(above);
    }
  }
  for (const fs::path& folder : packages) {
    const fs::path capi = folder / "onnxruntime" / "capi";
    std::error_code failure;
    if (fs::is_directory(capi, failure)) all.push_back(capi);
  }
  return all;
}

void* opened(const std::string& file) { return dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL); }

std::string why_not() {
  const char* const error = dlerror();
  return error == nullptr ? "unknown" : error;
}

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error("needs ONNX Runtime, " + what + "; pip install onnxruntime, or set " +
                           kVariable +
                           " to its libonnxruntime.so or the folder of it; or make a package, "
                           "which needs no runtime: tensoa compile FILE.onnx --out PACKAGE.pt2");
}

void* open_as_asked(const fs::path& asked, std::string& file) {
  std::error_code failure;
  const bool is_folder = fs::is_directory(asked, failure);
  const fs::path library = is_folder ? library_in(asked) : asked;
  const std::string set = std::string(kVariable) + " is " + asked.string();
  if (library.empty()) fail("and " + set + ", where there is no " + std::string(kName));
  file = library.string();
  if (void* const handle = opened(file)) return handle;
  fail("and " + set + ", which cannot be opened: " + why_not());
}

}  // namespace

void find_package_by(std::function<fs::path()> find) {
  const std::lock_guard lock(finder().mutex);
  finder().find = std::move(find);
}

void* open_library(std::string& file) {
  if (const std::string asked = variable(kVariable); !asked.empty()) {
    return open_as_asked(asked, file);
  }
  std::string looked;
  for (const fs::path& folder : folders()) {
    const fs::path library = library_in(folder);
    if (library.empty()) {
      looked += (looked.empty() ? "" : ", ") + folder.lexically_normal().string();
      continue;
    }
    file = library.string();
    if (void* const handle = opened(file)) return handle;
    fail("which cannot be opened: " + why_not());
  }
  for (const char* const name : {"libonnxruntime.so.1", "libonnxruntime.so"}) {
    file = name;
    if (void* const handle = opened(file)) return handle;
  }
  fail("which is not installed: no libonnxruntime.so in " + looked + (looked.empty() ? "" : ", ") +
       "the Python package onnxruntime, or where the dynamic "
       "linker looks (LD_LIBRARY_PATH)");
}

}  // namespace tensoa::onnx
