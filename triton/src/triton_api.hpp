// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// @file
/// The part of the C API of Triton back-ends, version 1.x, that the back-end uses, written from its
/// documentation. The server defines these functions; the back-end is not linked to it, because its
/// library has another name in each distribution.
///
/// Handles are opaque pointers, enumerations are int. Functions that return TRITONSERVER_Error* return
/// nullptr for success, else an error that the caller deletes. Functions that are newer than version 1.10 are
/// weak: nullptr in an older server.

// NOLINTBEGIN(readability-identifier-naming): names of Triton
extern "C" {

struct TRITONSERVER_Error;
struct TRITONSERVER_Message;
struct TRITONBACKEND_Backend;
struct TRITONBACKEND_BackendAttribute;
struct TRITONBACKEND_Input;
struct TRITONBACKEND_Model;
struct TRITONBACKEND_ModelInstance;
struct TRITONBACKEND_Output;
struct TRITONBACKEND_Request;
struct TRITONBACKEND_Response;

inline constexpr int TRITONSERVER_ERROR_UNKNOWN = 0;
inline constexpr int TRITONSERVER_ERROR_INTERNAL = 1;
inline constexpr int TRITONSERVER_ERROR_NOT_FOUND = 2;
inline constexpr int TRITONSERVER_ERROR_INVALID_ARG = 3;
inline constexpr int TRITONSERVER_ERROR_UNAVAILABLE = 4;
inline constexpr int TRITONSERVER_ERROR_UNSUPPORTED = 5;
inline constexpr int TRITONSERVER_ERROR_CANCELLED = 7;

inline constexpr int TRITONSERVER_LOG_INFO = 0;
inline constexpr int TRITONSERVER_LOG_ERROR = 2;

inline constexpr int TRITONSERVER_MEMORY_CPU = 0;
inline constexpr int TRITONSERVER_MEMORY_CPU_PINNED = 1;
inline constexpr int TRITONSERVER_MEMORY_GPU = 2;

inline constexpr int TRITONSERVER_INSTANCEGROUPKIND_CPU = 1;
inline constexpr int TRITONSERVER_INSTANCEGROUPKIND_GPU = 2;

inline constexpr int TRITONSERVER_PARAMETER_STRING = 0;

inline constexpr std::uint32_t TRITONSERVER_REQUEST_RELEASE_ALL = 1;
inline constexpr std::uint32_t TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1;

// Errors, messages, log
TRITONSERVER_Error* TRITONSERVER_ErrorNew(int code, const char* message);
void TRITONSERVER_ErrorDelete(TRITONSERVER_Error* error);
int TRITONSERVER_ErrorCode(TRITONSERVER_Error* error);
const char* TRITONSERVER_ErrorMessage(TRITONSERVER_Error* error);
TRITONSERVER_Error* TRITONSERVER_LogMessage(int level, const char* file, int line,
                                            const char* message);
TRITONSERVER_Error* TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message** message,
                                                              const char* bytes, std::size_t size);
TRITONSERVER_Error* TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message* message,
                                                        const char** bytes, std::size_t* size);
TRITONSERVER_Error* TRITONSERVER_MessageDelete(TRITONSERVER_Message* message);

// The back-end
TRITONSERVER_Error* TRITONBACKEND_ApiVersion(std::uint32_t* major, std::uint32_t* minor);
TRITONSERVER_Error* TRITONBACKEND_BackendConfig(TRITONBACKEND_Backend* backend,
                                                TRITONSERVER_Message** config);  // not ours
TRITONSERVER_Error* TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(
    TRITONBACKEND_BackendAttribute* attribute, int kind, std::uint64_t count,
    const std::uint64_t* device_ids, std::uint64_t device_id_count);

// Models
TRITONSERVER_Error* TRITONBACKEND_ModelName(TRITONBACKEND_Model* model, const char** name);
TRITONSERVER_Error* TRITONBACKEND_ModelVersion(TRITONBACKEND_Model* model, std::uint64_t* version);
TRITONSERVER_Error* TRITONBACKEND_ModelRepository(TRITONBACKEND_Model* model, int* type,
                                                  const char** folder);
