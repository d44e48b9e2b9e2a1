// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fused.hpp"
#include "tensoa/package/impl/fused_library.hpp"

namespace tensoa::package {
namespace {

/// A thread runs one call at a time, so what it needs for that it keeps for the next one, of whatever
/// model. Only grows.
struct CallBuffers {
  std::vector<FusedBlock> blocks;
  std::vector<std::int64_t> rows;
};

class FusedCpuProgram final : public Program {
 public:
  FusedCpuProgram(const Package& package, const TargetDescription& target)
      : library_(package, target.programs), domains_(target.fused->domains) {}

  CopyReport run(const Queue& /*queue*/, std::span<const BlockMemory> blocks) override {
    thread_local CallBuffers mine;
    if (mine.blocks.size() < blocks.size()) mine.blocks.resize(blocks.size());
    if (mine.rows.size() < domains_.size()) mine.rows.resize(domains_.size());
    FusedBlock* const called_with = mine.blocks.data();
    std::int64_t* const rows = mine.rows.data();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      called_with[i] = {blocks[i].first, blocks[i].pitch};
    }
    for (std::size_t i = 0; i < domains_.size(); ++i) rows[i] = blocks[domains_[i]].rows;
    library_.run(called_with, rows);
    return {};
  }

 private:
  FusedLibrary library_;
  std::vector<std::size_t> domains_;
};

}  // namespace

std::unique_ptr<Program> make_fused_cpu_program(const Package& package,
                                                const TargetDescription& target) {
  return std::make_unique<FusedCpuProgram>(package, target);
}

}  // namespace tensoa::package
