// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/pytorch/at_need.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "model_files.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/own_library.hpp"
#include "tensoa/core/version.hpp"
#include "tensoa/engine/loader.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/pytorch/options.hpp"
#include "torch_library.hpp"

namespace tensoa::pytorch {
namespace {

constexpr const char* kLibrary = "libtensoa_torch.so";

std::atomic<bool> is_open{false};

std::function<void()>& find_torch() {
  static std::function<void()> find;
  return find;
}

/// "2.11" of "2.11.0+cu130".
std::string release(const std::string& version) {
  return version.substr(0, version.find('.', version.find('.') + 1));
}

/// Of the torch that is in this process, as its package says; empty where that says nothing.
std::string version_there() {
  void* const library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  link_map* map = nullptr;
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return {};
  dlclose(library);
  std::ifstream file(std::filesystem::path(map->l_name).parent_path() / "../version.py");
  constexpr std::string_view kBefore = "__version__ = '";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kBefore)) continue;
    return line.substr(kBefore.size(), line.rfind('\'') - kBefore.size());
  }
  return {};
}

/// Names of a library that was itself opened by others, as a module of Python is, are seen by nothing else. Of a program
/// there is nothing to do: it is opened by no name.
void show_own_names() {
  Dl_info own{};
  if (dladdr(&is_open, &own) != 0) dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

const void* look_for(const char* symbol, std::string& why) {
  if (const void* const found = find_in_own_library(kLibrary, symbol, why)) return found;
  find_torch()();
  why.clear();
  return find_in_own_library(kLibrary, symbol, why);
}

/// @throws std::runtime_error where torch cannot be loaded
const TorchLibrary& open_torch() {
  show_own_names();
  std::string why;
  const void* const found = look_for("tensoa_torch_library", why);
  if (found == nullptr) {
    throw std::runtime_error("needs torch, which cannot be loaded: " + why +
                             "; install the torch that tensoa was built with (" TENSOA_TORCH_VERSION
                             "), or add the folders of the libraries to LD_LIBRARY_PATH");
  }
  const auto& torch = *static_cast<const TorchLibrary*>(found);
  if (torch.version != kVersion) {
    throw std::runtime_error("needs libtensoa_torch.so of tensoa " + std::string(kVersion) +
                             ", and the one that was found is of " + torch.version +
                             "; LD_LIBRARY_PATH may name the folder of another tensoa");
  }
  if (torch.register_loader != &register_loader) {
    throw std::runtime_error(
        "needs torch, and libtensoa_torch.so does not see the tensoa of this program; link it with "
        "the CMake "
        "target tensoa::tensoa, or add -Wl,--export-dynamic where it is linked");
  }
  // Another release has other classes under the same names.
  if (const std::string there = version_there();
      !there.empty() && release(there) != release(TENSOA_TORCH_VERSION)) {
    throw std::runtime_error("needs torch " + release(TENSOA_TORCH_VERSION) +
                             ", which tensoa was built with, and the one here is " + there +
                             "; pip install 'torch==" + release(TENSOA_TORCH_VERSION) + ".*'");
  }
  torch.register_engines();  // which take the places of the loaders here
  return torch;
}

/// Opened by the first call, for the rest of the process.
const TorchLibrary& torch() {
  static const TorchLibrary& opened = open_torch();
  return opened;
}

/// @throws LoadError that names the model
void open_torch_for(const ModelLocation& location) {
  try {
    torch();
  } catch (const std::runtime_error& error) {
    throw LoadError("model " + location.text() + ": " + error.what());
  }
}

/// Takes the files of a loader of libtensoa_torch.so, which replaces it when the first one is there.
class LoaderAtNeed final : public package::InspectingLoader {
 public:
  LoaderAtNeed(const char* name, bool (*takes_file)(const ModelLocation&))
      : name_(name), accepts_(takes_file) {}

  std::string_view name() const noexcept override { return name_; }
  CompilationType compilation() const noexcept override { return CompilationType::kJustInTime; }
  bool accepts(const ModelLocation& location) const override { return accepts_(location); }
  bool takes(std::type_index options) const noexcept override {
    return name_ == std::string_view(kTorchScript) && options == typeid(TorchScriptOptions);
  }
  std::shared_ptr<const Engine> load(const ModelLocation& location, Device device,
                                     const ModelOptions& options) const override {
    open_torch_for(location);
    return find_loader(location)->load(location, device, options);
  }
  package::ModelDescription inspect(const ModelLocation& location,
                                    const ModelOptions& options) const override {
    open_torch_for(location);
    return package::inspect(location, options);
  }

 private:
  const char* name_;
  bool (*accepts_)(const ModelLocation&);
};

}  // namespace

void register_engines_at_need(std::function<void()> find) {
  static std::atomic<bool> is_registered{false};
  if (is_open || is_registered.exchange(true)) return;
  find_torch() = std::move(find);
  package::register_engines();
  package::register_program_kind({.name = "inductor", .load = [](const auto&... arguments) {
                                    return torch().load_inductor(arguments...);
                                  }});
  register_loader(std::make_shared<const LoaderAtNeed>(kTorchScript, is_torchscript));
  register_loader(std::make_shared<const LoaderAtNeed>(kTorchExport, is_exported_program));
}

bool torch_is_open() { return is_open; }

void note_torch_is_open() { is_open = true; }

std::string torch_at_need_version() { return TENSOA_TORCH_VERSION; }

void* find_in_torch_library(const char* symbol) {
  torch();
  std::string why;
  void* const found = find_in_own_library(kLibrary, symbol, why);
  if (found == nullptr) throw std::runtime_error("needs another libtensoa_torch.so: " + why);
  return found;
}

}  // namespace tensoa::pytorch