TRITONSERVER_Error* TRITONBACKEND_ModelConfig(TRITONBACKEND_Model* model, std::uint32_t version,
                                              TRITONSERVER_Message** config);  // ours
TRITONSERVER_Error* TRITONBACKEND_ModelAutoCompleteConfig(TRITONBACKEND_Model* model,
                                                          bool* is_wanted);
TRITONSERVER_Error* TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model* model, std::uint32_t version,
                                                 TRITONSERVER_Message* config);  // stays ours
TRITONSERVER_Error* TRITONBACKEND_ModelState(TRITONBACKEND_Model* model, void** state);
TRITONSERVER_Error* TRITONBACKEND_ModelSetState(TRITONBACKEND_Model* model, void* state);

// Instances
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance* instance,
                                                    int* kind);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceDeviceId(TRITONBACKEND_ModelInstance* instance,
                                                        std::int32_t* device_id);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance* instance,
                                                     TRITONBACKEND_Model** model);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance* instance,
                                                     void** state);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance* instance,
                                                        void* state);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportStatistics(
    TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request* request, bool success,
    std::uint64_t exec_start_ns, std::uint64_t compute_start_ns, std::uint64_t compute_end_ns,
    std::uint64_t exec_end_ns);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportBatchStatistics(
    TRITONBACKEND_ModelInstance* instance, std::uint64_t batch_size, std::uint64_t exec_start_ns,
    std::uint64_t compute_start_ns, std::uint64_t compute_end_ns, std::uint64_t exec_end_ns);

// Requests
TRITONSERVER_Error* TRITONBACKEND_RequestInput(TRITONBACKEND_Request* request, const char* name,
                                               TRITONBACKEND_Input** input);
TRITONSERVER_Error* TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request* request,
                                                     std::uint32_t* count);
TRITONSERVER_Error* TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request* request,
                                                    std::uint32_t index, const char** name);
TRITONSERVER_Error* TRITONBACKEND_RequestRelease(TRITONBACKEND_Request* request,
                                                 std::uint32_t flags);
TRITONSERVER_Error* TRITONBACKEND_InputProperties(TRITONBACKEND_Input* input, const char** name,
                                                  int* datatype, const std::int64_t** shape,
                                                  std::uint32_t* rank, std::uint64_t* bytes,
                                                  std::uint32_t* buffers);
TRITONSERVER_Error* TRITONBACKEND_InputBuffer(TRITONBACKEND_Input* input, std::uint32_t index,
                                              const void** buffer, std::uint64_t* bytes,
                                              int* memory_type, std::int64_t* memory_type_id);

// Newer than the first servers that the back-end runs in
[[gnu::weak]] TRITONSERVER_Error* TRITONBACKEND_RequestIsCancelled(TRITONBACKEND_Request* request,
                                                                   bool* is_cancelled);
[[gnu::weak]] TRITONSERVER_Error* TRITONBACKEND_RequestParameterCount(
    TRITONBACKEND_Request* request, std::uint32_t* count);
[[gnu::weak]] TRITONSERVER_Error* TRITONBACKEND_RequestParameter(TRITONBACKEND_Request* request,
                                                                 std::uint32_t index,
                                                                 const char** key, int* type,
                                                                 const void** value);

// Responses
TRITONSERVER_Error* TRITONBACKEND_ResponseNew(TRITONBACKEND_Response** response,
                                              TRITONBACKEND_Request* request);
TRITONSERVER_Error* TRITONBACKEND_ResponseSetStringParameter(TRITONBACKEND_Response* response,
                                                             const char* name, const char* value);
TRITONSERVER_Error* TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response* response,
                                                 TRITONBACKEND_Output** output, const char* name,
                                                 int datatype, const std::int64_t* shape,
                                                 std::uint32_t rank);
TRITONSERVER_Error* TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output* output, void** buffer,
                                               std::uint64_t bytes, int* memory_type,
                                               std::int64_t* memory_type_id);
TRITONSERVER_Error* TRITONBACKEND_ResponseSend(TRITONBACKEND_Response* response,
                                               std::uint32_t flags, TRITONSERVER_Error* error);

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
