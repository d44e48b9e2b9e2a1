// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/request.hpp"

#include "columns/gather.hpp"
#include "kserve/datatypes.hpp"
#include "service/option_names.hpp"
#include "tensoa/core/strided_copy.hpp"
#include "tensoa/engine/arguments.hpp"

namespace tensoa::remote {
namespace {

/// Appends the elements of a block in the order in which they travel.
void append_block(Payload& payload, const BoundBlock& block, WireOrder order, DType dtype,
                  CopyReport& copies) {
  const std::vector<TensorView> views = wire_views(block, order, dtype);
  if (!views.empty()) {
    for (const TensorView& view : views) {
      if (const std::size_t copied = append_elements(payload, view); copied > 0) {
        copies.add_in(copied, CopyReason::kRepack);
      }
    }
    return;
  }
  BoundBlock made = block;
  make_row_major(made.tensor);
  made.tensor.read_only = false;  // the columns that it is made of may be
  made.form = BlockForm::kInPlace;
  // Planes of it are gathered once more, so the payload does not own it.
  std::vector<std::byte> memory;
  if (order == WireOrder::kRows) {
    made.tensor.data = payload.make_room(made.tensor.bytes());
  } else {
    memory.resize(made.tensor.bytes());
    made.tensor.data = memory.data();
  }
  write_argument(Queue(Device::cpu()), block, made.tensor, copies);
  if (order == WireOrder::kRows) return;
  for (const TensorView& view : wire_views(made, order, dtype)) {
    TensorView room = view;
    room.data = payload.make_room(view.bytes());
    make_row_major(room);
    strided_copy(Queue(Device::cpu()), room, view);
  }
}

}  // namespace

std::shared_ptr<const Payload> make_request(const Service& service, const KeptPlan& kept,
                                            const Binding& binding, const Sharing* sharing,
                                            CopyReport& copies) {
  const ServiceUrl& url = service.url();
  const ModelMetadataReply& metadata = kept.model->metadata;
  const WirePlan& plan = kept.plan;
  InferHeader header{.model = url.model,
                     .version = kept.model->version_for(url),
                     .parameters = kept.model->parameters};
  if (sharing != nullptr) {
    header.shared_inputs = sharing->inputs;
    header.shared_outputs = sharing->outputs;
  }
  std::vector<std::uint64_t> bytes;
  for (std::size_t i = 0; i < binding.inputs.size(); ++i) {
    const BoundBlock& block = binding.inputs[i];
    WireTensor& tensor = header.inputs.emplace_back(metadata.inputs[plan.inputs[i]]);
    tensor.sizes = wire_sizes(block, plan.order, tensor, service.subject());
    bytes.push_back(size_of(plan.input_dtypes[i]));
    for (const std::int64_t size : tensor.sizes) bytes.back() *= static_cast<std::uint64_t>(size);
  }
  for (const std::size_t place : plan.outputs)
    header.outputs.push_back(metadata.outputs[place].name);

  auto payload = std::make_shared<Payload>();
  payload->append(encode(header));
  for (std::size_t i = 0; i < binding.inputs.size(); ++i) {
    if (sharing != nullptr && sharing->inputs[i]) continue;
    payload->append(raw_prefix(bytes[i]));
    append_block(*payload, binding.inputs[i], plan.order, plan.input_dtypes[i], copies);
  }
  if (payload->size() > service.options().message_limit) {
    throw ServiceError(service.subject() + "the request has " + std::to_string(payload->size()) +
                           " bytes, expected at most " +
                           std::to_string(service.options().message_limit) +
                           with_option(" (", "message_limit", ")") + "; send fewer rows at a time",
                       kResourceExhausted, {}, false);
  }
  return payload;
}

}  // namespace tensoa::remote
