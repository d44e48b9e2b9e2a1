// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "columns/wire_views.hpp"
#include "kserve/messages.hpp"
#include "service/served_model.hpp"
#include "tensoa/engine/model_metadata.hpp"
#include "tensoa/engine/signature.hpp"

namespace tensoa::remote {

/// How the blocks of a binding travel to a model of a server: all that stays the same when the binding is
/// rebound.
struct WirePlan {
  WireOrder order = WireOrder::kRows;
  std::vector<std::size_t> inputs;   ///< of each input block its place in the metadata
  std::vector<std::size_t> outputs;  ///< of each output block its place in the metadata
  std::vector<DType> input_dtypes;   ///< of each input block that of its elements as they travel
  std::vector<DType> output_dtypes;  ///< the same of each output block
};

/// A plan, and the model that it was made for.
struct KeptPlan {
  std::shared_ptr<const ServedModel> model;
  WirePlan plan;
};

/// The names and dtypes of the tensors of a model; no dtype where it is not one of ours.
Signature signature_of(const ModelMetadataReply& metadata);

/// @param subject the beginning of messages
/// @throws BindingError where the model does not take these blocks, or where columns are not those that the server names, in
/// its order: what got, what the server expects
WirePlan plan_for(const Binding& binding, const ServedModel& model, const std::string& subject);

/// The sizes with which a block is sent: those of its tensor, or of its planes, and dimensions of one element
/// more or less, as the server has them.
/// @throws BindingError
std::vector<std::int64_t> wire_sizes(const BoundBlock& block, WireOrder order,
                                     const WireTensor& expected, const std::string& subject);

/// Whether sizes are equal but for dimensions of one element.
bool same_but_for_ones(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b);

}  // namespace tensoa::remote
