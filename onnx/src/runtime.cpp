// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "library_file.hpp"
#include "tensoa/core/log.hpp"

namespace tensoa::onnx {
namespace {

/// Places in OrtApi.
enum Place : std::size_t {
  kGetErrorCode = 1,
  kGetErrorMessage = 2,
  kCreateEnvWithCustomLogger = 4,
  kCreateSession = 7,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetIntraOpNumThreads = 24,
  kSetInterOpNumThreads = 25,
  kSessionGetInputCount = 30,
  kSessionGetOutputCount = 31,
  kSessionGetInputTypeInfo = 33,
  kSessionGetOutputTypeInfo = 34,
  kSessionGetInputName = 36,
  kSessionGetOutputName = 37,
  kCreateTensorWithData = 49,
  kIsTensor = 50,
  kGetTensorMutableData = 51,
  kCastTypeInfoToTensorInfo = 55,
  kGetTensorElementType = 60,
  kGetDimensionsCount = 61,
  kGetDimensions = 62,
  kGetSymbolicDimensions = 63,
  kGetTensorTypeAndShape = 65,
  kCreateCpuMemoryInfo = 69,
  kAllocatorFree = 76,
  kGetAllocatorWithDefaultOptions = 78,
  kReleaseStatus = 93,
  kReleaseMemoryInfo = 94,
  kReleaseSession = 95,
  kReleaseValue = 96,
  kReleaseTypeInfo = 98,
  kReleaseTensorTypeAndShapeInfo = 99,
  kReleaseSessionOptions = 100,
  kAddSessionConfigEntry = 130,
  kRunWithBinding = 133,
  kCreateIoBinding = 134,
  kReleaseIoBinding = 135,
  kBindInput = 136,
  kBindOutput = 137,
  kClearBoundOutputs = 142,
};

/// The result of OrtGetApiBase().
struct ApiBase {
  const void* const* (*get_api)(std::uint32_t version);
  const char* (*get_version)();
};

constexpr std::uint32_t kApiVersion = 16;  ///< the one requested; later releases have it, too
constexpr int kWarnings = 2;
constexpr int kDeviceAllocator = 0;
constexpr int kDefaultMemory = 0;

/// Cuts out the place in ONNX Runtime's sources that some messages name: "/path/model.cc:256 void f(int) ".
std::string without_place(std::string text) {
  const std::size_t ending = text.find(".cc:");
  if (ending == std::string::npos) return text;
  const std::size_t begin = text.find_last_of(" :", ending) + 1;
  std::size_t end = text.find('(', ending);
  int depth = 0;
  for (; end < text.size(); ++end) {
    depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    if (depth == 0) break;
  }
  if (end >= text.size()) return text;
  end = text.find_first_not_of(" )", text.find(' ', end));
  return end == std::string::npos ? text : text.substr(0, begin) + text.substr(end);
}

/// A message as part of a sentence.
std::string in_one_line(const std::string& message) {
  std::string text;
  for (const char c : without_place(message)) {
    const bool is_space = static_cast<unsigned char>(c) <= ' ';
    if (!is_space) text += c;
    if (is_space && !text.empty() && text.back() != ' ') text += ' ';
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

/// Its warnings go where ours go. Errors are thrown.
void hand_on(void* /*parameter*/, int severity, const char* /*category*/, const char* /*id*/,
             const char* /*place*/, const char* message) {
  if (severity == kWarnings) log(LogLevel::kWarning, "ONNX Runtime: " + in_one_line(message));
}

template <class Function>
void take(Function& function, const void* const* table, Place place) {
  function = reinterpret_cast<Function>(const_cast<void*>(table[place]));
}

void take_functions(Runtime& all, const void* const* table) {
  take(all.get_error_code, table, kGetErrorCode);
  take(all.get_error_message, table, kGetErrorMessage);
  take(all.create_env, table, kCreateEnvWithCustomLogger);
  take(all.create_session, table, kCreateSession);
  take(all.run, table, kRun);
  take(all.run_bound, table, kRunWithBinding);
  take(all.create_binding, table, kCreateIoBinding);
  take(all.bind_input, table, kBindInput);
  take(all.bind_output, table, kBindOutput);
  take(all.clear_outputs, table, kClearBoundOutputs);
  take(all.create_session_options, table, kCreateSessionOptions);
  take(all.set_intra_threads, table, kSetIntraOpNumThreads);
  take(all.set_inter_threads, table, kSetInterOpNumThreads);
  take(all.add_config_entry, table, kAddSessionConfigEntry);
  take(all.get_input_count, table, kSessionGetInputCount);
  take(all.get_output_count, table, kSessionGetOutputCount);
  take(all.get_input_type, table, kSessionGetInputTypeInfo);
  take(all.get_output_type, table, kSessionGetOutputTypeInfo);
  take(all.get_input_name, table, kSessionGetInputName);
  take(all.get_output_name, table, kSessionGetOutputName);
  take(all.create_tensor, table, kCreateTensorWithData);
  take(all.is_tensor, table, kIsTensor);
  take(all.get_data, table, kGetTensorMutableData);
  take(all.to_tensor_info, table, kCastTypeInfoToTensorInfo);
  take(all.get_element_type, table, kGetTensorElementType);
  take(all.get_rank, table, kGetDimensionsCount);
  take(all.get_sizes, table, kGetDimensions);
  take(all.get_size_names, table, kGetSymbolicDimensions);
  take(all.get_tensor_info, table, kGetTensorTypeAndShape);
  take(all.create_cpu_memory, table, kCreateCpuMemoryInfo);
  take(all.free_with, table, kAllocatorFree);
  take(all.get_allocator, table, kGetAllocatorWithDefaultOptions);
  take(all.release_status, table, kReleaseStatus);
  take(all.release_memory, table, kReleaseMemoryInfo);
  take(all.release_session, table, kReleaseSession);
  take(all.release_value, table, kReleaseValue);
  take(all.release_type, table, kReleaseTypeInfo);
  take(all.release_tensor_info, table, kReleaseTensorTypeAndShapeInfo);
  take(all.release_options, table, kReleaseSessionOptions);
  take(all.release_binding, table, kReleaseIoBinding);
}

// [open]
Runtime open_runtime() {
  Runtime all{};
  void* const library = open_library(all.file);
  void* const base = dlsym(library, "OrtGetApiBase");
  if (base == nullptr) {
    throw std::runtime_error("needs ONNX Runtime, and " + all.file +
                             " is another library: it has no OrtGetApiBase");
  }
  const ApiBase& entry = *reinterpret_cast<const ApiBase* (*)()>(base)();
  all.version = entry.get_version();
  const void* const* const table = entry.get_api(kApiVersion);
  if (table == nullptr) {
    throw std::runtime_error("needs ONNX Runtime 1.16 or a later release, and " + all.file +
                             " is " + all.version + "; pip install --upgrade onnxruntime");
  }
  take_functions(all, table);
  all.check(all.create_env(hand_on, nullptr, kWarnings, "tensoa", &all.environment));
  all.check(all.create_cpu_memory(kDeviceAllocator, kDefaultMemory, &all.host));
  all.check(all.get_allocator(&all.names));
  return all;
}
// [/open]

}  // namespace

bool RuntimeFailure::is_of_memory() const {
  constexpr std::array<std::string_view, 4> kSigns{"bad allocation", "bad_alloc",
                                                   "Failed to allocate memory", "out of memory"};
  const std::string_view message = what();
  return std::ranges::any_of(
      kSigns, [&](std::string_view sign) { return message.find(sign) != std::string_view::npos; });
}

const Runtime& Runtime::get() {
  // Never destroyed: engines may go after static objects.
  static const Runtime& opened = *new Runtime(open_runtime());
  return opened;
}

void Runtime::fail(OrtStatus* status) const {
  const int code = get_error_code(status);
  const std::string message = in_one_line(get_error_message(status));
  release_status(status);
  throw RuntimeFailure(code, message);
}

}  // namespace tensoa::onnx
