// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tensoa/engine/loader.hpp"

namespace tensoa::test {

/// A loader of files of one ending that are there, made of a function.
class FunctionLoader final : public EngineLoader {
 public:
  using Load = std::function<std::shared_ptr<const Engine>(const ModelLocation&, Device,
                                                           const ModelOptions&)>;

  FunctionLoader(std::string name, std::string ending, Load load,
                 CompilationType compilation = CompilationType::kJustInTime)
      : name_(std::move(name)),
        ending_(std::move(ending)),
        load_(std::move(load)),
        compilation_(compilation) {}

  std::string_view name() const noexcept override { return name_; }
  CompilationType compilation() const noexcept override { return compilation_; }
  bool accepts(const ModelLocation& location) const override {
    return location.is_file() && location.path().extension() == ending_;
  }
  bool takes(std::type_index) const noexcept override { return true; }
  std::shared_ptr<const Engine> load(const ModelLocation& location, Device device,
                                     const ModelOptions& options) const override {
    return load_(location, device, options);
  }

 private:
  std::string name_;
  std::string ending_;
  Load load_;
  CompilationType compilation_;
};

/// Registers a loader of files that end in `ending`, ".fake".
template <class Load>
void register_function(std::string name, std::string ending, Load load,
                       CompilationType compilation = CompilationType::kJustInTime) {
  register_loader(std::make_shared<const FunctionLoader>(std::move(name), std::move(ending),
                                                         std::move(load), compilation));
}

/// One that loads an `Engine` made of nothing, wherever.
template <class SomeEngine>
void register_engine_of(std::string name, std::string ending) {
  register_function(std::move(name), std::move(ending),
                    [](const ModelLocation&, Device, const ModelOptions&) {
                      return std::make_shared<const SomeEngine>();
                    });
}

}  // namespace tensoa::test
