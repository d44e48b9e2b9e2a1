// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "kserve/messages.hpp"

#include <algorithm>
#include <limits>

#include "protobuf/encoder.hpp"
#include "tensoa/core/printable.hpp"
#include "tensoa/package/published.hpp"

namespace tensoa::remote {
namespace {

using protobuf::Bytes;
using protobuf::DecodeError;
using protobuf::Encoder;
using protobuf::Field;
using protobuf::for_each_field;
using protobuf::WireType;

std::string text_of(const Field& field) {
  std::string text = field.bytes.text();
  make_printable(text);
  return text;
}

/// TensorMetadata, InferInputTensor and InferOutputTensor begin alike: name, datatype, shape.
void read_tensor_field(const Field& field, WireTensor& tensor) {
  if (field.is(1, WireType::kBytes)) tensor.name = text_of(field);
  if (field.is(2, WireType::kBytes)) tensor.datatype = text_of(field);
  if (field.number == 3) append_numbers(field, kMostDimensions, tensor.sizes);
}

template <class Tensor>
Tensor& one_more(std::vector<Tensor>& tensors) {
  if (tensors.size() == kMostTensors) throw DecodeError{"there are more tensors than can be"};
  return tensors.emplace_back();
}

WireTensor& read_tensor(Bytes message, WireTensor& tensor) {
  for_each_field(message, [&](const Field& field) { read_tensor_field(field, tensor); });
  return tensor;
}

std::size_t elements_of(const WireTensor& tensor) {
  std::uint64_t product = 1;
  for (const std::int64_t size : tensor.sizes) {
    if (size < 0) throw DecodeError{"a size of an output is negative"};
    if (size > 0 &&
        product > std::numeric_limits<std::int64_t>::max() / static_cast<std::uint64_t>(size)) {
      throw DecodeError{"the sizes of an output are larger than memory can be"};
    }
    product *= static_cast<std::uint64_t>(size);
  }
  return static_cast<std::size_t>(product);
}

/// An entry of a map of parameters. `write` writes the InferParameter.
template <class Write>
void append_parameter(Encoder& message, unsigned field, std::string_view key, const Write& write) {
  Encoder parameter;
  write(parameter);
  Encoder entry;
  entry.bytes(1, key);
  entry.bytes(2, parameter.bytes());
  message.bytes(field, entry.bytes());
}

/// An entry of the parameters of a reply.
void read_parameter(Bytes entry, InferReply& reply) {
  Bytes key;
  Bytes text;
  for_each_field(entry, [&](const Field& field) {
    if (field.is(1, WireType::kBytes)) key = field.bytes;
    if (!field.is(2, WireType::kBytes)) return;
    for_each_field(field.bytes, [&](const Field& value) {
      if (value.is(3, WireType::kBytes)) text = value.bytes;
    });
  });
  if (key == package::kChecksumParameter) reply.checksum = text;
  if (key == package::kModelParameter) reply.model = text;
}

/// @param ranges of all tensors, or none
void append_range(Encoder& tensor, unsigned field,
                  const std::vector<std::optional<SharedRange>>& ranges, std::size_t i) {
  if (i >= ranges.size() || !ranges[i]) return;
  const SharedRange& range = *ranges[i];
  append_parameter(tensor, field, "shared_memory_byte_size",
                   [&](Encoder& value) { value.number(2, range.bytes); });
  append_parameter(tensor, field, "shared_memory_offset",
                   [&](Encoder& value) { value.number(2, range.offset); });
  append_parameter(tensor, field, "shared_memory_region",
                   [&](Encoder& value) { value.bytes(3, range.region); });
}

}  // namespace

std::string tensor_type(std::string_view datatype, std::span<const std::int64_t> sizes) {
  std::string text(datatype);
  text += '[';
  for (const std::int64_t size : sizes) {
    if (text.back() != '[') text += ", ";
    text += size < 0 ? "?" : std::to_string(size);
  }
  return text + ']';
}

std::string encode_model(std::string_view model, std::string_view version) {
  Encoder message;
  message.text(1, model);
  message.text(2, version);
  return message.take();
}

std::string encode_parameter(std::string_view key, std::string_view value) {
  Encoder message;
  append_parameter(message, 4, key, [&](Encoder& text) { text.bytes(3, value); });
  return message.take();
}

std::string encode(const InferHeader& header) {
  Encoder message;
  message.text(1, header.model);
  message.text(2, header.version);
  message.encoded(header.parameters);
  for (std::size_t i = 0; i < header.inputs.size(); ++i) {
    const WireTensor& input = header.inputs[i];
    Encoder tensor;
    tensor.text(1, input.name);
    tensor.text(2, input.datatype);
    tensor.numbers(3, input.sizes);
    append_range(tensor, 4, header.shared_inputs, i);
    message.bytes(5, tensor.bytes());
  }
  for (std::size_t i = 0; i < header.outputs.size(); ++i) {
    Encoder tensor;
    tensor.text(1, header.outputs[i]);
    append_range(tensor, 2, header.shared_outputs, i);
    message.bytes(6, tensor.bytes());
  }
  return message.take();
}

std::string encode_register(std::string_view name, std::uint64_t bytes) {
  Encoder message;
  message.text(1, name);
  message.text(2, std::string("/").append(name));
  message.number(4, bytes);
  return message.take();
}

std::string encode_register_device(std::string_view name, std::string_view handle, int device,
                                   std::uint64_t bytes) {
  Encoder message;
  message.text(1, name);
  message.bytes(2, handle);
  message.number(3, static_cast<std::uint64_t>(device));
  message.number(4, bytes);
  return message.take();
}

std::string encode_unregister(std::string_view name) {
  Encoder message;
  message.text(1, name);
  return message.take();
}

std::string raw_prefix(std::uint64_t bytes) {
  Encoder prefix;
  prefix.tag(7, WireType::kBytes);
  prefix.varint(bytes);
  return prefix.take();
}

ModelMetadataReply decode_metadata(Bytes message) {
  ModelMetadataReply reply;
  for_each_field(message, [&](const Field& field) {
    if (field.type != WireType::kBytes) return;
    if (field.number == 1) reply.name = text_of(field);
    if (field.number == 2) one_more(reply.versions) = text_of(field);
    if (field.number == 3) reply.platform = text_of(field);
    if (field.number == 4) read_tensor(field.bytes, one_more(reply.inputs));
    if (field.number == 5) read_tensor(field.bytes, one_more(reply.outputs));
  });
  return reply;
}

bool decode_ready(Bytes message) {
  bool is_ready = false;
  for_each_field(message, [&](const Field& field) {
    if (field.is(1, WireType::kVarint)) is_ready = field.value != 0;
  });
  return is_ready;
}

InferenceCounts decode_statistics(Bytes message) {
  InferenceCounts counts;
  // A server may send any number: times that are limited can be added.
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max() / 8;
  const auto read = [&](const Field& field, std::uint64_t* count, std::chrono::nanoseconds* time) {
    for_each_field(field.bytes, [&](const Field& part) {
      if (part.is(1, WireType::kVarint) && count != nullptr) *count += part.value;
      if (part.is(2, WireType::kVarint) && time != nullptr) {
        const std::uint64_t sum =
            static_cast<std::uint64_t>(time->count()) + std::min(part.value, kMost);
        *time = std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(sum, kMost)));
      }
    });
  };
  const auto read_times = [&](const Field& field) {
    if (field.type != WireType::kBytes) return;
    if (field.number == 1) read(field, &counts.requests, nullptr);
    if (field.number == 2) read(field, &counts.failures, nullptr);
    if (field.number == 3) read(field, nullptr, &counts.queue);
    if (field.number == 4) read(field, nullptr, &counts.compute_input);
    if (field.number == 5) read(field, nullptr, &counts.compute);
    if (field.number == 6) read(field, nullptr, &counts.compute_output);
  };
  for_each_field(message, [&](const Field& model) {
    if (!model.is(1, WireType::kBytes)) return;
    for_each_field(model.bytes, [&](const Field& field) {
      if (field.is(4, WireType::kVarint)) counts.rows += field.value;
      if (field.is(5, WireType::kVarint)) counts.executions += field.value;
      if (field.is(6, WireType::kBytes)) for_each_field(field.bytes, read_times);
    });
  });
  return counts;
}

