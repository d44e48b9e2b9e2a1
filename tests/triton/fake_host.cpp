// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "fake_host.hpp"

#include <algorithm>
#include <cstring>

namespace tensoa::test {
namespace {

int errors = 0;
int messages = 0;

/// An error where the test wants one from `function`.
TRITONSERVER_Error* fault_of(const char* function) {
  if (faults().failing != function) return nullptr;
  return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, "the host fails");
}

}  // namespace

HostFaults& faults() {
  static HostFaults all;
  return all;
}
int live_errors() { return errors; }
int live_messages() { return messages; }
std::vector<std::string>& log_lines() {
  static std::vector<std::string> all;
  return all;
}

}  // namespace tensoa::test

using tensoa::test::errors;
using tensoa::test::fault_of;
using tensoa::test::faults;
using tensoa::test::messages;

#define FAIL_IF_WANTED \
  if (TRITONSERVER_Error* error = fault_of(__func__)) return error

const TRITONBACKEND_Output* TRITONBACKEND_Request::output(const std::string& name) const {
  if (!response) return nullptr;
  for (const auto& output : response->outputs) {
    if (output->name == name) return output.get();
  }
  return nullptr;
}

extern "C" {

TRITONSERVER_Error* TRITONSERVER_ErrorNew(int code, const char* message) {
  ++errors;
  return new TRITONSERVER_Error{code, message};
}
void TRITONSERVER_ErrorDelete(TRITONSERVER_Error* error) {
  --errors;
  delete error;
}
int TRITONSERVER_ErrorCode(TRITONSERVER_Error* error) { return error->code; }
const char* TRITONSERVER_ErrorMessage(TRITONSERVER_Error* error) { return error->message.c_str(); }
TRITONSERVER_Error* TRITONSERVER_LogMessage(int, const char*, int, const char* message) {
  tensoa::test::log_lines().emplace_back(message);
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message** message,
                                                              const char* bytes, std::size_t size) {
  FAIL_IF_WANTED;
  ++messages;
  *message = new TRITONSERVER_Message{std::string(bytes, size)};
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message* message,
                                                        const char** bytes, std::size_t* size) {
  *bytes = message->json.data();
  *size = message->json.size();
  return nullptr;
}
TRITONSERVER_Error* TRITONSERVER_MessageDelete(TRITONSERVER_Message* message) {
  --messages;
  delete message;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ApiVersion(std::uint32_t* major, std::uint32_t* minor) {
  *major = faults().api_major;
  *minor = 19;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_BackendConfig(TRITONBACKEND_Backend* backend,
                                                TRITONSERVER_Message** config) {
  *config = &backend->config;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(
    TRITONBACKEND_BackendAttribute* attribute, int kind, std::uint64_t count, const std::uint64_t*,
    std::uint64_t) {
  attribute->kind = kind;
  attribute->count = count;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelVersion(TRITONBACKEND_Model* model, std::uint64_t* version) {
  *version = model->version;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelRepository(TRITONBACKEND_Model* model, int*,
                                                  const char** folder) {
  FAIL_IF_WANTED;
  *folder = model->folder.c_str();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelConfig(TRITONBACKEND_Model* model, std::uint32_t,
                                              TRITONSERVER_Message** config) {
  return TRITONSERVER_MessageNewFromSerializedJson(config, model->config.data(),
                                                   model->config.size());
}
TRITONSERVER_Error* TRITONBACKEND_ModelAutoCompleteConfig(TRITONBACKEND_Model* model,
                                                          bool* is_wanted) {
  *is_wanted = model->auto_completes;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model* model, std::uint32_t,
                                                 TRITONSERVER_Message* config) {
  FAIL_IF_WANTED;
  model->config = config->json;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelState(TRITONBACKEND_Model* model, void** state) {
  *state = model->state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelSetState(TRITONBACKEND_Model* model, void* state) {
  FAIL_IF_WANTED;
  model->state = state;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance*, int* kind) {
  *kind = TRITONSERVER_INSTANCEGROUPKIND_CPU;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceDeviceId(TRITONBACKEND_ModelInstance*,
                                                        std::int32_t* device_id) {
  *device_id = 0;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance* instance,
                                                     TRITONBACKEND_Model** model) {
  *model = instance->model;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance* instance,
                                                     void** state) {
  *state = instance->state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance* instance,
                                                        void* state) {
  FAIL_IF_WANTED;
  instance->state = state;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportStatistics(
    TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request*, bool success,
    std::uint64_t exec_start_ns, std::uint64_t compute_start_ns, std::uint64_t compute_end_ns,
    std::uint64_t exec_end_ns) {
  const bool ascends = exec_start_ns <= compute_start_ns && compute_start_ns <= compute_end_ns &&
                       compute_end_ns <= exec_end_ns;
  if (!ascends) return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, "times descend");
  instance->reported.push_back(success);
  return fault_of(__func__);
}
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportBatchStatistics(
    TRITONBACKEND_ModelInstance* instance, std::uint64_t batch_size, std::uint64_t, std::uint64_t,
    std::uint64_t, std::uint64_t) {
  instance->batches.push_back(batch_size);
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestInput(TRITONBACKEND_Request* request, const char* name,
                                               TRITONBACKEND_Input** input) {
  for (TRITONBACKEND_Input& one : request->inputs) {
    if (one.name != name) continue;
    *input = &one;
    return nullptr;
  }
  return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, "is not in the request");
}
TRITONSERVER_Error* TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request* request,
                                                     std::uint32_t* count) {
  *count = static_cast<std::uint32_t>(request->wanted.size());
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request* request,
                                                    std::uint32_t index, const char** name) {
  *name = request->wanted.at(index).c_str();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestRelease(TRITONBACKEND_Request* request, std::uint32_t) {
  ++request->released;
  return fault_of(__func__);
}
TRITONSERVER_Error* TRITONBACKEND_InputProperties(TRITONBACKEND_Input* input, const char** name,
                                                  int* datatype, const std::int64_t** shape,
                                                  std::uint32_t* rank, std::uint64_t* bytes,
                                                  std::uint32_t* buffers) {
  FAIL_IF_WANTED;
  *name = input->name.c_str();
  *datatype = input->type;
  *shape = input->shape.data();
  *rank = static_cast<std::uint32_t>(input->shape.size());
  *bytes = input->bytes;
  *buffers = static_cast<std::uint32_t>(input->buffers.size());
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_InputBuffer(TRITONBACKEND_Input* input, std::uint32_t index,
                                              const void** buffer, std::uint64_t* bytes,
                                              int* memory_type, std::int64_t* memory_type_id) {
  FAIL_IF_WANTED;
  *buffer = input->buffers.at(index).first;
  *bytes = input->buffers.at(index).second;
  *memory_type = input->memory;
  *memory_type_id = 0;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_RequestIsCancelled(TRITONBACKEND_Request* request,
                                                     bool* is_cancelled) {
  *is_cancelled = request->is_cancelled;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestParameterCount(TRITONBACKEND_Request* request,
                                                        std::uint32_t* count) {
  *count = static_cast<std::uint32_t>(request->parameters.size());
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_RequestParameter(TRITONBACKEND_Request* request,
                                                   std::uint32_t index, const char** key, int* type,
                                                   const void** value) {
  *key = request->parameters.at(index).first.c_str();
  *type = TRITONSERVER_PARAMETER_STRING;
  *value = request->parameters.at(index).second.c_str();
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ResponseNew(TRITONBACKEND_Response** response,
                                              TRITONBACKEND_Request* request) {
  FAIL_IF_WANTED;
  request->response = std::make_unique<TRITONBACKEND_Response>();
  request->response->request = request;
  *response = request->response.get();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseSetStringParameter(TRITONBACKEND_Response* response,
                                                             const char* name, const char* value) {
  FAIL_IF_WANTED;
  response->parameters[name] = value;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response* response,
                                                 TRITONBACKEND_Output** output, const char* name,
                                                 int datatype, const std::int64_t* shape,
                                                 std::uint32_t rank) {
  FAIL_IF_WANTED;
  auto& made = response->outputs.emplace_back(std::make_unique<TRITONBACKEND_Output>());
  made->name = name;
  made->type = datatype;
  made->shape.assign(shape, shape + rank);
  *output = made.get();
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output* output, void** buffer,
                                               std::uint64_t bytes, int* memory_type,
                                               std::int64_t*) {
  FAIL_IF_WANTED;
  constexpr std::size_t kLine = 64;
  output->bytes = bytes;
  output->memory.assign(bytes + 2 * kLine, std::byte{0x5A});
  const auto address = reinterpret_cast<std::uintptr_t>(output->memory.data());
  output->offset = (kLine - address % kLine) % kLine + faults().output_offset;
  *buffer =
      faults().gives_no_memory || bytes == 0 ? nullptr : output->memory.data() + output->offset;
  *memory_type = faults().gives_gpu_memory ? TRITONSERVER_MEMORY_GPU : TRITONSERVER_MEMORY_CPU;
  return nullptr;
}
TRITONSERVER_Error* TRITONBACKEND_ResponseSend(TRITONBACKEND_Response* response, std::uint32_t,
                                               TRITONSERVER_Error* error) {
  TRITONBACKEND_Request* request = response->request;
  ++request->sent;
  request->code = error == nullptr ? -1 : error->code;
  request->message = error == nullptr ? "" : error->message;
  return fault_of(__func__);
}

}  // extern "C"
