// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/describe_model.hpp"
#include "engine/reply.hpp"
#include "tensoa/core/error.hpp"

// Replies of a server, in pieces whose sizes the first byte chooses: ModelMetadata, ModelStatistics and ModelInfer. Refused, or
// read; an output is written as a whole or not at all.

namespace {

using namespace tensoa;
using namespace tensoa::remote;

constexpr std::int64_t kRows = 5;

/// The block "y" of two float32 columns in `memory`.
BoundBlock block_over(std::vector<float>& memory) {
  BoundBlock block;
  block.name = "y";
  block.tensor.data = memory.data();
  block.tensor.dtype = DType::kF32;
  block.tensor.rank = 2;
  block.tensor.size_of_dim = {kRows, 2};
  block.tensor.stride_of_dim = {1, 8};
  return block;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t step = data[0] % 40 + 1U;
  const std::span<const std::byte> all(reinterpret_cast<const std::byte*>(data + 1), size - 1);
  std::vector<protobuf::Piece> pieces;
  for (std::size_t at = 0; at < all.size(); at += step) {
    pieces.push_back(all.subspan(at, std::min(step, all.size() - at)));
  }
  try {
    const ServiceUrl url{.model = "m"};
    describe_model(ServedModel::of(decode_metadata(protobuf::Bytes(pieces)), url));
    describe_model(ServedModel::of(decode_metadata(protobuf::Bytes(pieces)), url,
                                   decode_infer(protobuf::Bytes(pieces))));
  } catch (const protobuf::DecodeError&) {
  } catch (const InputError&) {
  }
  try {
    const InferenceCounts counts = decode_statistics(protobuf::Bytes(pieces));
    if (split(counts - InferenceCounts{}, {}).has_value() != (counts.requests > 0)) std::abort();
  } catch (const protobuf::DecodeError&) {
  }
  auto model = std::make_shared<ServedModel>();
  model->metadata.outputs.push_back({"y", "FP32", {-1, 2}});
  const KeptPlan plan{model,
                      {.order = WireOrder::kRows,
                       .inputs = {},
                       .outputs = {0},
                       .input_dtypes = {},
                       .output_dtypes = {DType::kF32}}};
  std::vector<float> memory(16, -7.0F);
  CopyReport copies;
  try {
    write_outputs(pieces, plan, {block_over(memory)}, nullptr, copies);
    if (copies.bytes_out != kRows * 2 * sizeof(float)) std::abort();
  } catch (const ReplyError&) {
    if (std::ranges::any_of(memory, [](float value) { return value != -7.0F; })) std::abort();
  }
  return 0;
}