InferReply decode_infer(Bytes message, std::span<const std::string> shared) {
  InferReply reply;
  std::vector<ReplyTensor>& tensors = reply.outputs;
  std::vector<Bytes> raw;
  for_each_field(message, [&](const Field& field) {
    if (field.is(2, WireType::kBytes)) reply.version = field.bytes;
    if (field.is(4, WireType::kBytes)) read_parameter(field.bytes, reply);
    if (field.is(5, WireType::kBytes)) {
      ReplyTensor& tensor = one_more(tensors);
      for_each_field(field.bytes, [&](const Field& part) {
        read_tensor_field(part, tensor.tensor);
        if (part.is(5, WireType::kBytes)) tensor.typed = part.bytes;
      });
      tensor.elements = elements_of(tensor.tensor);
    }
    if (field.is(6, WireType::kBytes)) one_more(raw) = field.bytes;
  });
  if (raw.size() > tensors.size()) throw DecodeError{"there are more raw contents than outputs"};
  std::vector<ReplyTensor*> with_raw;
  const bool has_all = raw.size() == tensors.size();
  for (ReplyTensor& tensor : tensors) {
    const bool is_shared = std::ranges::find(shared, tensor.tensor.name) != shared.end();
    if (has_all || !is_shared) with_raw.push_back(&tensor);
  }
  if (!raw.empty() && raw.size() < with_raw.size()) {
    throw DecodeError{"there are fewer raw contents than outputs"};
  }
  if (raw.size() > with_raw.size()) {
    throw DecodeError{"there are more raw contents than outputs outside of shared memory"};
  }
  for (std::size_t i = 0; i < raw.size(); ++i) with_raw[i]->raw = raw[i];
  return reply;
}

}  // namespace tensoa::remote
