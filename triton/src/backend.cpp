// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The functions that Triton calls. Nothing leaves them but an error: an exception would end the server.

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <thread>

#include "api_errors.hpp"
#include "instance.hpp"
#include "served_model.hpp"
#include "tensoa/forest/engines.hpp"
#include "tensoa/onnx/engines.hpp"

namespace tensoa::triton {
namespace {

constexpr std::uint32_t kMajor = 1;
constexpr unsigned kMostInstances = 8;

using ModelHandle = std::shared_ptr<const ServedModel>;

/// Instances of a model whose configuration has none: --backend-config=tensoa,instances=N, else one for each
/// core, 8 at most.
std::uint64_t instances_of(TRITONBACKEND_Backend* backend) {
  TRITONSERVER_Message* config = nullptr;
  require_ok(TRITONBACKEND_BackendConfig(backend, &config), "the configuration of the back-end");
  const auto json = nlohmann::json::parse(text_of(config), nullptr, false);
  const nlohmann::json::json_pointer place("/cmdline/instances");
  if (json.is_discarded() || !json.contains(place)) {
    return std::clamp(std::thread::hardware_concurrency(), 1U, kMostInstances);
  }
  const std::string text = json[place].is_string() ? json[place].get<std::string>() : "";
  constexpr std::size_t kLongest = 4;
  const bool is_number = !text.empty() && text.size() <= kLongest &&
                         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  const int count = is_number ? std::stoi(text) : 0;
  if (count < 1) {
    throw ApiError(TRITONSERVER_ERROR_INVALID_ARG, "--backend-config=tensoa,instances: got \"" +
                                                       text +
                                                       "\", expected a number from 1 to 9999");
  }
  return static_cast<std::uint64_t>(count);
}

void start_backend() {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  require_ok(TRITONBACKEND_ApiVersion(&major, &minor), "the version of the back-end API");
  if (major != kMajor) {
    throw ApiError(TRITONSERVER_ERROR_UNSUPPORTED,
                   "the back-end tensoa: got a server with the back-end API " +
                       std::to_string(major) + '.' + std::to_string(minor) +
                       ", expected 1.x; use a server of Triton 2.x");
  }
  forest::register_engines();
  onnx::register_engines();
}

std::shared_ptr<const ServedModel> model_of(TRITONBACKEND_ModelInstance* instance) {
  TRITONBACKEND_Model* model = nullptr;
  void* state = nullptr;
  require_ok(TRITONBACKEND_ModelInstanceModel(instance, &model), "the model of an instance");
  require_ok(TRITONBACKEND_ModelState(model, &state), "the state of the model");
  if (state == nullptr) {
    throw ApiError(TRITONSERVER_ERROR_INTERNAL, "tensoa: the model of an instance is not loaded");
  }
  return *static_cast<ModelHandle*>(state);
}

}  // namespace
}  // namespace tensoa::triton

// NOLINTBEGIN(readability-identifier-naming): names of Triton
#define TENSOA_TRITON_EXPORT __attribute__((visibility("default")))

extern "C" {

TENSOA_TRITON_EXPORT TRITONSERVER_Error* TRITONBACKEND_Initialize(TRITONBACKEND_Backend*) {
  return tensoa::triton::guarded([] { tensoa::triton::start_backend(); });
}

TENSOA_TRITON_EXPORT TRITONSERVER_Error* TRITONBACKEND_GetBackendAttribute(
    TRITONBACKEND_Backend* backend, TRITONBACKEND_BackendAttribute* attribute) {
  return tensoa::triton::guarded([&] {
    tensoa::triton::require_ok(TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(
                                   attribute, TRITONSERVER_INSTANCEGROUPKIND_CPU,
                                   tensoa::triton::instances_of(backend), nullptr, 0),
                               "the number of instances");
  });
}

TENSOA_TRITON_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  return tensoa::triton::guarded([&] {
    using tensoa::triton::ModelHandle;
    using tensoa::triton::ServedModel;
    auto state = std::make_unique<ModelHandle>(std::make_shared<const ServedModel>(model));
    tensoa::triton::require_ok(TRITONBACKEND_ModelSetState(model, state.get()),
                               "the state of the model");
    static_cast<void>(state.release());  // TRITONBACKEND_ModelFinalize deletes it
  });
}

/// Also called where ModelInitialize failed.
TENSOA_TRITON_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
  return tensoa::triton::guarded([&] {
    void* state = nullptr;
    tensoa::triton::require_ok(TRITONBACKEND_ModelState(model, &state), "the state of the model");
    if (state == nullptr) return;
    tensoa::triton::require_ok(TRITONBACKEND_ModelSetState(model, nullptr),
                               "the state of the model");
    delete static_cast<tensoa::triton::ModelHandle*>(state);
  });
}

TENSOA_TRITON_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceInitialize(
    TRITONBACKEND_ModelInstance* instance) {
  return tensoa::triton::guarded([&] {
    auto state =
        std::make_unique<tensoa::triton::Instance>(tensoa::triton::model_of(instance), instance);
    tensoa::triton::require_ok(TRITONBACKEND_ModelInstanceSetState(instance, state.get()),
                               "the state of an instance");
    static_cast<void>(state.release());  // TRITONBACKEND_ModelInstanceFinalize deletes it
  });
}

/// Also called where ModelInstanceInitialize failed.
TENSOA_TRITON_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceFinalize(
    TRITONBACKEND_ModelInstance* instance) {
  return tensoa::triton::guarded([&] {
    void* state = nullptr;
    tensoa::triton::require_ok(TRITONBACKEND_ModelInstanceState(instance, &state),
                               "the state of an instance");
    if (state == nullptr) return;
    tensoa::triton::require_ok(TRITONBACKEND_ModelInstanceSetState(instance, nullptr),
                               "the state of an instance");
    delete static_cast<tensoa::triton::Instance*>(state);
  });
}

/// An error returned from here is the answer to all requests, which stay with Triton; after success they are ours.
TENSOA_TRITON_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(
    TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests,
    const std::uint32_t count) {
  return tensoa::triton::guarded([&] {
    void* state = nullptr;
    tensoa::triton::require_ok(TRITONBACKEND_ModelInstanceState(instance, &state),
                               "the state of an instance");
    if (state == nullptr) {
      throw tensoa::triton::ApiError(TRITONSERVER_ERROR_INTERNAL,
                                     "tensoa: the instance is not loaded");
    }
    static_cast<tensoa::triton::Instance*>(state)->execute({requests, count});
  });
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
