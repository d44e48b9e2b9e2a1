// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "fake_server.hpp"
#include "protobuf/encoder.hpp"

namespace tensoa::test {
namespace {

std::string tensor_message(const remote::WireTensor& tensor) {
  remote::protobuf::Encoder message;
  message.text(1, tensor.name);
  message.text(2, tensor.datatype);
  message.numbers(3, tensor.sizes);
  return message.take();
}

}  // namespace

std::string metadata_reply(const std::string& model, const std::string& platform,
                           const std::vector<remote::WireTensor>& inputs,
                           const std::vector<remote::WireTensor>& outputs) {
  remote::protobuf::Encoder message;
  message.text(1, model);
  message.text(2, "1");
  message.text(3, platform);
  for (const auto& input : inputs) message.bytes(4, tensor_message(input));
  for (const auto& output : outputs) message.bytes(5, tensor_message(output));
  return message.take();
}

std::string infer_reply(const std::vector<remote::WireTensor>& outputs,
                        const std::vector<std::string>& raw) {
  remote::protobuf::Encoder message;
  for (const auto& output : outputs) message.bytes(5, tensor_message(output));
  for (const auto& bytes : raw) message.bytes(6, bytes);
  return message.take();
}

bool has_parameter(const std::string& request, const std::string& key) {
  for (const std::string& entry : parse_request(request).parameters) {
    const std::vector pieces{std::as_bytes(std::span(entry))};
    bool is_it = false;
    for_each_field(remote::protobuf::Bytes(pieces), [&](const remote::protobuf::Field& field) {
      is_it = is_it || (field.number == 1 && field.bytes == key);
    });
    if (is_it) return true;
  }
  return false;
}

SeenRequest parse_request(const std::string& message) {
  SeenRequest seen;
  const std::vector pieces{std::as_bytes(std::span(message))};
  for_each_field(remote::protobuf::Bytes(pieces), [&](const remote::protobuf::Field& field) {
    if (field.number == 1) seen.model = field.bytes.text();
    if (field.number == 2) seen.version = field.bytes.text();
    if (field.number == 4) seen.parameters.push_back(field.bytes.text());
    if (field.number == 5) {
      remote::WireTensor& tensor = seen.inputs.emplace_back();
      for_each_field(field.bytes, [&](const remote::protobuf::Field& part) {
        if (part.number == 1) tensor.name = part.bytes.text();
        if (part.number == 2) tensor.datatype = part.bytes.text();
        if (part.number == 3) append_numbers(part, 16, tensor.sizes);
      });
    }
    if (field.number == 6) {
      for_each_field(field.bytes,
                     [&](const auto& part) { seen.outputs.push_back(part.bytes.text()); });
    }
    if (field.number == 7) seen.raw.push_back(field.bytes.text());
  });
  return seen;
}

FakeReply answer_same(const std::string& method, const std::string& request) {
  if (method == remote::kModelReady) return {.message = std::string("\x08\x01", 2)};
  if (method == remote::kModelMetadata) {
    return {.message = metadata_reply("same", "", {{"x", "FP32", {-1}}}, {{"y", "FP32", {-1}}})};
  }
  const SeenRequest seen = parse_request(request);
  return {.message = infer_reply({{"y", "FP32", seen.inputs.at(0).sizes}}, seen.raw)};
}

}  // namespace tensoa::test
