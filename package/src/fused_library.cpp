// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/impl/fused_library.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#include "fused.hpp"
#include "tensoa/core/memory.hpp"

namespace tensoa::package {
namespace {

constexpr std::int64_t kAbi = 1;

/// The file of the first program whose instructions this processor has.
std::string file_for_this_processor(const Package& package,
                                    std::span<const ProgramDescription> programs) {
  package.require_machine();
  std::string reasons;
  for (const ProgramDescription& program : programs) {
    if (program.kind != kFused || program.target != DeviceKind::kCpu) continue;
    const std::string missing = missing_instructions(program.cpu_flags);
    if (missing.empty()) return program.file;
    reasons += (reasons.empty() ? "" : ", ") + program.name + " (missing here:" + missing + ")";
  }
  package.fail("has no program for this processor, only for " + reasons +
               "; export it on a machine of this kind");
}

/// No other library sees its symbols.
void* open_library(const std::filesystem::path& file) {
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(dlerror());
  return handle;
}

}  // namespace

FusedLibrary::FusedLibrary(const Package& package, std::span<const ProgramDescription> programs)
    : handle_(open_library(
          package.unpack(file_for_this_processor(package, programs), folder_.path()))) {
  try {
    const auto find = [&]<class Function>(Function*& function, const char* name) {
      function = reinterpret_cast<Function*>(dlsym(handle_, name));
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
  } catch (...) {
    dlclose(handle_);
    throw;
  }
}

FusedLibrary::~FusedLibrary() { dlclose(handle_); }

void FusedLibrary::run(const FusedBlock* blocks, const std::int64_t* rows) const {
  // A thread runs one call at a time, so it keeps the workspace for the next one, of whatever model. Calls of a few rows more
  // follow: there is room for them, and the old one is given back before the new one is taken.
  thread_local Buffer workspace;
  const auto bytes = static_cast<std::size_t>(workspace_(rows));
  if (bytes > workspace.size()) {
    workspace = Buffer();
    workspace = Buffer(Device::cpu(), bytes + bytes / 4, MemoryPurpose::kWorkspaces);
  }
  run_(blocks, rows, workspace.data());
}

}  // namespace tensoa::package
