// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "tensoa/core/error.hpp"

namespace tensoa::onnx {
namespace {

struct ElementType {
  int number;  ///< ONNXTensorElementDataType
  const char* name;
  std::optional<DType> dtype = {};
};

constexpr ElementType kElementTypes[] = {{1, "float32", DType::kF32},
                                         {2, "uint8", DType::kU8},
                                         {3, "int8", DType::kI8},
                                         {4, "uint16"},
                                         {5, "int16", DType::kI16},
                                         {6, "int32", DType::kI32},
                                         {7, "int64", DType::kI64},
                                         {8, "string"},
                                         {9, "bool", DType::kBool},
                                         {10, "float16", DType::kF16},
                                         {11, "float64", DType::kF64},
                                         {12, "uint32"},
                                         {13, "uint64"},
                                         {14, "complex64"},
                                         {15, "complex128"},
                                         {16, "bfloat16", DType::kBF16}};

std::string name_of_type(int number) {
  const auto* const found = std::ranges::find(kElementTypes, number, &ElementType::number);
  return found == std::end(kElementTypes) ? "element type " + std::to_string(number) : found->name;
}

Value value_of(const Runtime& ort, std::string name, const TypeOwner& type) {
  Value value{.spec = {.name = std::move(name)}, .size_names = {}};
  const OrtTensorInfo* info = nullptr;
  ort.check(ort.to_tensor_info(type.get(), &info));
  if (info == nullptr) {
    value.type = "a sequence, map or optional value";
    return value;
  }
  int element_type = 0;
  std::size_t rank = 0;
  ort.check(ort.get_element_type(info, &element_type));
  ort.check(ort.get_rank(info, &rank));
  value.spec.dtype = from_onnx(element_type);
  value.type = name_of_type(element_type);
  if (rank == 0) return value;  // nothing, or one number
  std::vector<std::int64_t> sizes(rank);
  std::vector<const char*> names(rank);
  ort.check(ort.get_sizes(info, sizes.data(), rank));
  ort.check(ort.get_size_names(info, names.data(), rank));
  for (std::int64_t& size : sizes) size = std::max(size, kAnySize);
  value.spec.sizes = std::move(sizes);
  value.size_names.assign(names.begin(), names.end());
  return value;
}

using Count = OrtStatus* (*Runtime::*)(const OrtSession*, std::size_t*);
using Type = OrtStatus* (*Runtime::*)(const OrtSession*, std::size_t, OrtTypeInfo**);
using Name = OrtStatus* (*Runtime::*)(const OrtSession*, std::size_t, OrtAllocator*, char**);

std::vector<Value> values_of(const OrtSession* session, Count count, Type type, Name name) {
  const Runtime& ort = Runtime::get();
  std::size_t number = 0;
  ort.check((ort.*count)(session, &number));
  std::vector<Value> values;
  for (std::size_t i = 0; i < number; ++i) {
    char* text = nullptr;
    ort.check((ort.*name)(session, i, ort.names, &text));
    std::string called = text;
    ort.check(ort.free_with(ort.names, text));
    OrtTypeInfo* info = nullptr;
    ort.check((ort.*type)(session, i, &info));
    values.push_back(value_of(ort, std::move(called), TypeOwner(info)));
  }
  return values;
}

// [options]
/// One thread, which is that of the caller. The memory of a call is kept for the next one: without that, 1 000 rows of a
/// transformer took three times as long.
OptionsOwner options_of(const Runtime& ort) {
  OrtSessionOptions* made = nullptr;
  ort.check(ort.create_session_options(&made));
  OptionsOwner options(made);
  ort.check(ort.set_intra_threads(made, 1));
  ort.check(ort.set_inter_threads(made, 1));
  ort.check(ort.add_config_entry(made, "session.intra_op.allow_spinning", "0"));
  ort.check(ort.add_config_entry(made, "session.inter_op.allow_spinning", "0"));
  return options;
}
// [/options]

/// "my.domain:Op" of "Fatal error: my.domain:Op(-1) is not a registered function/op"; empty where that is not said.
std::string unknown_operator(std::string_view message) {
  constexpr std::string_view kBefore = "Fatal error: ";
  constexpr std::string_view kBehind = " is not a registered";
  const std::size_t behind = message.find(kBehind);
  const std::size_t before = message.rfind(kBefore, behind);
  if (behind == std::string_view::npos || before == std::string_view::npos) return {};
  const std::string_view name =
      message.substr(before + kBefore.size(), behind - before - kBefore.size());
  return std::string(name.substr(0, name.find('(')));
}

std::string why_not(const RuntimeFailure& failure, const std::string& path) {
  const Runtime& ort = Runtime::get();
  std::string_view message = failure.what();
  if (const std::string name = unknown_operator(message); !name.empty()) {
    return "has the operator " + name + ", which ONNX Runtime " + ort.version +
           " does not have; libraries of custom operators are not loaded: export the model "
           "without it, or make a package of its module: tensoa compile FILE.py:FACTORY --out "
           "PACKAGE.pt2";
  }
  const std::string before = "Load model from " + path + " failed:";
  if (message.starts_with(before)) message.remove_prefix(before.size());
  return "ONNX Runtime " + ort.version + " cannot load it: " + std::string(message);
}

}  // namespace

int to_onnx(DType dtype) noexcept {
  return std::ranges::find(kElementTypes, std::optional(dtype), &ElementType::dtype)->number;
}

std::optional<DType> from_onnx(int element_type) noexcept {
  const auto* const found = std::ranges::find(kElementTypes, element_type, &ElementType::number);
  return found == std::end(kElementTypes) ? std::nullopt : found->dtype;
}

Session::Session(const std::filesystem::path& path) {
  const std::string subject = "model " + path.string() + ": ";
  try {
    const Runtime& ort = Runtime::get();
    OrtSession* made = nullptr;
    ort.check(ort.create_session(ort.environment, path.c_str(), options_of(ort).get(), &made));
    session_.reset(made);
    inputs_ = values_of(made, &Runtime::get_input_count, &Runtime::get_input_type,
                        &Runtime::get_input_name);
    outputs_ = values_of(made, &Runtime::get_output_count, &Runtime::get_output_type,
                         &Runtime::get_output_name);
  } catch (const RuntimeFailure& failure) {
    if (failure.is_of_memory()) {
      throw DeviceFullError(subject + "does not fit into memory: " + failure.what());
    }
    throw LoadError(subject + why_not(failure, path.string()));
  } catch (const std::runtime_error& error) {
    throw LoadError(subject + error.what());
  }
}

}  // namespace tensoa::onnx
