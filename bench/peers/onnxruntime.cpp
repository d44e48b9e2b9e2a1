// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime.hpp"

#include <utility>

#include "library.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::peers {
namespace {

/// Places in OrtApi (onnxruntime_c_api.h).
enum Place : std::size_t {
  kGetErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSession = 7,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetIntraOpNumThreads = 24,
  kCreateTensorWithData = 49,
  kCreateCpuMemoryInfo = 69,
  kReleaseMemoryInfo = 94,
  kReleaseSession = 95,
  kReleaseValue = 96,
};

struct ApiBase {
  void* const* (*get_api)(std::uint32_t version);
  const char* (*get_version)();
};

constexpr std::uint32_t kApiVersion = 16;  // any that has these functions
constexpr int kWarnings = 2;
constexpr int kArenaAllocator = 1;
constexpr int kFloat = 1;
constexpr int kInt64 = 7;

void* const* open_api(const std::string& library) {
  void* const base = symbol(library, "OrtGetApiBase");
  return reinterpret_cast<const ApiBase* (*)()>(base)()->get_api(kApiVersion);
}

std::vector<TensorView> tensors_of(const Binding& packed) {
  std::vector<TensorView> tensors;
  tensors.reserve(packed.inputs.size() + packed.outputs.size());
  for (const BoundBlock& block : packed.inputs) tensors.push_back(block.tensor);
  for (const BoundBlock& block : packed.outputs) {
    TensorView& tensor = tensors.emplace_back(block.tensor);
    if (tensor.size_of_dim[1] == 1) tensor.rank = 1;
  }
  return tensors;
}

std::vector<std::string> names_of(const Binding& packed) {
  std::vector<std::string> names;
  names.reserve(packed.inputs.size() + packed.outputs.size());
  for (const auto* blocks : {&packed.inputs, &packed.outputs}) {
    for (const BoundBlock& block : *blocks) names.push_back(block.name);
  }
  return names;
}

}  // namespace

/// Calls the function at `place`, which takes `Parameters` and gives a status.
template <class... Parameters, class... Arguments>
void OnnxRuntime::call(std::size_t place, Arguments... arguments) const {
  void* const status = reinterpret_cast<void* (*)(Parameters...)>(api_[place])(
      static_cast<Parameters>(arguments)...);
  if (status == nullptr) return;
  throw EngineError(std::string("ONNX Runtime: ") +
                    reinterpret_cast<const char* (*)(void*)>(api_[kGetErrorMessage])(status));
}

OnnxRuntime::OnnxRuntime(const std::string& library, const std::string& model,
                         std::span<const TensorView> tensors, std::vector<std::string> names,
                         std::size_t outputs)
    : api_(open_api(library)), outputs_(outputs), names_(std::move(names)) {
  static void* environment = nullptr;  // one a process
  if (environment == nullptr) {
    call<int, const char*, void**>(kCreateEnv, kWarnings, "tensoa", &environment);
  }
  void* options = nullptr;
  call<void**>(kCreateSessionOptions, &options);
  call<void*, int>(kSetIntraOpNumThreads, options, 1);
  call<void*, const char*, void*, void**>(kCreateSession, environment, model.c_str(), options,
                                          &session_);
  call<int, int, void**>(kCreateCpuMemoryInfo, kArenaAllocator, 0, &memory_);
  values_.resize(names_.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) bind(i, tensors[i]);
  for (const std::string& name : names_) name_pointers_.push_back(name.c_str());
}

OnnxRuntime::OnnxRuntime(const std::string& library, const std::string& model,
                         const Binding& packed)
    : OnnxRuntime(library, model, tensors_of(packed), names_of(packed), packed.outputs.size()) {}

OnnxRuntime::~OnnxRuntime() {
  for (void* value : values_) release(kReleaseValue, value);
  release(kReleaseMemoryInfo, memory_);
  release(kReleaseSession, session_);
}

void OnnxRuntime::bind(std::size_t i, const TensorView& tensor) {
  release(kReleaseValue, std::exchange(values_[i], nullptr));
  call<void*, void*, std::size_t, const std::int64_t*, std::size_t, int, void**>(
      kCreateTensorWithData, memory_, tensor.data, tensor.bytes(), tensor.size_of_dim.data(),
      std::size_t{tensor.rank}, tensor.dtype == DType::kI64 ? kInt64 : kFloat, &values_[i]);
}

void OnnxRuntime::release(std::size_t place, void* object) const {
  reinterpret_cast<void (*)(void*)>(api_[place])(object);
}

void OnnxRuntime::run() {
  const std::size_t inputs = values_.size() - outputs_;
  call<void*, const void*, const char* const*, void* const*, std::size_t, const char* const*,
       std::size_t, void**>(kRun, session_, static_cast<const void*>(nullptr),
                            name_pointers_.data(), values_.data(), inputs,
                            name_pointers_.data() + inputs, outputs_, values_.data() + inputs);
}

}  // namespace tensoa::peers
