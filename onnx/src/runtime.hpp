// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

/// @file
/// The C interface of ONNX Runtime (onnxruntime_c_api.h), without its header: the functions that are used here, from their
/// places in the table OrtApi, to which releases only append.

namespace tensoa::onnx {

// Its objects, which only its functions look into.
struct OrtStatus;
struct OrtEnv;
struct OrtSession;
struct OrtSessionOptions;
struct OrtRunOptions;
struct OrtValue;
struct OrtIoBinding;
struct OrtMemoryInfo;
struct OrtAllocator;
struct OrtTypeInfo;
struct OrtTensorInfo;

/// The message of ONNX Runtime, in one line.
class RuntimeFailure : public std::runtime_error {
 public:
  /// @param code OrtErrorCode
  RuntimeFailure(int code, const std::string& message) : std::runtime_error(message), code_(code) {}

  int code() const noexcept { return code_; }

  /// Whether memory did not suffice. There is no code for that.
  bool is_of_memory() const;

 private:
  int code_;
};

/// The functions. Each that gives a status is called by check().
struct Runtime {
  std::string version;  ///< "1.31.1"
  std::string file;     ///< that was opened

  int (*get_error_code)(const OrtStatus*);
  const char* (*get_error_message)(const OrtStatus*);
  OrtStatus* (*create_env)(void (*log)(void*, int severity, const char* category, const char* id,
                                       const char* place, const char* message),
                           void* parameter, int severity, const char* id, OrtEnv**);
  OrtStatus* (*create_session)(const OrtEnv*, const char* path, const OrtSessionOptions*,
                               OrtSession**);
  OrtStatus* (*run)(OrtSession*, const OrtRunOptions*, const char* const* input_names,
                    const OrtValue* const* inputs, std::size_t input_count,
                    const char* const* output_names, std::size_t output_count, OrtValue** outputs);
  OrtStatus* (*run_bound)(OrtSession*, const OrtRunOptions*, const OrtIoBinding*);
  OrtStatus* (*create_binding)(OrtSession*, OrtIoBinding**);
  OrtStatus* (*bind_input)(OrtIoBinding*, const char* name, const OrtValue*);
  OrtStatus* (*bind_output)(OrtIoBinding*, const char* name, const OrtValue*);
  void (*clear_outputs)(OrtIoBinding*);
  OrtStatus* (*create_session_options)(OrtSessionOptions**);
  OrtStatus* (*set_intra_threads)(OrtSessionOptions*, int);
  OrtStatus* (*set_inter_threads)(OrtSessionOptions*, int);
  OrtStatus* (*add_config_entry)(OrtSessionOptions*, const char* key, const char* value);
  OrtStatus* (*get_input_count)(const OrtSession*, std::size_t*);
  OrtStatus* (*get_output_count)(const OrtSession*, std::size_t*);
  OrtStatus* (*get_input_type)(const OrtSession*, std::size_t, OrtTypeInfo**);
  OrtStatus* (*get_output_type)(const OrtSession*, std::size_t, OrtTypeInfo**);
  OrtStatus* (*get_input_name)(const OrtSession*, std::size_t, OrtAllocator*, char**);
  OrtStatus* (*get_output_name)(const OrtSession*, std::size_t, OrtAllocator*, char**);
  OrtStatus* (*create_tensor)(const OrtMemoryInfo*, void* data, std::size_t bytes,
                              const std::int64_t* sizes, std::size_t rank, int type, OrtValue**);
  OrtStatus* (*is_tensor)(const OrtValue*, int*);
  OrtStatus* (*get_data)(OrtValue*, void**);
  OrtStatus* (*to_tensor_info)(const OrtTypeInfo*, const OrtTensorInfo**);
  OrtStatus* (*get_element_type)(const OrtTensorInfo*, int*);
  OrtStatus* (*get_rank)(const OrtTensorInfo*, std::size_t*);
  OrtStatus* (*get_sizes)(const OrtTensorInfo*, std::int64_t*, std::size_t);
  OrtStatus* (*get_size_names)(const OrtTensorInfo*, const char**, std::size_t);
  OrtStatus* (*get_tensor_info)(const OrtValue*, OrtTensorInfo**);
  OrtStatus* (*create_cpu_memory)(int allocator, int type, OrtMemoryInfo**);
  OrtStatus* (*free_with)(OrtAllocator*, void*);
  OrtStatus* (*get_allocator)(OrtAllocator**);
  void (*release_status)(OrtStatus*);
  void (*release_memory)(OrtMemoryInfo*);
  void (*release_session)(OrtSession*);
  void (*release_value)(OrtValue*);
  void (*release_type)(OrtTypeInfo*);
  void (*release_tensor_info)(OrtTensorInfo*);
  void (*release_options)(OrtSessionOptions*);
  void (*release_binding)(OrtIoBinding*);

  OrtEnv* environment = nullptr;  ///< one a process
  OrtMemoryInfo* host = nullptr;  ///< memory of the CPU
  OrtAllocator* names = nullptr;  ///< that names are given in

  /// The runtime, opened by the first call, for the rest of the process; a call after one that failed tries again.
  /// @throws std::runtime_error that says where was looked and how to get it
  static const Runtime& get();

  /// @throws RuntimeFailure
  void check(OrtStatus* status) const {
    if (status != nullptr) [[unlikely]] {
      fail(status);
    }
  }

 private:
  [[noreturn]] void fail(OrtStatus* status) const;
};

/// Frees an object of ONNX Runtime.
template <class Object, void (*Runtime::*kRelease)(Object*)>
struct Release {
  void operator()(Object* object) const noexcept { (Runtime::get().*kRelease)(object); }
};

using SessionOwner = std::unique_ptr<OrtSession, Release<OrtSession, &Runtime::release_session>>;
using OptionsOwner =
    std::unique_ptr<OrtSessionOptions, Release<OrtSessionOptions, &Runtime::release_options>>;
using BindingOwner =
    std::unique_ptr<OrtIoBinding, Release<OrtIoBinding, &Runtime::release_binding>>;
using ValueOwner = std::unique_ptr<OrtValue, Release<OrtValue, &Runtime::release_value>>;
using TypeOwner = std::unique_ptr<OrtTypeInfo, Release<OrtTypeInfo, &Runtime::release_type>>;
using TensorInfoOwner =
    std::unique_ptr<OrtTensorInfo, Release<OrtTensorInfo, &Runtime::release_tensor_info>>;

}  // namespace tensoa::onnx
