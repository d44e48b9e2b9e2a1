// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/pytorch/engines.hpp"

#include <torch/version.h>

#include <algorithm>
#include <array>

#include "exported/exported_engine.hpp"
#include "inductor/inductor_program.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/package/file_kind.hpp"
#include "torchscript/inspect.hpp"
#include "torchscript/jit_engine.hpp"

namespace tensoa::pytorch {
namespace {

class TorchScriptLoader final : public package::InspectingLoader {
 public:
  std::string_view name() const noexcept override { return "TorchScript"; }
  CompilationType compilation() const noexcept override { return CompilationType::kJustInTime; }

  bool accepts(const ModelLocation& location) const override {
    if (!location.is_file()) return false;
    static constexpr std::array kEndings{".pt", ".pth", ".ts"};
    const package::FileKind kind = package::kind_of_file(location.path());
    return kind == package::FileKind::kTorchScript ||
           (kind == package::FileKind::kUnknown &&
            std::ranges::find(kEndings, location.path().extension()) != kEndings.end());
  }

  bool takes(std::type_index options) const noexcept override {
    return options == typeid(TorchScriptOptions);
  }

  std::shared_ptr<const Engine> load(const ModelLocation& location, Device device,
                                     const ModelOptions& options) const override {
    return load_jit_engine(location.path(), device, options.get<TorchScriptOptions>());
  }

  package::ModelDescription inspect(const ModelLocation& location) const override {
    return inspect_torchscript(location.path());
  }
};

class ExportedLoader final : public package::InspectingLoader {
 public:
  std::string_view name() const noexcept override { return "torch.export"; }
  CompilationType compilation() const noexcept override { return CompilationType::kJustInTime; }

  bool accepts(const ModelLocation& location) const override {
    return location.is_file() &&
           package::kind_of_file(location.path()) == package::FileKind::kExportedProgram;
  }

  std::shared_ptr<const Engine> load(const ModelLocation& location, Device device,
                                     const ModelOptions& /*options*/) const override {
    return load_exported_engine(location.path(), device);
  }

  package::ModelDescription inspect(const ModelLocation& location) const override {
    return inspect_exported(location.path());
  }
};

}  // namespace

void register_engines() {
  package::register_engines();
  package::register_program_kind({.name = "inductor", .load = load_inductor_program});
  register_loader(std::make_shared<const TorchScriptLoader>());
  register_loader(std::make_shared<const ExportedLoader>());
}

std::string torch_version() { return TORCH_VERSION; }

}  // namespace tensoa::pytorch
