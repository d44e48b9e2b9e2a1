// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tensoa/core/memory.hpp"
#include "tensoa/triton/wire.hpp"
#include "triton_api.hpp"

/// @file
/// Reads the tensors of a request where they lie, and opens those of its answer.

namespace tensoa::triton {

/// Main memory that only grows, aligned for columns.
class Scratch {
 public:
  /// Memory of at least `bytes` bytes, never nullptr; what was in it before may be lost.
  std::byte* of(std::size_t bytes);

 private:
  Buffer memory_;
};

/// A tensor of a request.
struct InputTensor {
  std::byte* data = nullptr;  ///< aligned to its dtype, not to be written; never nullptr
  std::int64_t values = 0;    ///< in a plane
};

/// The number that Triton has for a dtype.
int triton_type(DType dtype) noexcept;

/// Finds the tensor of `block` in a request. In place where it is one aligned buffer in main memory, else
/// copied into `scratch`: HTTP bodies come in pieces, which may split a value.
/// @throws ApiError, INVALID_ARG where its dtype, shape or number of bytes is not that of the block
InputTensor read_input(TRITONBACKEND_Request* request, const WireBlock& block, Scratch& scratch);

/// Memory of a tensor of an answer.
struct OutputTensor {
  std::byte* data = nullptr;  ///< may be unaligned; may be nullptr where it has no bytes
  std::size_t bytes = 0;
};

/// Opens the tensor of `block` in an answer.
/// @param values in a plane @throws ApiError
OutputTensor open_output(TRITONBACKEND_Response* response, const WireBlock& block,
                         std::int64_t values);

/// Whether the client has given the request up; false where the server cannot say.
bool is_cancelled(TRITONBACKEND_Request* request);

/// Whether the request is for the description of the model: the parameter tensoa_describe.
/// @throws ApiError, INVALID_ARG, where it does not, and expects another file: the parameter tensoa_checksum
bool asks_for_description(TRITONBACKEND_Request* request, const std::string& checksum);

}  // namespace tensoa::triton
