// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/loader.hpp"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

using Loaders = std::vector<std::shared_ptr<const EngineLoader>>;

struct Registry {
  std::mutex mutex;
  Loaders loaders;
};

Registry& registry() {
  static Registry the_registry;
  return the_registry;
}

Loaders all_loaders() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  return all.loaders;
}

std::string enumerator_of(CompilationType compilation) {
  return compilation == CompilationType::kJustInTime ? "CompilationType::kJustInTime"
                                                     : "CompilationType::kAheadOfTime";
}

/// "Fake, package, tree file"
std::string list_of(const Loaders& loaders) {
  std::string text;
  for (const auto& loader : loaders) {
    text += (text.empty() ? "" : ", ") + std::string(loader->name());
  }
  return text;
}

/// The engines of tensoa that are not registered, and the calls that do it; empty where all are.
std::string missing_of(const Loaders& loaders) {
  struct Known {
    std::string_view name;
    const char* call;
  };
  constexpr Known kKnown[] = {
      {"package", "package::register_engines()"},
      {"tree file", "forest::register_engines()"},
      {"TorchScript", "pytorch::register_engines() of a build with TENSOA_PYTORCH=ON"},
      {"ONNX", "onnx::register_engines()"}};
  std::string text;
  for (const Known& known : kKnown) {
    const bool is_there = std::ranges::any_of(
        loaders, [&](const auto& loader) { return loader->name() == known.name; });
    if (is_there) continue;
    text += (text.empty() ? "; not registered: " : ", ") + std::string(known.name) + " (" +
            known.call + ")";
  }
  return text;
}

/// The error in the location itself, or empty.
std::string problem_of(const ModelLocation& location) {
  if (location.is_url()) {
    const bool is_of_servers = location.scheme() == "grpc" || location.scheme() == "grpcs";
    return "is a URL, and no engine of this program speaks " + location.scheme() + "://; " +
           (is_of_servers ? "models of servers need remote::register_engines()"
                          : "give the path of a file");
  }
  if (location.is_file()) return {};
  std::error_code status;
  return std::filesystem::exists(location.path(), status) ? "is not a file"
                                                          : "there is no such file";
}

}  // namespace

std::string_view name_of(CompilationType compilation) noexcept {
  switch (compilation) {
    case CompilationType::kAny:
      return "any";
    case CompilationType::kJustInTime:
      return "just-in-time";
    case CompilationType::kAheadOfTime:
      return "ahead-of-time";
  }
  return "unknown";
}

void register_loader(std::shared_ptr<const EngineLoader> loader) {
  if (loader == nullptr) throw ConfigError("register_loader: got no loader, expected one");
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto same = std::ranges::find(all.loaders, loader->name(),
                                      [](const auto& other) { return other->name(); });
  if (same == all.loaders.end()) {
    all.loaders.push_back(std::move(loader));
  } else {
    *same = std::move(loader);
  }
}

std::shared_ptr<const EngineLoader> find_loader(const ModelLocation& location,
                                                CompilationType compilation) {
  const std::string subject = "model " + location.text() + ": ";
  const Loaders loaders = all_loaders();
  if (loaders.empty()) {
    throw LoadError(subject +
                    "no engines are registered; include <tensoa/tensoa.hpp> and link "
                    "tensoa::tensoa, or call the function of a layer that is linked, as "
                    "tensoa::package::register_engines()");
  }
  const EngineLoader* other = nullptr;
  for (const auto& loader : loaders) {
    if (!loader->accepts(location)) continue;
    if (compilation == CompilationType::kAny || compilation == loader->compilation()) return loader;
    other = loader.get();
  }
  if (other != nullptr) {
    throw LoadError(subject + "is of the kind \"" + std::string(other->name()) +
                    "\", which is compiled " + std::string(name_of(other->compilation())) +
                    ", got " + enumerator_of(compilation) + "; request " +
                    enumerator_of(other->compilation()) + ", or leave the type out");
  }
  if (!location.is_url()) {
    for (const auto& loader : loaders) {
      if (const auto why = loader->why_not(location)) throw LoadError(subject + *why);
    }
  }
  if (const std::string problem = problem_of(location); !problem.empty()) {
    throw LoadError(subject + problem);
  }
  throw LoadError(subject + "is in a format that is not known, or damaged; expected one of: " +
                  list_of(loaders) + missing_of(loaders));
}

}  // namespace tensoa
