// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "seams/torch_at_need.hpp"

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
#include "tensoa/engine/loader.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/pytorch/options.hpp"

namespace tensoa::tools {
namespace {

std::atomic<bool> is_loaded{false};

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
  if (dladdr(&is_loaded, &own) != 0) dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

/// @throws std::runtime_error where torch cannot be loaded
const TorchLibrary& load_torch() {
  show_own_names();
  constexpr const char* kLibrary = "libtensoa_torch.so";
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    find_torch()();
    library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  }
  void* const found = library == nullptr ? nullptr : dlsym(library, "tensoa_torch_library");
  if (found == nullptr) {
    throw std::runtime_error("needs torch, which cannot be loaded: " + std::string(dlerror()) +
                             "; install the torch that tensoa was built with (" TENSOA_TORCH_VERSION
                             "), or add the folders of the libraries to LD_LIBRARY_PATH");
  }
  // Another release has other classes under the same names.
  if (const std::string there = version_there();
      !there.empty() && release(there) != release(TENSOA_TORCH_VERSION)) {
    throw std::runtime_error("needs torch " + release(TENSOA_TORCH_VERSION) +
                             ", which tensoa was built with, and the one here is " + there +
                             "; pip install 'torch==" + release(TENSOA_TORCH_VERSION) + ".*'");
  }
  const auto& torch = *static_cast<const TorchLibrary*>(found);
  torch.register_engines();  // which take the places of the loaders here
  is_loaded = true;
  return torch;
}

}  // namespace

const TorchLibrary& torch() {
  static const TorchLibrary& loaded = load_torch();
  return loaded;
}

bool torch_is_loaded() { return is_loaded; }

std::string torch_version() { return TENSOA_TORCH_VERSION; }

namespace {

/// @throws LoadError that names the model
void load_torch_for(const ModelLocation& location) {
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
    return name_ == std::string_view(pytorch::kTorchScript) &&
           options == typeid(pytorch::TorchScriptOptions);
  }
  std::shared_ptr<const Engine> load(const ModelLocation& location, Device device,
                                     const ModelOptions& options) const override {
    load_torch_for(location);
    return find_loader(location)->load(location, device, options);
  }
  package::ModelDescription inspect(const ModelLocation& location,
                                    const ModelOptions& options) const override {
    load_torch_for(location);
    return package::inspect(location, options);
  }

 private:
  const char* name_;
  bool (*accepts_)(const ModelLocation&);
};

}  // namespace

void register_torch_at_need(std::function<void()> find) {
  find_torch() = std::move(find);
  package::register_program_kind({.name = "inductor", .load = [](const auto&... arguments) {
                                    return torch().load_inductor(arguments...);
                                  }});
  register_loader(
      std::make_shared<const LoaderAtNeed>(pytorch::kTorchScript, pytorch::is_torchscript));
  register_loader(
      std::make_shared<const LoaderAtNeed>(pytorch::kTorchExport, pytorch::is_exported_program));
}

}  // namespace tensoa::tools
