// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "shared/sharing.hpp"

#include <cstddef>

#include "columns/runs.hpp"
#include "columns/wire_views.hpp"

namespace tensoa::remote {
namespace {

/// Shorter blocks go by the wire, which costs no more: benchmarks/results/service-shared.txt.
constexpr std::size_t kWorthSharing = std::size_t{64} << 10;

struct Stretch {
  const void* data;
  std::size_t bytes;
};

/// The elements of a block, where they are one stretch of memory.
std::optional<Stretch> stretch_of(const BoundBlock& block, WireOrder order, DType dtype) {
  const std::vector<TensorView> views = wire_views(block, order, dtype);
  if (views.size() != 1 || views.front().bytes() < kWorthSharing) return std::nullopt;
  if (Runs(views.front()).bytes() != views.front().bytes()) return std::nullopt;
  return Stretch{views.front().data, views.front().bytes()};
}

/// @param region the only one that counts; set by the first block that is in one
std::optional<SharedRange> range_of(const BoundBlock& block, WireOrder order, DType dtype,
                                    std::shared_ptr<Region>& region) {
  const std::optional<Stretch> stretch = stretch_of(block, order, dtype);
  if (!stretch) return std::nullopt;
  const std::shared_ptr<Region> found = region ? region : host_regions().find(stretch->data);
  if (found == nullptr) return std::nullopt;
  const std::optional<std::uint64_t> offset = found->find(stretch->data, stretch->bytes);
  if (!offset) return std::nullopt;
  region = found;
  return SharedRange{region->name(), *offset, stretch->bytes};
}

}  // namespace

Sharing find_sharing(const Binding& binding, const ModelMetadataReply& metadata,
                     const WirePlan& plan) {
  Sharing sharing;
  std::shared_ptr<Region>& region = sharing.host_region;
  for (std::size_t i = 0; i < binding.inputs.size(); ++i) {
    sharing.inputs.push_back(range_of(binding.inputs[i], plan.order, plan.input_dtypes[i], region));
  }
  for (std::size_t i = 0; i < binding.outputs.size(); ++i) {
    const auto& range = sharing.outputs.emplace_back(
        range_of(binding.outputs[i], plan.order, plan.output_dtypes[i], region));
    if (range) sharing.output_names.push_back(metadata.outputs[plan.outputs[i]].name);
  }
  sharing.region = region;
  return sharing;
}

bool is_still_there(const Sharing& sharing, const std::vector<BoundBlock>& outputs,
                    const WirePlan& plan) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!sharing.outputs[i]) continue;
    const std::optional<Stretch> stretch =
        stretch_of(outputs[i], plan.order, plan.output_dtypes[i]);
    if (!stretch ||
        sharing.host_region->find(stretch->data, stretch->bytes) != sharing.outputs[i]->offset) {
      return false;
    }
  }
  return true;
}

void leave_outputs(const Sharing& sharing, const std::vector<BoundBlock>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (sharing.outputs[i]) sharing.host_region->exchange_pages(outputs[i].memory().front().data);
  }
}

}  // namespace tensoa::remote
