// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "engines.hpp"

#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "tensoa/package/engines.hpp"

namespace tensoa::forest {
namespace {

/// What a file is that becomes a package; nothing for a format that is unknown.
std::optional<std::string> what_is_imported(std::string_view beginning, const std::string& file) {
  const std::string to_package = " --binding BINDING.json --out PACKAGE.pt2";
  const std::string import_it =
      "make a package of it: python -m tensoa.import " + file + to_package;
  if (beginning.find("<MethodSetup") != std::string_view::npos) {
    return "is a model of TMVA; " + import_it;
  }
  if (beginning.starts_with("\x1f\x8b")) return "is packed by gzip; unpack it, or " + import_it;
  if (beginning.starts_with('{')) {
    return "is JSON, but no model of XGBoost, or one that is cut off; if it holds trees of "
           "conifer, " +
           import_it + "; if it is a network of LWTNN: python -m tensoa.export " + file +
           to_package;
  }
  return {};
}

class TreeFileLoader final : public package::InspectingLoader {
 public:
  std::string_view name() const noexcept override { return "tree file"; }
  CompilationType compilation() const noexcept override { return CompilationType::kJustInTime; }

  bool accepts(const ModelLocation& location) const override {
    if (!location.is_file()) return false;
    return kind_of(beginning_of(location)).has_value();
  }

  std::optional<std::string> why_not(const ModelLocation& location) const override {
    return what_is_imported(beginning_of(location), location.text());
  }

  bool takes(std::type_index options) const noexcept override { return options == typeid(Options); }

  std::shared_ptr<const Engine> load(const ModelLocation& location, Device device,
                                     const ModelOptions& options) const override {
    return load_tree_engine(location.path(), device, options.get<Options>());
  }

  package::ModelDescription inspect(const ModelLocation& location,
                                    const ModelOptions& /*options*/) const override {
    return inspect_tree_file(location.path());
  }

 private:
  static std::string beginning_of(const ModelLocation& location) {
    std::string beginning(1024, '\0');
    std::ifstream file(location.path(), std::ios::binary);
    file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
    beginning.resize(static_cast<std::size_t>(file.gcount()));
    return beginning;
  }
};

}  // namespace

void register_engines() {
  package::register_engines();
  package::register_program_kind({.name = "forest", .load = load_forest_program});
  register_loader(std::make_shared<const TreeFileLoader>());
}

}  // namespace tensoa::forest
