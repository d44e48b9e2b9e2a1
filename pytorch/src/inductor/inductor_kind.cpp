// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <algorithm>
#include <cstdint>

#include "inductor/inductor_program.hpp"
#include "runtime/threads.hpp"
#include "tensoa/package/engines.hpp"

// Where a program of TorchInductor runs, and what it says of CUDA graphs; before any of it is loaded.

namespace tensoa::pytorch {
namespace {

using package::GpuCheckDescription;
using package::GraphTrial;
using package::Package;
using package::ProgramDescription;
using package::TargetDescription;

/// The version of the libtorch that was loaded, "2.11.0": its headers say what this was compiled with.
/// at::show_config() has it too, but starts the CUDA driver, and with it a thread.
std::string running_torch() {
  const std::uint64_t version = aoti_torch_abi_version();  // a byte each, from the highest one
  return std::to_string(version >> 56U) + '.' + std::to_string(version >> 48U & 0xffU) + '.' +
         std::to_string(version >> 40U & 0xffU);
}

void require_torch(const Package& package) {
  const std::string& built_with = package.manifest().torch;
  const std::string here = running_torch();
  if (built_with.substr(0, built_with.find('+')) == here) return;
  package.fail("was made with torch " + built_with + ", this program runs torch " + here +
               "; export it again with that version");
}

void require_processor(const Package& package, const TargetDescription& target) {
  package.require_machine();
  const auto program = std::ranges::find(target.programs, "inductor", &ProgramDescription::kind);
  const std::string missing = package::missing_instructions(program->cpu_flags);
  if (missing.empty()) return;
  package.fail("needs instructions that this processor does not have:" + missing +
               "; export it on a machine of this kind");
}

void require_gpu(const Package& package, const TargetDescription& target, Device device,
                 const std::string& architecture) {
  const std::string& made_for = target.gpu_architecture;
  if (made_for == architecture) return;
  package.fail("was made for GPUs of " + made_for + ", " + to_string(device) + " is " +
               architecture + "; export it on such a GPU");
}

void require_graphs(const Package& package, const TargetDescription& target,
                    const std::string& architecture) {
  const std::string reason = why_no_graphs(target, architecture);
  if (reason.empty()) return;
  package.fail(
      "CUDA graphs are off for it: " + reason +
      "; find out with `python -m tensoa.export --check FILE.pt2 --program build/tensoa` "
      "on such a GPU, or load it without package::Options::cuda_graphs; the device can be used "
      "as before");
}

}  // namespace

std::string why_no_graphs(const TargetDescription& target, const std::string& gpu_architecture) {
  const auto check =
      std::ranges::find(target.gpu_checks, gpu_architecture, &GpuCheckDescription::architecture);
  if (check == target.gpu_checks.end()) {
    return "no capture of its program was tried on " + gpu_architecture;
  }
  if (check->has_graphs) return "";
  return "on " + gpu_architecture + " a capture failed when it was checked (" +
         check->why_no_graphs + ")";
}

std::unique_ptr<package::Program> load_inductor_program(const Package& package, Device device,
                                                        const package::Options& options,
                                                        GraphTrial trial) {
  pin_torch_to_one_thread();
  const TargetDescription& target = *package::target_for(package.manifest().targets, device.kind);
  if (device.is_cpu()) {
    require_processor(package, target);
    require_torch(package);
  } else {
    const std::string architecture = package::gpu_architecture_of(device);
    require_gpu(package, target, device, architecture);
    require_torch(package);
    if (options.cuda_graphs && trial == GraphTrial::kNo) {
      require_graphs(package, target, architecture);
    }
  }
  return make_inductor_program(package, target, device, options.cuda_graphs);
}

}  // namespace tensoa::pytorch
