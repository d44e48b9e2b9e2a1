// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <atomic>
#include <stdexcept>
#include <string>

#include "model_files.hpp"
#include "seams/torch_library.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/loader.hpp"
#include "tensoa/forest/engines.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/pytorch/options.hpp"

namespace tensoa {
namespace {

std::atomic<bool> torch_is_loaded{false};

/// @throws std::runtime_error where torch cannot be loaded
const tools::TorchLibrary& load_torch() {
  void* const library = dlopen("libtensoa_torch.so", RTLD_NOW | RTLD_LOCAL);
  void* const found = library == nullptr ? nullptr : dlsym(library, "tensoa_torch_library");
  if (found == nullptr) {
    throw std::runtime_error("needs torch, which cannot be loaded: " + std::string(dlerror()) +
                             "; install the torch that tensoa was built with (" TENSOA_TORCH_VERSION
                             "), or add the folders of the libraries to LD_LIBRARY_PATH");
  }
  const auto& torch = *static_cast<const tools::TorchLibrary*>(found);
  torch.register_engines();  // which take the places of the loaders here
  torch_is_loaded = true;
  return torch;
}

/// Loaded by the first call, for the rest of the process.
const tools::TorchLibrary& torch() {
  static const tools::TorchLibrary& loaded = load_torch();
  return loaded;
}

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

namespace tools {

void register_engines() {
  forest::register_engines();
  package::register_engines();
  package::register_program_kind({.name = "inductor", .load = [](const auto&... arguments) {
                                    return torch().load_inductor(arguments...);
                                  }});
  register_loader(
      std::make_shared<const LoaderAtNeed>(pytorch::kTorchScript, pytorch::is_torchscript));
  register_loader(
      std::make_shared<const LoaderAtNeed>(pytorch::kTorchExport, pytorch::is_exported_program));
}

std::string torch_version() { return TENSOA_TORCH_VERSION; }

MemoryOfCall memory_of_call(Device device, const std::function<void()>& call) {
  return torch_is_loaded ? torch().memory_of_call(device, call)
                         : memory_without_torch(device, call);
}

}  // namespace tools

namespace bench {

void require_torch() {
  try {
    torch();
  } catch (const std::runtime_error& error) {
    throw ConfigError(std::string("bench binding: ") + error.what());
  }
}

std::size_t make_tensors(TensorMaking making, const TensorView& view, std::size_t count) {
  return torch().make_tensors(making, view, count);
}

ModelOptions in_float64() { return pytorch::TorchScriptOptions{.dtype = DType::kF64}; }

}  // namespace bench
}  // namespace tensoa
