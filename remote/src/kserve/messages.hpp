// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protobuf/decoder.hpp"
#include "tensoa/remote/server_figures.hpp"

/// @file
/// The messages of KServe v2 in Triton's form (grpc_service.proto), as far as a client needs them. Field
/// numbers stand in the functions.

namespace tensoa::remote {

/// A tensor as messages describe it. Sizes of metadata are -1 where they vary.
struct WireTensor {
  std::string name;
  std::string datatype;  ///< "FP32"
  std::vector<std::int64_t> sizes;

  friend bool operator==(const WireTensor&, const WireTensor&) = default;
};

/// "FP32[?, 3]".
std::string tensor_type(std::string_view datatype, std::span<const std::int64_t> sizes);

struct ModelMetadataReply {
  std::string name;
  std::vector<std::string> versions;
  std::string platform;  ///< "onnxruntime_onnx", "python", "tensoa"
  std::vector<WireTensor> inputs;
  std::vector<WireTensor> outputs;
};

/// Where a tensor is in a region of shared memory.
struct SharedRange {
  std::string region;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// The fields of a ModelInfer request before its raw contents.
struct InferHeader {
  std::string_view model;
  std::string_view version;
  std::string_view parameters = {};  ///< of encode_parameter(), one after another
  std::vector<WireTensor> inputs = {};
  std::vector<std::string> outputs = {};  ///< the names of those that are wanted

  /// Of each input and output; nullopt, or none at all: it travels in the message.
  std::vector<std::optional<SharedRange>> shared_inputs = {};
  std::vector<std::optional<SharedRange>> shared_outputs = {};
};

/// One tensor of a ModelInfer reply: its description, and its bytes or its numbers.
struct ReplyTensor {
  WireTensor tensor;
  std::size_t elements = 0;    ///< by its sizes
  protobuf::Bytes raw = {};    ///< row-major
  protobuf::Bytes typed = {};  ///< InferTensorContents, where there are no raw contents
};

/// A ModelInfer reply. What it has of bytes points into the message.
struct InferReply {
  protobuf::Bytes version = {};   ///< of the model
  protobuf::Bytes checksum = {};  ///< package::kChecksumParameter
  protobuf::Bytes model = {};     ///< package::kModelParameter
  std::vector<ReplyTensor> outputs = {};
};

/// The largest number of dimensions and tensors that a reply may have.
inline constexpr std::size_t kMostDimensions = 16;
inline constexpr std::size_t kMostTensors = 4096;

inline constexpr const char* kServerReady = "/inference.GRPCInferenceService/ServerReady";
inline constexpr const char* kModelReady = "/inference.GRPCInferenceService/ModelReady";
inline constexpr const char* kModelMetadata = "/inference.GRPCInferenceService/ModelMetadata";
inline constexpr const char* kModelInfer = "/inference.GRPCInferenceService/ModelInfer";
inline constexpr const char* kSharedMemoryRegister =
    "/inference.GRPCInferenceService/SystemSharedMemoryRegister";
inline constexpr const char* kSharedMemoryUnregister =
    "/inference.GRPCInferenceService/SystemSharedMemoryUnregister";
inline constexpr const char* kDeviceMemoryRegister =
    "/inference.GRPCInferenceService/CudaSharedMemoryRegister";
inline constexpr const char* kDeviceMemoryUnregister =
    "/inference.GRPCInferenceService/CudaSharedMemoryUnregister";

inline constexpr const char* kModelStatistics = "/inference.GRPCInferenceService/ModelStatistics";

/// Of ModelMetadata, ModelReady and ModelStatistics.
std::string encode_model(std::string_view model, std::string_view version);

/// A parameter of a ModelInfer request, as InferHeader has it.
std::string encode_parameter(std::string_view key, std::string_view value);

std::string encode(const InferHeader& header);

/// Of SystemSharedMemoryRegister: the region of the key "/" and `name`, as `name`.
std::string encode_register(std::string_view name, std::uint64_t bytes);

/// Of CudaSharedMemoryRegister. @param handle 64 bytes
std::string encode_register_device(std::string_view name, std::string_view handle, int device,
                                   std::uint64_t bytes);

/// Of SystemSharedMemoryUnregister and CudaSharedMemoryUnregister. @param name not empty, which means all regions, also those of others
std::string encode_unregister(std::string_view name);

/// The header of one of raw_input_contents.
std::string raw_prefix(std::uint64_t bytes);

/// Texts are printable(). @throws protobuf::DecodeError
ModelMetadataReply decode_metadata(protobuf::Bytes message);

/// Of ServerReady and ModelReady. @throws protobuf::DecodeError
bool decode_ready(protobuf::Bytes message);

/// Of ModelStatistics: all versions together. @throws protobuf::DecodeError
InferenceCounts decode_statistics(protobuf::Bytes message);

/// The outputs are in the order of the reply; their texts are printable(). The bytes point into `message`.
/// @param shared names of outputs for which the message need not have contents: servers leave them out, or
/// send empty ones
/// @throws protobuf::DecodeError
InferReply decode_infer(protobuf::Bytes message, std::span<const std::string> shared = {});

}  // namespace tensoa::remote
