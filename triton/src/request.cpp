// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "request.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>

#include "api_errors.hpp"
#include "tensoa/package/published.hpp"

namespace tensoa::triton {
namespace {

constexpr std::uint32_t kRank = 3;

std::string text_of_shape(const std::int64_t* shape, std::uint32_t rank) {
  std::string text = "[";
  for (std::uint32_t i = 0; i < rank; ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

[[noreturn]] void fail_input(const WireBlock& block, const std::string& got) {
  throw ApiError(TRITONSERVER_ERROR_INVALID_ARG,
                 "input \"" + block.name() + "\": got " + got + ", expected " + block.type() +
                     ": its planes one after another, n values of each (docs/triton.md)");
}

bool is_aligned(const void* data, const WireBlock& block) noexcept {
  return reinterpret_cast<std::uintptr_t>(data) % size_of(block.dtype()) == 0;
}

/// The server's description of the tensor of a request.
struct Properties {
  std::int64_t values = 0;
  std::size_t bytes = 0;
  std::uint32_t buffers = 0;
};

Properties properties_of(TRITONBACKEND_Input* input, const WireBlock& block) {
  const char* name = nullptr;
  int type = 0;
  const std::int64_t* shape = nullptr;
  std::uint32_t rank = 0;
  std::uint64_t bytes = 0;
  Properties all;
  require_ok(
      TRITONBACKEND_InputProperties(input, &name, &type, &shape, &rank, &bytes, &all.buffers),
      "the properties of an input");
  if (type != triton_type(block.dtype())) {
    fail_input(block, "a tensor of another data type (number " + std::to_string(type) + ")");
  }
  if (rank != kRank || shape[0] != 1 || shape[1] != block.planes || shape[2] < 0) {
    fail_input(block, "the shape " + text_of_shape(shape, rank));
  }
  all.values = shape[2];
  const std::size_t value = static_cast<std::size_t>(block.planes) * size_of(block.dtype());
  const auto values = static_cast<std::uint64_t>(all.values);
  if (values > std::numeric_limits<std::int64_t>::max() / value || bytes != values * value) {
    fail_input(block,
               std::to_string(bytes) + " bytes with the shape " + text_of_shape(shape, rank));
  }
  all.bytes = bytes;
  return all;
}

/// One buffer of a tensor.
struct Piece {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

Piece piece_of(TRITONBACKEND_Input* input, std::uint32_t index, const WireBlock& block) {
  const void* data = nullptr;
  std::uint64_t bytes = 0;
  int memory = TRITONSERVER_MEMORY_CPU;
  std::int64_t id = 0;
  require_ok(TRITONBACKEND_InputBuffer(input, index, &data, &bytes, &memory, &id),
             "the memory of an input");
  if (memory == TRITONSERVER_MEMORY_GPU) {
    throw ApiError(TRITONSERVER_ERROR_UNSUPPORTED,
                   "input \"" + block.name() +
                       "\": got memory of a GPU, expected main memory: the back-end has no CUDA "
                       "shared memory; send it by the wire or by system shared memory");
  }
  return {static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes)};
}

void require_same_checksum(const std::string& got, const std::string& served) {
  if (got == served) return;
  throw ApiError(TRITONSERVER_ERROR_INVALID_ARG,
                 std::string(package::kOtherFileMessage) + "got checksum " + got + ", serves " +
                     served +
                     ": the client has another model file than the server; deploy that file, or "
                     "give the client the one that is served");
}

}  // namespace

std::byte* Scratch::of(std::size_t bytes) {
  if (memory_.data() == nullptr || memory_.size() < bytes) {
    memory_ = Buffer(Device::cpu(), std::max(bytes, kAlignment), MemoryPurpose::kWorkspaces);
  }
  return memory_.data();
}

int triton_type(DType dtype) noexcept {
  constexpr int kBool = 1, kUint8 = 2, kInt8 = 6, kInt16 = 7, kInt32 = 8, kInt64 = 9, kFp16 = 10,
                kFp32 = 11, kFp64 = 12, kBf16 = 14;
  switch (dtype) {
    case DType::kBool:
      return kBool;
    case DType::kU8:
      return kUint8;
    case DType::kI8:
      return kInt8;
    case DType::kI16:
      return kInt16;
    case DType::kI32:
      return kInt32;
    case DType::kI64:
      return kInt64;
    case DType::kF16:
      return kFp16;
    case DType::kBF16:
      return kBf16;
    case DType::kF32:
      return kFp32;
    case DType::kF64:
      return kFp64;
  }
  return 0;
}

InputTensor read_input(TRITONBACKEND_Request* request, const WireBlock& block, Scratch& scratch) {
  TRITONBACKEND_Input* input = nullptr;
  require_ok(TRITONBACKEND_RequestInput(request, block.name().c_str(), &input),
             ("input \"" + block.name() + "\"").c_str());
  const Properties properties = properties_of(input, block);
  if (properties.bytes == 0) return {scratch.of(0), properties.values};
  if (properties.buffers == 1) {
    const Piece piece = piece_of(input, 0, block);
    if (piece.bytes == properties.bytes && piece.data != nullptr && is_aligned(piece.data, block)) {
      // Models only read their inputs: a package writes into a copy of what it would write.
      return {const_cast<std::byte*>(piece.data), properties.values};
    }
  }
  std::byte* const copy = scratch.of(properties.bytes);
  std::size_t filled = 0;
  for (std::uint32_t i = 0; i < properties.buffers; ++i) {
    const Piece piece = piece_of(input, i, block);
    if (piece.bytes > properties.bytes - filled) {
      fail_input(block, "more than " + std::to_string(properties.bytes) + " bytes in its buffers");
    }
    if (piece.bytes == 0) continue;
    if (piece.data == nullptr) fail_input(block, "a buffer without memory");
    std::memcpy(copy + filled, piece.data, piece.bytes);
    filled += piece.bytes;
  }
  if (filled != properties.bytes) {
    fail_input(block, std::to_string(filled) + " of " + std::to_string(properties.bytes) +
                          " bytes in its buffers");
  }
  return {copy, properties.values};
}

OutputTensor open_output(TRITONBACKEND_Response* response, const WireBlock& block,
                         std::int64_t values) {
  const std::array<std::int64_t, kRank> shape{1, block.planes, values};
  TRITONBACKEND_Output* output = nullptr;
  require_ok(TRITONBACKEND_ResponseOutput(response, &output, block.name().c_str(),
                                          triton_type(block.dtype()), shape.data(), kRank),
             ("output \"" + block.name() + "\"").c_str());
  OutputTensor tensor{.bytes =
                          static_cast<std::size_t>(block.planes * values) * size_of(block.dtype())};
  void* data = nullptr;
  int memory = TRITONSERVER_MEMORY_CPU;
  std::int64_t id = 0;
  require_ok(TRITONBACKEND_OutputBuffer(output, &data, tensor.bytes, &memory, &id),
             "memory for an output");
  if (memory == TRITONSERVER_MEMORY_GPU) {
    throw ApiError(TRITONSERVER_ERROR_UNSUPPORTED,
                   "output \"" + block.name() +
                       "\": got memory of a GPU, expected main memory: the back-end has no CUDA "
                       "shared memory; receive it by the wire or by system shared memory");
  }
  if (tensor.bytes > 0 && data == nullptr) {
    throw ApiError(TRITONSERVER_ERROR_UNAVAILABLE,
                   "output \"" + block.name() + "\": the server has no memory of " +
                       std::to_string(tensor.bytes) + " bytes for it; send fewer rows");
  }
  tensor.data = static_cast<std::byte*>(data);
  return tensor;
}

bool is_cancelled(TRITONBACKEND_Request* request) {
  if (&TRITONBACKEND_RequestIsCancelled == nullptr) return false;
  bool is = false;
  require_ok(TRITONBACKEND_RequestIsCancelled(request, &is), "whether a request is cancelled");
  return is;
}

bool asks_for_description(TRITONBACKEND_Request* request, const std::string& checksum) {
  if (&TRITONBACKEND_RequestParameterCount == nullptr ||
      &TRITONBACKEND_RequestParameter == nullptr) {
    return false;
  }
  std::optional<std::string> expected;
  std::uint32_t count = 0;
  require_ok(TRITONBACKEND_RequestParameterCount(request, &count), "the parameters of a request");
  for (std::uint32_t i = 0; i < count; ++i) {
    const char* key = nullptr;
    int type = 0;
    const void* value = nullptr;
    require_ok(TRITONBACKEND_RequestParameter(request, i, &key, &type, &value),
               "a parameter of a request");
    if (key == nullptr) continue;
    if (std::strcmp(key, package::kDescribeParameter) == 0) return true;
    if (std::strcmp(key, package::kChecksumParameter) != 0) continue;
    expected = type == TRITONSERVER_PARAMETER_STRING ? static_cast<const char*>(value)
                                                     : "that is not text";
  }
  if (expected) require_same_checksum(*expected, checksum);
  return false;
}

}  // namespace tensoa::triton
