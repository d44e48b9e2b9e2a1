// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "errors.hpp"
#include "handles.hpp"
#include "remote_seam.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/version.hpp"
#include "tensoa/forest/engines.hpp"
#include "tensoa/onnx/engines.hpp"
#include "tensoa/package/described_columns.hpp"
#include "tensoa/package/engines.hpp"

namespace tensoa::c {
namespace {

constexpr std::pair<tensoa_dtype, DType> kDtypes[] = {
    {TENSOA_BOOL, DType::kBool}, {TENSOA_U8, DType::kU8},     {TENSOA_I8, DType::kI8},
    {TENSOA_I16, DType::kI16},   {TENSOA_I32, DType::kI32},   {TENSOA_I64, DType::kI64},
    {TENSOA_F16, DType::kF16},   {TENSOA_BF16, DType::kBF16}, {TENSOA_F32, DType::kF32},
    {TENSOA_F64, DType::kF64}};

void register_engines() {
  static std::once_flag once;
  std::call_once(once, [] {
    forest::register_engines();
    onnx::register_engines();
    package::register_engines();
    register_remote();
  });
}

package::ModelDescription described(const std::string& path) {
  register_engines();
  package::ModelDescription description = package::inspect(path);
  const auto has_block = [](const package::ArgumentDescription& one) {
    return one.block.has_value();
  };
  if (!std::ranges::all_of(description.inputs, has_block) ||
      !std::ranges::all_of(description.outputs, has_block)) {
    throw ConfigError(
        "model " + path +
        ": does not state which columns it reads; tensoa compile makes a package of its "
        "file, which does");
  }
  return description;
}

std::vector<NamedPlane> planes_of(const std::vector<package::ArgumentDescription>& arguments,
                                  const std::vector<package::BlockOfPlanes>& blocks) {
  std::vector<NamedPlane> planes;
  for (std::string& name : package::column_names(arguments)) {
    planes.push_back({std::move(name), nullptr});
  }
  for (const package::BlockOfPlanes& block : blocks) {
    for (std::size_t i = 0; i < block.count; ++i) planes[block.first + i].block = &block;
  }
  return planes;
}

void describe(const std::vector<NamedPlane>& planes, std::size_t index, const char* what,
              tensoa_column_info* info) {
  require_place(info, "info");
  const auto& [name, block] = plane_at(planes, index, what);
  const FieldInfo& element = block->block.element;
  const auto* const dtype =
      std::ranges::find_if(kDtypes, [&](const auto& pair) { return pair.second == element.dtype; });
  *info = {.name = name.c_str(),
           .block = block->block.name.c_str(),
           .dtype = dtype->first,
           .is_scalar = element.is_scalar() ? 1 : 0,
           .collection = block->collection ? static_cast<std::int32_t>(*block->collection) : -1,
           .rows = static_cast<std::int64_t>(block->rows)};
}

}  // namespace

const NamedPlane& plane_at(const std::vector<NamedPlane>& planes, std::size_t index,
                           const char* what) {
  if (index < planes.size()) return planes[index];
  throw ConfigError("index is " + std::to_string(index) + ", the model has " +
                    std::to_string(planes.size()) + " " + what);
}

DType dtype_of(tensoa_dtype dtype) {
  // They are in order, from 1 on.
  if (dtype >= TENSOA_BOOL && dtype <= TENSOA_F64) return kDtypes[dtype - TENSOA_BOOL].second;
  throw ConfigError("dtype is " + std::to_string(static_cast<int>(dtype)) +
                    ", expected one of tensoa_dtype, TENSOA_BOOL to TENSOA_F64");
}

}  // namespace tensoa::c

tensoa_model::tensoa_model(const std::string& path, const std::string& on)
    : description(tensoa::c::described(path)),
      device(tensoa::package::device_for(on, description)),
      model(path, tensoa::CompilationType::kAny,
            tensoa::ModelLocation(path).is_url() ? tensoa::c::options_for_file(description.checksum)
                                                 : tensoa::ModelOptions()),
      planes(tensoa::package::planes_of(description, tensoa::ModelLocation(path).is_url())),
      inputs(tensoa::c::planes_of(description.inputs, planes.inputs)),
      outputs(tensoa::c::planes_of(description.outputs, planes.outputs)),
      json(tensoa::package::to_json(description)) {
  model.deploy(device);
}

using tensoa::ConfigError;
using tensoa::c::guarded;
using tensoa::c::Handles;
using tensoa::c::require;
using tensoa::c::require_place;

const char* tensoa_version() { return tensoa::kVersion.data(); }

tensoa_status tensoa_load_abi(const char* path, const char* device, int abi, tensoa_model** model) {
  return guarded([&] {
    if (abi != TENSOA_ABI) {
      throw ConfigError("tensoa.h is of ABI " + std::to_string(abi) + ", libtensoa.so " +
                        tensoa_version() + " is of ABI " + std::to_string(TENSOA_ABI) +
                        "; compile with the header of the library");
    }
    if (path == nullptr) throw ConfigError("path is NULL, expected that of a model");
    if (device == nullptr) throw ConfigError("device is NULL, expected cpu, cuda:N or auto");
    require_place(model, "model");
    auto made = std::make_unique<tensoa_model>(path, device);
    Handles<tensoa_model>::add(made.get());
    *model = made.release();
  });
}

void tensoa_free_model(tensoa_model* model) {
  if (model == nullptr) return;
  guarded([&] { tensoa::c::free_once(model, "model"); });
}

size_t tensoa_inputs(const tensoa_model* model) {
  return model == nullptr ? 0 : model->inputs.size();
}

size_t tensoa_outputs(const tensoa_model* model) {
  return model == nullptr ? 0 : model->outputs.size();
}

tensoa_status tensoa_describe_input(const tensoa_model* model, size_t index,
                                    tensoa_column_info* info) {
  return guarded(
      [&] { tensoa::c::describe(require(model, "model").inputs, index, "inputs", info); });
}

tensoa_status tensoa_describe_output(const tensoa_model* model, size_t index,
                                     tensoa_column_info* info) {
  return guarded(
      [&] { tensoa::c::describe(require(model, "model").outputs, index, "outputs", info); });
}

const char* tensoa_describe(const tensoa_model* model) {
  return model == nullptr ? nullptr : model->json.c_str();
}
