// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fused.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/package/impl/private_folder.hpp"

namespace tensoa::package {
namespace {

constexpr std::int64_t kAbi = 1;

/// What the program calls `tensoa_block`.
struct Block {
  void* data;
  std::int64_t pitch;
};

/// A shared library whose symbols no other library sees.
class SharedLibrary {
 public:
  explicit SharedLibrary(const std::filesystem::path& file)
      : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }
  ~SharedLibrary() { dlclose(handle_); }
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  /// @return nullptr where there is none
  void* find(const char* name) const noexcept { return dlsym(handle_, name); }

 private:
  void* handle_;
};

/// A thread runs one call at a time, so what it needs for that it keeps for the next one, of whatever
/// model. Only grows.
struct CallBuffers {
  std::vector<Block> blocks;
  std::vector<std::int64_t> rows;
  Buffer workspace;
};

/// The file of the first program whose instructions this processor has.
std::string file_for_this_processor(const Package& package) {
  package.require_machine();
  std::string reasons;
  for (const ProgramDescription& program : package.manifest().programs) {
    if (program.kind != kFused || program.target != DeviceKind::kCpu) continue;
    const std::string missing = missing_instructions(program.cpu_flags);
    if (missing.empty()) return program.file;
    reasons += (reasons.empty() ? "" : ", ") + program.name + " (missing here:" + missing + ")";
  }
  package.fail("has no program for this processor, only for " + reasons +
               "; export it on a machine of this kind");
}

/// Code with the C ABI of docs/ahead_of_time.md.
class FusedCpuProgram final : public Program {
 public:
  explicit FusedCpuProgram(const Package& package)
      : library_(package.unpack(file_for_this_processor(package), folder_.path())),
        domains_(package.manifest().fused->domains) {
    const auto find = [&]<class Function>(Function*& function, const char* name) {
      function = reinterpret_cast<Function*>(library_.find(name));
      if (function != nullptr) return;
      package.fail("its program has no function " + std::string(name) + "; export it again");
    };
    std::int64_t (*abi_of_program)() = nullptr;
    find(abi_of_program, "tensoa_program_abi");
    find(workspace_, "tensoa_program_workspace");
    find(run_, "tensoa_program_run");
    const std::int64_t abi = abi_of_program();
    if (abi != kAbi) {
      package.fail("its program has the ABI " + std::to_string(abi) +
                   ", this version of tensoa calls " + std::to_string(kAbi) + "; export it again");
    }
  }

  CopyReport run(const Queue& /*queue*/, std::span<const Planes> blocks) override {
    thread_local CallBuffers mine;
    if (mine.blocks.size() < blocks.size()) mine.blocks.resize(blocks.size());
    if (mine.rows.size() < domains_.size()) mine.rows.resize(domains_.size());
    Block* const called_with = mine.blocks.data();
    std::int64_t* const rows = mine.rows.data();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      called_with[i] = {blocks[i].first, blocks[i].pitch};
    }
    for (std::size_t i = 0; i < domains_.size(); ++i) rows[i] = blocks[domains_[i]].rows;
    const auto bytes = static_cast<std::size_t>(workspace_(rows));
    if (bytes > mine.workspace.size()) {
      mine.workspace = Buffer(Device::cpu(), bytes, MemoryPurpose::kWorkspaces);
    }
    run_(called_with, rows, mine.workspace.data());
    return {};
  }

 private:
  PrivateFolder folder_;  ///< outlives the library
  SharedLibrary library_;
  std::vector<std::size_t> domains_;
  std::int64_t (*workspace_)(const std::int64_t*) = nullptr;
  void (*run_)(const Block*, const std::int64_t*, void*) = nullptr;
};

}  // namespace

std::unique_ptr<Program> make_fused_cpu_program(const Package& package) {
  return std::make_unique<FusedCpuProgram>(package);
}

}  // namespace tensoa::package
