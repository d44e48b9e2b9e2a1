// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Messages against bytes that Google's protobuf for Python wrote (tritonclient 2.73, protobuf 6.33).

#include "kserve/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kserve/service_url.hpp"
#include "protobuf/encoder.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::remote {
namespace {

using protobuf::Bytes;
using protobuf::DecodeError;
using testing::ElementsAre;

std::string unhex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

/// A message in one piece.
class Message {
 public:
  explicit Message(std::string bytes)
      : bytes_(std::move(bytes)), pieces_{std::as_bytes(std::span(bytes_))} {}
  Bytes operator*() const { return Bytes(pieces_); }

 private:
  std::string bytes_;
  std::vector<protobuf::Piece> pieces_;
};

constexpr std::string_view kInferRequest =
    "0a076e6574776f726b12013322170a0f74656e736f615f636865636b73756d12041a0261622a0e0a"
    "01781204465033321a03ac02032a140a0565646765731205494e5436341a0402f0a20432030a0179"
    "3ac801";

constexpr std::string_view kSharedRequest =
    "0a076e6574776f726b2a660a01781204465033321a02e807221e0a177368617265645f6d656d6f72795f627974"
    "655f73697a65120310a01f221a0a147368617265645f6d656d6f72795f6f666673657412021000221b0a147368"
    "617265645f6d656d6f72795f726567696f6e12031a0172325d0a0179121e0a177368617265645f6d656d6f7279"
    "5f627974655f73697a65120310a01f121b0a147368617265645f6d656d6f72795f6f6666736574120310802012"
    "1b0a147368617265645f6d656d6f72795f726567696f6e12031a0172";

constexpr std::string_view kMetadataRequest = "0a076e6574776f726b120133";

constexpr std::string_view kMetadataReply =
    "0a076e6574776f726b1201311201321a06707974686f6e22160a01781204465033321a0bffffffff"
    "ffffffffff01032a160a01791204465033321a0bffffffffffffffffff0102";

constexpr std::string_view kInferReply =
    "0a076e6574776f726b1201311a01372a0d0a01791204465033321a0202022a0c0a017a1204424f4f"
    "4c1a010232103031323334353637383961626364656632027879";

TEST(Messages, EncodeSharedMemoryLikeProtobuf) {
  const InferHeader header{.model = "network",
                           .version = {},
                           .inputs = {{"x", "FP32", {1000}}},
                           .outputs = {"y"},
                           .shared_inputs = {SharedRange{"r", 0, 4000}},
                           .shared_outputs = {SharedRange{"r", 4096, 4000}}};
  EXPECT_EQ(encode(header), unhex(kSharedRequest));
  EXPECT_EQ(encode_register("r", 8192), unhex("0a017212022f72208040"));
  EXPECT_EQ(encode_unregister("r"), unhex("0a0172"));
}

TEST(Messages, OutputsInSharedMemoryNeedNoContents) {
  protobuf::Encoder reply;
  for (const char* name : {"a", "b"}) {
    protobuf::Encoder tensor;
    tensor.text(1, name);
    reply.bytes(5, tensor.bytes());
  }
  reply.bytes(6, "xyz");
  const Message message(reply.take());
  EXPECT_THROW(decode_infer(*message), DecodeError);
  const std::vector<std::string> shared{"a"};
  const std::vector<ReplyTensor> tensors = decode_infer(*message, shared).outputs;
  EXPECT_EQ(tensors.at(0).raw.size(), 0U);
  EXPECT_EQ(tensors.at(1).raw.text(), "xyz");
  const std::vector<std::string> both{"a", "b"};
  EXPECT_THROW(decode_infer(*message, both), DecodeError);
}

TEST(Messages, EncodeLikeProtobuf) {
  const std::string parameters = encode_parameter("tensoa_checksum", "ab");
  const InferHeader header{.model = "network",
                           .version = "3",
                           .parameters = parameters,
                           .inputs = {{"x", "FP32", {300, 3}}, {"edges", "INT64", {2, 70'000}}},
                           .outputs = {"y"}};
  EXPECT_EQ(encode(header) + raw_prefix(200), unhex(kInferRequest));
  EXPECT_EQ(encode_model("network", "3"), unhex(kMetadataRequest));
}

TEST(Messages, DecodeMetadataOfProtobuf) {
  const Message message(unhex(kMetadataReply));
  const ModelMetadataReply reply = decode_metadata(*message);
  EXPECT_EQ(reply.name, "network");
  EXPECT_THAT(reply.versions, ElementsAre("1", "2"));
  EXPECT_EQ(reply.platform, "python");
  ASSERT_EQ(reply.inputs.size(), 1U);
  EXPECT_EQ(reply.inputs[0].datatype, "FP32");
  EXPECT_THAT(reply.inputs[0].sizes, ElementsAre(-1, 3));
  ASSERT_EQ(reply.outputs.size(), 1U);
  EXPECT_EQ(reply.outputs[0].name, "y");
}

TEST(Messages, DecodeInferOfProtobuf) {
  const Message message(unhex(kInferReply));
  const std::vector<ReplyTensor> tensors = decode_infer(*message).outputs;
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(tensors[0].tensor.name, "y");
  EXPECT_EQ(tensors[0].elements, 4U);
  EXPECT_EQ(tensors[0].raw.text(), "0123456789abcdef");
  EXPECT_EQ(tensors[1].raw.text(), "xy");
}

TEST(Messages, DecodeParametersOfAnInfer) {
  const Message message(unhex(kInferReply) + encode_parameter("tensoa_checksum", "ab") +
                        encode_parameter("other", "x") + encode_parameter("tensoa_model", "{}"));
  const InferReply reply = decode_infer(*message);
  EXPECT_TRUE(reply.version == "1");
  EXPECT_TRUE(reply.checksum == "ab");
  EXPECT_FALSE(reply.checksum == "a");
  EXPECT_FALSE(reply.checksum == "abc");
  EXPECT_FALSE(reply.checksum == "aB");
  EXPECT_EQ(reply.model.text(), "{}");
}

TEST(Messages, TextsOfServersArePrintable) {
  protobuf::Encoder tensor;
  tensor.text(1, "x\x1b[2J");
  tensor.text(2, "FP\n32");
  protobuf::Encoder metadata;
  metadata.text(1, "network\x07");
  metadata.text(3, "py\x9bthon");
  metadata.bytes(4, tensor.bytes());
  const ModelMetadataReply reply = decode_metadata(*Message(metadata.take()));
  EXPECT_EQ(reply.name, "network\\x07");
  EXPECT_EQ(reply.platform, "py\\x9bthon");
  EXPECT_EQ(reply.inputs.at(0).name, "x\\x1b[2J");
  EXPECT_EQ(reply.inputs.at(0).datatype, "FP\\n32");
  protobuf::Encoder infer;
  infer.bytes(5, tensor.bytes());
  EXPECT_EQ(decode_infer(*Message(infer.take())).outputs.at(0).tensor.name, "x\\x1b[2J");
}

/// Bytes that were changed anywhere are read without leaving them, or refused.
TEST(Messages, AnyBytesAreReadOrRefused) {
  std::mt19937 random(1);
  for (int n = 0; n < 20'000; ++n) {
    std::string bytes = unhex(n % 2 == 0 ? kInferReply : kMetadataReply);
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    const Message message(bytes);
    try {
      if (n % 2 == 0) {
        for (const ReplyTensor& tensor : decode_infer(*message).outputs) {
          EXPECT_LE(tensor.raw.text().size(), bytes.size());
        }
      } else {
        EXPECT_LE(decode_metadata(*message).inputs.size(), bytes.size());
      }
    } catch (const DecodeError& error) {
      EXPECT_STRNE(error.what, "");
    }
  }
}

TEST(ServiceUrl, HasServersModelAndVersion) {
  const ServiceUrl url = parse_url("grpcs://a:1,b,[::1]:8002,[::2]/network/12");
  EXPECT_TRUE(url.is_encrypted);
  EXPECT_THAT(url.servers, ElementsAre("a:1", "b:8001", "[::1]:8002", "[::2]:8001"));
  EXPECT_EQ(url.model, "network");
  EXPECT_EQ(url.version, "12");
  EXPECT_EQ(parse_url("GRPC://a/m").version, "");
}

}  // namespace
}  // namespace tensoa::remote
