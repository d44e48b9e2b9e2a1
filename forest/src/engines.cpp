// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "engines.hpp"

#include <fstream>
#include <string>

#include "tensoa/package/engines.hpp"

namespace tensoa::forest {
namespace {

class TreeFileLoader final : public package::InspectingLoader {
 public:
  std::string_view name() const noexcept override { return "tree file"; }
  CompilationType compilation() const noexcept override { return CompilationType::kJustInTime; }

  bool accepts(const ModelLocation& location) const override {
    if (!location.is_file()) return false;
    return kind_of(beginning_of(location)).has_value();
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
