// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/engines.hpp"

#include "aot_engine.hpp"
#include "fused.hpp"
#include "inspect_package.hpp"
#include "tensoa/package/file_kind.hpp"

namespace tensoa::package {
namespace {

class PackageLoader final : public InspectingLoader {
 public:
  std::string_view name() const noexcept override { return "package"; }
  CompilationType compilation() const noexcept override { return CompilationType::kAheadOfTime; }

  bool accepts(const ModelLocation& location) const override {
    if (!location.is_file()) return false;
    const FileKind kind = kind_of_file(location.path());
    return kind == FileKind::kPackage ||
           (kind == FileKind::kUnknown && location.path().extension() == ".pt2");
  }

  std::optional<std::string> why_not(const ModelLocation& location) const override {
    return why_no_package(location.path());
  }

  bool takes(std::type_index options) const noexcept override { return options == typeid(Options); }

  std::shared_ptr<const Engine> load(const ModelLocation& location, Device device,
                                     const ModelOptions& options) const override {
    return load_aot_engine(location.path(), device, options.get<Options>());
  }

  ModelDescription inspect(const ModelLocation& location,
                           const ModelOptions& /*options*/) const override {
    return inspect_package(location.path());
  }
};

}  // namespace

void register_engines() {
  register_program_kind({.name = std::string(kFused), .load = load_fused_program});
  register_loader(std::make_shared<const PackageLoader>());
}

std::shared_ptr<const Engine> load_to_try_graphs(const std::filesystem::path& path, Device device) {
  return load_aot_engine(path, device, {.cuda_graphs = true}, GraphTrial::kYes);
}

}  // namespace tensoa::package
