// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "manifest.hpp"

#include <stdexcept>
#include <string>
#include <string_view>

namespace tensoa::pytorch {

using nlohmann::json;

json manifest_of(caffe2::serialize::PyTorchStreamReader& archive) {
  constexpr int kDeepest = 64;
  const auto [data, size] = archive.getRecord("extra/tensoa.json");
  return json::parse(std::string_view(static_cast<const char*>(data.get()), size),
                     [](int depth, json::parse_event_t, const json&) {
                       if (depth <= kDeepest) return true;
                       throw std::runtime_error("its manifest is nested deeper than " +
                                                std::to_string(kDeepest) + " levels");
                     });
}

std::vector<std::size_t> collections_in(const json& manifest, const BindingDescription& binding) {
  const auto lengths = manifest.value("lengths", std::vector<std::size_t>{});
  std::vector<std::size_t> collections;
  for (const BlockDescription& block : binding.inputs) {
    if (!lengths.empty() && block.collection >= lengths.size()) {
      throw std::runtime_error("its \"lengths\" lack input collection " +
                               std::to_string(block.collection));
    }
    collections.push_back(lengths.empty() ? block.collection : lengths[block.collection]);
  }
  return collections;
}

}  // namespace tensoa::pytorch
