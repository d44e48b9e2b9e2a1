// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/pytorch/engines.hpp"

#include <torch/version.h>

#include "exported/exported_engine.hpp"
#include "inductor/inductor_program.hpp"
#include "model_files.hpp"
#include "tensoa/package/engines.hpp"
#include "torch_library.hpp"
#include "torchscript/inspect.hpp"
#include "torchscript/jit_engine.hpp"

namespace tensoa::pytorch {
namespace {

class TorchScriptLoader final : public package::InspectingLoader {
 public:
  std::string_view name() const noexcept override { return kTorchScript; }
  CompilationType compilation() const noexcept override { return CompilationType::kJustInTime; }

  bool accepts(const ModelLocation& location) const override { return is_torchscript(location); }

  bool takes(std::type_index options) const noexcept override {
    return options == typeid(TorchScriptOptions);
  }

  std::shared_ptr<const Engine> load(const ModelLocation& location, Device device,
                                     const ModelOptions& options) const override {
    return load_jit_engine(location.path(), device, options.get<TorchScriptOptions>());
  }

  package::ModelDescription inspect(const ModelLocation& location,
                                    const ModelOptions& /*options*/) const override {
    return inspect_torchscript(location.path());
  }
};

class ExportedLoader final : public package::InspectingLoader {
 public:
  std::string_view name() const noexcept override { return kTorchExport; }
  CompilationType compilation() const noexcept override { return CompilationType::kJustInTime; }

  bool accepts(const ModelLocation& location) const override {
    return is_exported_program(location);
  }

  std::shared_ptr<const Engine> load(const ModelLocation& location, Device device,
                                     const ModelOptions& /*options*/) const override {
    return load_exported_engine(location.path(), device);
  }

  package::ModelDescription inspect(const ModelLocation& location,
                                    const ModelOptions& /*options*/) const override {
    return inspect_exported(location.path());
  }
};

}  // namespace

void register_engines() {
  package::register_engines();
  package::register_program_kind({.name = "inductor", .load = load_inductor_program});
  register_loader(std::make_shared<const TorchScriptLoader>());
  register_loader(std::make_shared<const ExportedLoader>());
  note_torch_is_open();
}

std::string torch_version() { return TORCH_VERSION; }

}  // namespace tensoa::pytorch
