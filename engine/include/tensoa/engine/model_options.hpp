// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <any>
#include <concepts>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

namespace tensoa {

/// Options of one engine: a plain struct whose type names the engine, as `package::Options` and
/// `pytorch::TorchScriptOptions` do:
///
///     struct Options {
///       static constexpr std::string_view kOptionsOf = "packages";
///       bool cuda_graphs = false;
///     };
template <class Options>
concept EngineOptions = requires {
  { Options::kOptionsOf } -> std::convertible_to<std::string_view>;
} && std::copyable<Options>;  // in this order: the second asks ModelOptions for its constructors

/// How a model is loaded: the options of the engine that loads it, or none.
///
///     Model<> model("network.pt2", package::Options{.cuda_graphs = true});
///
/// Options of another engine than the one that loads the file are a LoadError.
class ModelOptions {
 public:
  ModelOptions() = default;

  template <EngineOptions Options>
  ModelOptions(Options options) {  // NOLINT(google-explicit-constructor): one is a set of them
    set(std::move(options));
  }

  /// Adds the options of an engine, or replaces those there are.
  template <EngineOptions Options>
  ModelOptions& set(Options options) {
    std::erase_if(all_, [](const Entry& entry) { return entry.type == typeid(Options); });
    all_.push_back({typeid(Options), Options::kOptionsOf, std::move(options)});
    return *this;
  }

  /// Those of an engine, or its defaults.
  template <EngineOptions Options>
  Options get() const {
    for (const Entry& entry : all_) {
      if (const auto* options = std::any_cast<Options>(&entry.options)) return *options;
    }
    return {};
  }

  /// Options that are there.
  struct Entry {
    std::type_index type;
    std::string_view of;  ///< EngineOptions::kOptionsOf
    std::any options;
  };
  const std::vector<Entry>& entries() const noexcept { return all_; }

 private:
  std::vector<Entry> all_;
};

}  // namespace tensoa
