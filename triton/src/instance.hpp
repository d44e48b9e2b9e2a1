// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "request.hpp"
#include "served_model.hpp"
#include "wire_call.hpp"

namespace tensoa::triton {

/// An instance of a Triton model: a model on a device, and the memory of its calls, which only grows.
/// *Threads*: Triton calls one instance from one thread at a time; instances run at the same time.
class Instance {
 public:
  /// @param model shared by all instances @throws LoadError, DeviceError, ApiError
  Instance(std::shared_ptr<const ServedModel> model, TRITONBACKEND_ModelInstance* instance);

  /// Answers and releases all requests. An error of a request is the answer to that request alone.
  void execute(std::span<TRITONBACKEND_Request* const> requests) noexcept;

 private:
  /// Nanoseconds, for the statistics of the server.
  struct Times {
    std::uint64_t compute_start = 0;
    std::uint64_t compute_end = 0;
  };

  bool answer(TRITONBACKEND_Request* request, Times& times) noexcept;
  void compute(TRITONBACKEND_Request* request, TRITONBACKEND_Response* response, Times& times);
  bool is_wanted(TRITONBACKEND_Request* request, const std::string& output) const;

  std::shared_ptr<const ServedModel> model_;
  TRITONBACKEND_ModelInstance* handle_;
  WireCall call_;
  std::vector<Scratch> of_inputs_;
  std::vector<Scratch> of_outputs_;
  std::vector<std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
  std::vector<std::int64_t> values_;
  std::vector<OutputTensor> opened_;
};

}  // namespace tensoa::triton
