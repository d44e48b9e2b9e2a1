// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "kserve/messages.hpp"

#include <limits>

#include "protobuf/encoder.hpp"

namespace tensoa::remote {
namespace {

using protobuf::Bytes;
using protobuf::DecodeError;
using protobuf::Encoder;
using protobuf::Field;
using protobuf::for_each_field;
using protobuf::WireType;

/// TensorMetadata, InferInputTensor and InferOutputTensor begin alike: name, datatype, shape.
void read_tensor_field(const Field& field, WireTensor& tensor) {
  if (field.is(1, WireType::kBytes)) tensor.name = field.bytes.text();
  if (field.is(2, WireType::kBytes)) tensor.datatype = field.bytes.text();
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

}  // namespace

std::string encode_model(std::string_view model, std::string_view version) {
  Encoder message;
  message.text(1, model);
  message.text(2, version);
  return message.take();
}

std::string encode(const InferHeader& header) {
  Encoder message;
  message.text(1, header.model);
  message.text(2, header.version);
  for (const auto& [key, value] : header.parameters) {
    Encoder parameter;  // InferParameter: string_param
    parameter.bytes(3, value);
    Encoder entry;
    entry.bytes(1, key);
    entry.bytes(2, parameter.bytes());
    message.bytes(4, entry.bytes());
  }
  for (const WireTensor& input : header.inputs) {
    Encoder tensor;
    tensor.text(1, input.name);
    tensor.text(2, input.datatype);
    tensor.numbers(3, input.sizes);
    message.bytes(5, tensor.bytes());
  }
  for (const std::string& output : header.outputs) {
    Encoder tensor;
    tensor.text(1, output);
    message.bytes(6, tensor.bytes());
  }
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
    if (field.number == 1) reply.name = field.bytes.text();
    if (field.number == 2) one_more(reply.versions) = field.bytes.text();
    if (field.number == 3) reply.platform = field.bytes.text();
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

std::vector<ReplyTensor> decode_infer(Bytes message) {
  std::vector<ReplyTensor> tensors;
  std::vector<Bytes> raw;
  for_each_field(message, [&](const Field& field) {
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
  if (!raw.empty() && raw.size() < tensors.size()) {
    throw DecodeError{"there are fewer raw contents than outputs"};
  }
  for (std::size_t i = 0; i < raw.size(); ++i) tensors[i].raw = raw[i];
  return tensors;
}

}  // namespace tensoa::remote
