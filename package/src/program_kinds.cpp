// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "program_kinds.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace tensoa::package {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<ProgramKind> kinds;
};

Registry& registry() {
  static Registry the_registry;
  return the_registry;
}

const ProgramDescription& program_for(const Package& package, Device device) {
  const std::vector<TargetDescription>& targets = package.manifest().targets;
  const TargetDescription* const target = target_for(targets, device.kind);
  if (target == nullptr) {
    package.fail("was made for --target " + names_of(targets) + ", requested on " +
                 to_string(device) +
                 "; make one package for both: tensoa compile MODEL --target cpu,cuda --out FILE");
  }
  const auto found = std::ranges::find(target->programs, device.kind, &ProgramDescription::target);
  if (found != target->programs.end()) return *found;
  package.fail("holds no compiled program (.so) for " + to_string(device) +
               "; nothing is compiled here, export it again");
}

ProgramKind kind_of(const Package& package, const ProgramDescription& program) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::string known;
  for (const ProgramKind& kind : all.kinds) {
    if (kind.name == program.kind) return kind;
    known += (known.empty() ? "" : ", ") + kind.name;
  }
  const std::string runs = known.empty() ? "no kind of program" : "only: " + known;
  if (program.kind == "inductor") {
    package.fail(
        "its program is one of TorchInductor, which needs torch; this process runs " + runs +
        ". Use a tensoa that is built with TENSOA_PYTORCH=ON, and call "
        "pytorch::register_engines(); or export a model that can be fused, without --no-fuse");
  }
  if (program.kind == "forest") {
    package.fail("it holds trees; this process runs " + runs +
                 ". Link tensoa::forest, and call forest::register_engines()");
  }
  package.fail("its program is of the kind \"" + program.kind + "\", this process runs " + runs);
}

}  // namespace

void register_program_kind(ProgramKind kind) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto same = std::ranges::find(all.kinds, kind.name, &ProgramKind::name);
  if (same == all.kinds.end()) {
    all.kinds.push_back(std::move(kind));
  } else {
    *same = std::move(kind);
  }
}

std::unique_ptr<Program> load_program(const Package& package, Device device, const Options& options,
                                      GraphTrial trial) {
  const ProgramDescription& program = program_for(package, device);
  return kind_of(package, program).load(package, device, options, trial);
}

}  // namespace tensoa::package
