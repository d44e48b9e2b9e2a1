// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tensoa/engine/model.hpp"

namespace tensoa::bench {

/// Takes up to 64 blocks of any names and computes nothing: for figures of what surrounds a model.
class EngineOfAnything final : public Engine {
 public:
  EngineOfAnything() {
    for (int i = 0; i < 64; ++i) signature_.inputs.push_back({.name = '#' + std::to_string(i)});
  }
  const Signature& signature() const noexcept override { return signature_; }
  CopyReport run(const Queue&, const Binding&, const Prepared&) const override { return {}; }

 private:
  Signature signature_;
};

class LoaderOfAnything final : public EngineLoader {
 public:
  std::string_view name() const noexcept override { return "anything"; }
  CompilationType compilation() const noexcept override { return CompilationType::kAheadOfTime; }
  bool accepts(const ModelLocation& location) const override {
    return location.scheme() == "anything";
  }
  std::shared_ptr<const Engine> load(const ModelLocation&, Device,
                                     const ModelOptions&) const override {
    return std::make_shared<const EngineOfAnything>();
  }
};

inline Model<> model_of_anything() {
  register_loader(std::make_shared<const LoaderOfAnything>());
  return Model<>("anything://");
}

}  // namespace tensoa::bench
