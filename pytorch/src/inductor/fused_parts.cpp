// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "inductor/fused_parts.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "runtime/tensors.hpp"
#include "tensoa/package/impl/fused_library.hpp"

namespace tensoa::pytorch {

struct FusedParts::Part {
  package::FusedPart about;
  package::FusedLibrary library;
};

namespace {

using Part = FusedParts::Part;

/// The parts that are loaded, by name.
struct Loaded {
  std::shared_mutex mutex;
  std::unordered_map<std::string, std::weak_ptr<const Part>> parts;

  static Loaded& get() {
    static Loaded all;
    return all;
  }
};

std::shared_ptr<const Part> find_part(const std::string& name) {
  Loaded& all = Loaded::get();
  const std::shared_lock lock(all.mutex);
  const auto found = all.parts.find(name);
  return found == all.parts.end() ? nullptr : found->second.lock();
}

std::shared_ptr<const Part> load_part(const package::Package& package,
                                      const package::FusedPart& about) {
  if (std::shared_ptr<const Part> part = find_part(about.name)) return part;
  // Unpacked without the lock, which calls of all models take.
  std::shared_ptr<const Part> made(new Part{about, {package, about.programs}});
  Loaded& all = Loaded::get();
  const std::unique_lock lock(all.mutex);
  std::erase_if(all.parts, [](const auto& part) { return part.second.expired(); });
  std::weak_ptr<const Part>& known = all.parts[about.name];
  if (std::shared_ptr<const Part> other = known.lock()) return other;
  known = made;
  return made;
}

/// Planes whose rows lie side by side.
bool are_planes(const at::Tensor& tensor) { return tensor.stride(1) == 1 || tensor.size(1) <= 1; }

package::FusedBlock block_of(const at::Tensor& planes) {
  return {planes.data_ptr(), planes.stride(0)};
}

/// The operator. @param inputs [planes, rows]
std::vector<at::Tensor> call_part(at::TensorList inputs, std::string_view name) {
  const std::shared_ptr<const Part> part = find_part(std::string(name));
  TORCH_CHECK(part != nullptr, "the fused part ", name, " is of no model that is loaded");
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
  std::vector<at::Tensor> outputs;
  outputs.reserve(part->about.outputs.size());
  for (const package::FusedPart::Output& output : part->about.outputs) {
    outputs.push_back(at::empty({output.planes, planes[output.rows_of].size(1)},
                                at::TensorOptions().dtype(to_torch(output.dtype))));
    blocks.push_back(block_of(outputs.back()));
  }
  std::vector<std::int64_t> rows;
  for (const std::optional<std::size_t>& input : part->about.domains) {
    rows.push_back(input ? planes[*input].size(1) : 0);
  }
  part->library.run(blocks.data(), rows.data());
  return outputs;
}

}  // namespace

TORCH_LIBRARY(tensoa, library) {
  library.def("part(Tensor[] inputs, str name) -> Tensor[]");
  library.impl("part", c10::DispatchKey::CPU, call_part);
}

FusedParts::FusedParts(const package::Package& package) {
  for (const package::FusedPart& part : package.manifest().parts) {
    parts_.push_back(load_part(package, part));
  }
}

}  // namespace tensoa::pytorch
