// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/reply.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "columns/scatter.hpp"
#include "columns/typed_contents.hpp"
#include "columns/wire_views.hpp"
#include "kserve/datatypes.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/engine/arguments.hpp"

namespace tensoa::remote {
namespace {

std::string described(const WireTensor& tensor) {
  std::string text = '"' + tensor.name + "\" " + tensor.datatype + '[';
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(tensor.sizes[i]);
  }
  return text + ']';
}

/// The bytes of one output, row-major, where they are in the reply or made from its numbers.
struct Content {
  protobuf::Bytes bytes;
  std::vector<std::byte> made = {};
  std::vector<protobuf::Piece> piece = {};
  bool is_in_place = false;  ///< the server has written it to the columns
};

/// @throws ReplyError
void check(const ReplyTensor& got, const BoundBlock& block, WireOrder order, DType dtype,
           const WireTensor& expected) {
  const std::vector<std::int64_t> sizes = wire_sizes(block, order, expected, {});
  const std::string_view datatype = kserve_name(dtype);
  if (got.tensor.datatype == datatype && same_but_for_ones(got.tensor.sizes, sizes)) return;
  throw ReplyError{.what = "sent " + described(got.tensor) + ", expected " +
                           described({expected.name, std::string(datatype), sizes}) + " for " +
                           to_string(block)};
}

void write(const TensorView& to, protobuf::Bytes& from, CopyReport& copies) {
  scatter(from, to);
  copies.add_out(to.bytes(), CopyReason::kOwnOutput);
}

void write_block(const BoundBlock& block, WireOrder order, DType dtype, protobuf::Bytes from,
                 CopyReport& copies) {
  const std::vector<TensorView> views = wire_views(block, order, dtype);
  if (!views.empty()) {
    for (const TensorView& view : views) write(view, from, copies);
    return;
  }
  // Repacked: in between as a tensor.
  BoundBlock made = block;
  make_row_major(made.tensor);
  made.form = BlockForm::kInPlace;
  std::vector<std::byte> memory(made.tensor.bytes());
  made.tensor.data = memory.data();
  for (const TensorView& view : wire_views(made, order, dtype)) write(view, from, copies);
  write_columns(Queue(Device::cpu()), made.tensor, block, copies);
}

}  // namespace

void write_outputs(std::span<const protobuf::Piece> reply, const KeptPlan& kept,
                   const std::vector<BoundBlock>& outputs, const Sharing* sharing,
                   CopyReport& copies) {
  const ModelMetadataReply& metadata = kept.model->metadata;
  const WirePlan& plan = kept.plan;
  std::vector<Content> contents(outputs.size());
  try {
    const std::span<const std::string> shared =
        sharing == nullptr ? std::span<const std::string>() : sharing->output_names;
    const InferReply decoded = decode_infer(protobuf::Bytes(reply), shared);
    if (std::string differs = kept.model->difference(decoded); !differs.empty()) {
      throw ReplyError{.what = std::move(differs), .is_of_another = true};
    }
    const std::vector<ReplyTensor>& tensors = decoded.outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const WireTensor& expected = metadata.outputs[plan.outputs[i]];
      const auto found = std::ranges::find_if(
          tensors, [&](const ReplyTensor& got) { return got.tensor.name == expected.name; });
      if (found == tensors.end()) {
        throw ReplyError{.what = "sent no output \"" + expected.name + "\", which was requested"};
      }
      const DType dtype = plan.output_dtypes[i];
      check(*found, outputs[i], plan.order, dtype, expected);
      Content& content = contents[i];
      content.is_in_place =
          sharing != nullptr && sharing->outputs[i] && found->raw.empty() && found->typed.empty();
      if (content.is_in_place) continue;
      if (sharing != nullptr && sharing->needs_all && sharing->outputs[i]) {
        throw ReplyError{.what = "sent the contents of " + described(found->tensor) +
                                 ", which it was to write to shared memory"};
      }
      const std::size_t bytes = found->elements * size_of(dtype);
      content.bytes = found->raw;
      if (found->raw.empty() && !found->typed.empty()) {
        content.made = raw_of(found->typed, dtype, found->elements);
        content.piece.emplace_back(content.made);
        content.bytes = protobuf::Bytes(content.piece);
      }
      if (content.bytes.size() != bytes) {
        throw ReplyError{.what = "sent " + std::to_string(content.bytes.size()) + " bytes for " +
                                 described(found->tensor) + ", expected " + std::to_string(bytes)};
      }
    }
  } catch (const protobuf::DecodeError& error) {
    throw ReplyError{.what = std::string("sent a reply that cannot be read: ") + error.what};
  } catch (const BindingError& error) {
    throw ReplyError{.what = std::string("sent an output that does not fit: ") + error.what()};
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!contents[i].is_in_place)
      write_block(outputs[i], plan.order, plan.output_dtypes[i], contents[i].bytes, copies);
  }
}

}  // namespace tensoa::remote
