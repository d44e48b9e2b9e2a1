// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "inductor/fused_parts.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "runtime/stream_guard.hpp"
#include "runtime/tensors.hpp"
#include "tensoa/package/impl/fused_gpu_part.hpp"
#include "tensoa/package/impl/fused_library.hpp"

namespace tensoa::pytorch {

struct FusedParts::Part {
  Part(const package::Package& package, const package::FusedPart& part, Device device)
      : about(part) {
    if (device.is_cpu()) {
      on_cpu.emplace(package, about.programs);
    } else {
      on_gpu = package::load_fused_gpu_part(package, about, device);
    }
  }

  void run(const package::FusedBlock* blocks, const std::int64_t* rows,
           const at::TensorOptions& where) const {
    if (on_cpu) return on_cpu->run(blocks, rows);
    // Torch's memory: what later work on the stream gets is free when the kernels have ended.
    const auto bytes = static_cast<std::int64_t>(on_gpu->workspace_bytes(rows));
    const at::Tensor workspace = at::empty({bytes}, where.dtype(at::kByte));
    on_gpu->run(StreamGuard::current(), blocks, rows,
                static_cast<std::byte*>(workspace.data_ptr()));
  }

  package::FusedPart about;
  std::optional<package::FusedLibrary> on_cpu;
  std::unique_ptr<package::FusedGpuPart> on_gpu;
};

namespace {

using Part = FusedParts::Part;

/// The parts that are loaded, by name, for each device.
struct Loaded {
  using Parts = std::unordered_map<std::string, std::weak_ptr<const Part>>;

  std::shared_mutex mutex;
  std::map<Device, Parts> parts;

  static Loaded& get() {
    static Loaded all;
    return all;
  }
};

std::shared_ptr<const Part> find_part(const std::string& name, Device device) {
  Loaded& all = Loaded::get();
  const std::shared_lock lock(all.mutex);
  const auto parts = all.parts.find(device);
  if (parts == all.parts.end()) return nullptr;
  const auto found = parts->second.find(name);
  return found == parts->second.end() ? nullptr : found->second.lock();
}

std::shared_ptr<const Part> load_part(const package::Package& package,
                                      const package::FusedPart& about, Device device) {
  if (std::shared_ptr<const Part> part = find_part(about.name, device)) return part;
  // Loaded without the lock, which calls of all models take.
  auto made = std::make_shared<const Part>(package, about, device);
  Loaded& all = Loaded::get();
  const std::unique_lock lock(all.mutex);
  Loaded::Parts& parts = all.parts[device];
  std::erase_if(parts, [](const auto& part) { return part.second.expired(); });
  std::weak_ptr<const Part>& known = parts[about.name];
  if (std::shared_ptr<const Part> other = known.lock()) return other;
  known = made;
  return made;
}

/// Planes whose rows lie side by side.
bool are_planes(const at::Tensor& tensor) { return tensor.stride(1) == 1 || tensor.size(1) <= 1; }

package::FusedBlock block_of(const at::Tensor& planes) {
  return {planes.data_ptr(), planes.stride(0)};
}

Device device_of(at::TensorList inputs) {
  return inputs.empty() || inputs[0].is_cpu() ? Device::cpu()
                                              : Device::cuda(inputs[0].device().index());
}

/// The operator. @param inputs [planes, rows]
std::vector<at::Tensor> call_part(at::TensorList inputs, std::string_view name) {
  const Device device = device_of(inputs);
  const std::shared_ptr<const Part> part = find_part(std::string(name), device);
  TORCH_CHECK(part != nullptr, "the fused part ", name, " is of no model that is loaded on ",
              to_string(device));
  TORCH_CHECK(inputs.size() == part->about.inputs, "the fused part ", name, " takes ",
              part->about.inputs, " tensors, got ", inputs.size());
  std::vector<at::Tensor> planes;
  std::vector<package::FusedBlock> blocks;
  planes.reserve(inputs.size());
  blocks.reserve(inputs.size() + part->about.outputs.size());
  for (const at::Tensor& input : inputs) {
    TORCH_CHECK(input.dim() == 2, "the fused part ", name, " takes planes, got ", input.dim(),
                " dimensions");
    planes.push_back(are_planes(input) ? input : input.contiguous());
    blocks.push_back(block_of(planes.back()));
  }
  const at::TensorOptions where = at::TensorOptions().device(planes[0].device());
  std::vector<at::Tensor> outputs;
  outputs.reserve(part->about.outputs.size());
  for (const package::FusedPart::Output& output : part->about.outputs) {
    outputs.push_back(at::empty({output.planes, planes[output.rows_of].size(1)},
                                where.dtype(to_torch(output.dtype))));
    blocks.push_back(block_of(outputs.back()));
  }
  std::vector<std::int64_t> rows;
  for (const std::optional<std::size_t>& input : part->about.domains) {
    rows.push_back(input ? planes[*input].size(1) : 0);
  }
  part->run(blocks.data(), rows.data(), where);
  return outputs;
}

}  // namespace

// In a process of Python the compiler may have defined "part" before this is loaded (python/tensoa/package/parts.py), or takes
// its place on CPUs afterwards; it passes on to "loaded_part" what it did not make itself.
TORCH_LIBRARY_FRAGMENT(tensoa, library) {
  library.def("loaded_part(Tensor[] inputs, str name) -> Tensor[]");
  library.impl("loaded_part", c10::DispatchKey::CPU, call_part);
  if (!c10::Dispatcher::singleton().findSchema({"tensoa::part", ""})) {
    library.def("part(Tensor[] inputs, str name) -> Tensor[]");
    library.impl("part", c10::DispatchKey::CPU, call_part);
  }
  library.impl("part", c10::DispatchKey::CUDA, call_part);
}

FusedParts::FusedParts(const package::Package& package,
                       const std::vector<package::FusedPart>& parts, Device device) {
  for (const package::FusedPart& part : parts) {
    parts_.push_back(load_part(package, part, device));
  }
}

}  // namespace tensoa::pytorch
