// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "fused.hpp"

#include <charconv>

#include "tensoa/package/engines.hpp"

namespace tensoa::package {
namespace {

/// "sm_90" as 90; 0 for other names, such as code for one architecture alone ("sm_90a").
int number_of(std::string_view architecture) {
  if (!architecture.starts_with("sm_")) return 0;
  architecture.remove_prefix(3);
  int number = 0;
  const char* const end = architecture.data() + architecture.size();
  return std::from_chars(architecture.data(), end, number).ptr == end ? number : 0;
}

}  // namespace

std::unique_ptr<Program> load_fused_program(const Package& package, Device device,
                                            const Options& options, GraphTrial /*trial*/) {
  const TargetDescription& target = *target_for(package.manifest().targets, device.kind);
  if (device.is_cpu()) return make_fused_cpu_program(package, target);
  const std::string_view code =
      code_for(package, target.programs, device, gpu_architecture_of(device));
  return make_fused_gpu_program(package, *target.fused, code, device, options.cuda_graphs);
}

std::string_view code_for(const Package& package, std::span<const ProgramDescription> programs,
                          Device device, const std::string& architecture) {
  const int here = number_of(architecture);
  const ProgramDescription* best = nullptr;
  std::string architectures;
  for (const ProgramDescription& program : programs) {
    if (program.kind != kFused || program.target != DeviceKind::kCuda) continue;
    architectures += (architectures.empty() ? "" : ", ") + program.name;
    const int number = number_of(program.name);
    if (number == 0 || number / 10 != here / 10 || number > here) continue;
    if (best == nullptr || number > number_of(best->name)) best = &program;
  }
  if (best != nullptr) return package.archive().file(best->file);
  package.fail("has no program for " + to_string(device) + ", which is " + architecture +
               ", only for " + architectures + "; export it for that GPU");
}

}  // namespace tensoa::package
