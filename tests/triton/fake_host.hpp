// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "triton_api.hpp"

/// @file
/// A server for the back-end: the functions of Triton over plain values that a test sets and reads.

struct TRITONSERVER_Error {
  int code;
  std::string message;
};
struct TRITONSERVER_Message {
  std::string json;
};
struct TRITONBACKEND_Backend {
  TRITONSERVER_Message config{"{}"};
};
struct TRITONBACKEND_BackendAttribute {
  int kind = 0;
  std::uint64_t count = 0;
};
struct TRITONBACKEND_Model {
  std::string folder;
  std::string config = R"({"name": "m", "max_batch_size": 0})";
  std::uint64_t version = 1;
  bool auto_completes = true;
  void* state = nullptr;
};
struct TRITONBACKEND_ModelInstance {
  TRITONBACKEND_Model* model = nullptr;
  void* state = nullptr;
  std::vector<bool> reported;          ///< success of each request
  std::vector<std::uint64_t> batches;  ///< their sizes
};
struct TRITONBACKEND_Input {
  std::string name;
  int type = 0;
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = 0;
  /// Where each buffer begins, which may be anywhere, and its bytes.
  std::vector<std::pair<const void*, std::uint64_t>> buffers;
  int memory = TRITONSERVER_MEMORY_CPU;
};
struct TRITONBACKEND_Output {
  std::string name;
  int type = 0;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> memory;
  std::size_t offset = 0;  ///< where the tensor begins in `memory`
  std::size_t bytes = 0;
  TRITONBACKEND_Response* response = nullptr;
};
struct TRITONBACKEND_Response {
  TRITONBACKEND_Request* request = nullptr;
  std::vector<std::unique_ptr<TRITONBACKEND_Output>> outputs;
  std::map<std::string, std::string> parameters;
};
struct TRITONBACKEND_Request {
  std::vector<TRITONBACKEND_Input> inputs;
  std::vector<std::string> wanted;
  std::vector<std::pair<std::string, std::string>> parameters;
  bool is_cancelled = false;

  // Its state
  std::unique_ptr<TRITONBACKEND_Response> response;
  std::optional<int> code;  ///< of the error that was sent; -1: success
  std::string message;
  int sent = 0;
  int released = 0;

  const TRITONBACKEND_Output* output(const std::string& name) const;
};

namespace tensoa::test {

/// The faults of the server.
struct HostFaults {
  std::string failing;           ///< the function that returns an error
  bool gives_no_memory = false;  ///< of outputs
  bool gives_gpu_memory = false;
  std::size_t output_offset = 0;  ///< bytes from an aligned address to the outputs
  std::uint32_t api_major = 1;
};
HostFaults& faults();

/// Errors that were made and not deleted, messages that were made and not deleted.
int live_errors();
int live_messages();
std::vector<std::string>& log_lines();

}  // namespace tensoa::test
