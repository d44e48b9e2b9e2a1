// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/engine.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<EngineKind> kinds;
};

Registry& registry() {
  static Registry the_registry;
  return the_registry;
}

std::string enumerator_of(CompilationType compilation) {
  return compilation == CompilationType::kJustInTime ? "CompilationType::kJustInTime"
                                                     : "CompilationType::kAheadOfTime";
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

void register_engine(EngineKind kind) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto same = std::find_if(all.kinds.begin(), all.kinds.end(),
                                 [&](const EngineKind& other) { return other.name == kind.name; });
  if (same == all.kinds.end()) {
    all.kinds.push_back(std::move(kind));
  } else {
    *same = std::move(kind);
  }
}

EngineKind find_engine(const std::filesystem::path& path, CompilationType compilation) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (all.kinds.empty()) {
    throw LoadError("model " + path.string() +
                    ": no engines are registered; call tensoa::pytorch::register_engines() first, "
                    "or include <tensoa/tensoa.hpp>, which does");
  }
  std::string known;
  const bool runs_torchscript = compilation == CompilationType::kAheadOfTime ||
                                std::ranges::find(all.kinds, CompilationType::kJustInTime,
                                                  &EngineKind::compilation) != all.kinds.end();
  std::string other;  // a kind that would take it, and how to ask for it
  for (const EngineKind& kind : all.kinds) {
    const bool fits = compilation == CompilationType::kAny || compilation == kind.compilation;
    if (fits && kind.accepts(path)) return kind;
    if (kind.accepts(path)) {
      other = "; " + kind.name + " would load it: ask for " +
              std::string(name_of(kind.compilation)) + " (" + enumerator_of(kind.compilation) +
              "), or leave the type out";
    }
    known += (known.empty() ? "" : ", ") + kind.name + " (" +
             std::string(name_of(kind.compilation)) + ")";
  }
  throw LoadError("model " + path.string() + ": no engine loads this kind of file (asked for: " +
                  std::string(name_of(compilation)) + "); there is: " + known + other +
                  (runs_torchscript
                       ? ""
                       : "; TorchScript needs torch: a build with TENSOA_PYTORCH=ON, and "
                         "pytorch::register_engines()"));
}

}  // namespace tensoa
