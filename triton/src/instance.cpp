// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "instance.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "api_errors.hpp"
#include "tensoa/package/published.hpp"

namespace tensoa::triton {
namespace {

std::uint64_t now_ns() noexcept {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

Device device_of(TRITONBACKEND_ModelInstance* instance) {
  int kind = 0;
  std::int32_t id = 0;
  require_ok(TRITONBACKEND_ModelInstanceKind(instance, &kind), "the kind of an instance");
  require_ok(TRITONBACKEND_ModelInstanceDeviceId(instance, &id), "the device of an instance");
  return kind == TRITONSERVER_INSTANCEGROUPKIND_GPU ? Device::cuda(id) : Device::cpu();
}

bool lies_well(const OutputTensor& tensor, DType dtype) noexcept {
  return tensor.bytes > 0 && reinterpret_cast<std::uintptr_t>(tensor.data) % size_of(dtype) == 0;
}

}  // namespace

Instance::Instance(std::shared_ptr<const ServedModel> model, TRITONBACKEND_ModelInstance* instance)
    : model_(std::move(model)),
      handle_(instance),
      call_(model_->model(), model_->wire(), device_of(instance)),
      of_inputs_(model_->wire().inputs.size()),
      of_outputs_(model_->wire().outputs.size()),
      inputs_(of_inputs_.size()),
      outputs_(of_outputs_.size()),
      values_(of_inputs_.size()),
      opened_(of_outputs_.size()) {
  model_->require_unchanged();  // what `call_` has loaded is what the checksum says
}

bool Instance::is_wanted(TRITONBACKEND_Request* request, const std::string& output) const {
  std::uint32_t count = 0;
  require_ok(TRITONBACKEND_RequestOutputCount(request, &count), "the outputs of a request");
  for (std::uint32_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    require_ok(TRITONBACKEND_RequestOutputName(request, i, &name), "an output of a request");
    if (output == name) return true;
  }
  return count == 0;  // all
}

void Instance::compute(TRITONBACKEND_Request* request, TRITONBACKEND_Response* response,
                       Times& times) {
  if (is_cancelled(request)) {
    throw ApiError(TRITONSERVER_ERROR_CANCELLED, "the request was cancelled before it ran");
  }
  const auto set_parameter = [&](const char* key, const std::string& value) {
    require_ok(TRITONBACKEND_ResponseSetStringParameter(response, key, value.c_str()),
               (std::string("the parameter ") + key + " of an answer").c_str());
  };
  set_parameter(package::kChecksumParameter, model_->checksum());
  if (asks_for_description(request, model_->checksum())) {
    return set_parameter(package::kModelParameter, model_->published());
  }
  const Wire& wire = model_->wire();
  for (std::size_t i = 0; i < wire.inputs.size(); ++i) {
    const InputTensor tensor = read_input(request, wire.inputs[i], of_inputs_[i]);
    inputs_[i] = tensor.data;
    values_[i] = tensor.values;
  }
  const std::span<const std::int64_t> values = call_.set_rows(values_);
  for (std::size_t i = 0; i < wire.outputs.size(); ++i) {
    const WireBlock& block = wire.outputs[i];
    opened_[i] = {};
    if (is_wanted(request, block.name())) opened_[i] = open_output(response, block, values[i]);
    const std::size_t bytes =
        static_cast<std::size_t>(block.planes * values[i]) * size_of(block.dtype());
    outputs_[i] = lies_well(opened_[i], block.dtype()) ? opened_[i].data : of_outputs_[i].of(bytes);
  }
  times.compute_start = now_ns();
  call_.run(inputs_, outputs_);
  times.compute_end = now_ns();
  for (std::size_t i = 0; i < opened_.size(); ++i) {
    if (opened_[i].bytes == 0 || opened_[i].data == outputs_[i]) continue;
    std::memcpy(opened_[i].data, outputs_[i], opened_[i].bytes);
  }
}

bool Instance::answer(TRITONBACKEND_Request* request, Times& times) noexcept {
  TRITONBACKEND_Response* response = nullptr;
  TRITONSERVER_Error* error = TRITONBACKEND_ResponseNew(&response, request);
  if (error != nullptr) {
    log_failure(error, "TRITONBACKEND_ResponseNew");
    return false;
  }
  error = guarded([&] { compute(request, response, times); });
  const bool is_right = error == nullptr;
  log_failure(TRITONBACKEND_ResponseSend(response, TRITONSERVER_RESPONSE_COMPLETE_FINAL, error),
              "TRITONBACKEND_ResponseSend");
  if (error != nullptr) TRITONSERVER_ErrorDelete(error);
  return is_right;
}

void Instance::execute(std::span<TRITONBACKEND_Request* const> requests) noexcept {
  const std::uint64_t start = now_ns();
  Times of_batch{};
  for (TRITONBACKEND_Request* const request : requests) {
    const std::uint64_t before = now_ns();
    Times times{before, before};
    const bool is_right = answer(request, times);
    if (of_batch.compute_start == 0) of_batch.compute_start = times.compute_start;
    times.compute_end = std::max(times.compute_start, times.compute_end);
    of_batch.compute_end = times.compute_end;
    log_failure(
        TRITONBACKEND_ModelInstanceReportStatistics(
            handle_, request, is_right, before, times.compute_start, times.compute_end, now_ns()),
        "TRITONBACKEND_ModelInstanceReportStatistics");
    log_failure(TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL),
                "TRITONBACKEND_RequestRelease");
  }
  log_failure(
      TRITONBACKEND_ModelInstanceReportBatchStatistics(
          handle_, requests.size(), start, of_batch.compute_start, of_batch.compute_end, now_ns()),
      "TRITONBACKEND_ModelInstanceReportBatchStatistics");
}

}  // namespace tensoa::triton
