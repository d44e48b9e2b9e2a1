// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "handles.hpp"
#include "model.hpp"
#include "queue.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/nearest_name.hpp"

using tensoa::BindingError;
using tensoa::ConfigError;
using tensoa::CopyReport;
using tensoa::DType;
using tensoa::Queue;
using tensoa::c::guarded;
using tensoa::c::Handles;
using tensoa::c::NamedPlane;
using tensoa::c::require;
using tensoa::c::require_place;
using tensoa::package::BlockOfPlanes;
using tensoa::package::Plane;

namespace {

constexpr std::int64_t kUnbound = -1;

/// Where a column lies, as the caller says it.
struct Column {
  const void* data;
  tensoa_dtype dtype;
  std::int64_t stride;
  std::int64_t count;
};

/// The columns of one direction: what PlaneCall has of them, and how many rows each has.
struct Side {
  Side(const std::vector<NamedPlane>& its, std::vector<Plane>& where)
      : named(its), planes(where), counts(its.size(), kUnbound) {}

  const std::vector<NamedPlane>& named;
  std::vector<Plane>& planes;
  std::vector<std::int64_t> counts;
};

bool is_scalar(const BlockOfPlanes& block) { return block.block.element.is_scalar(); }

std::optional<std::size_t> find(const Side& side, const char* name) {
  for (std::size_t i = 0; i < side.named.size(); ++i) {
    if (side.named[i].name == name) return i;
  }
  return {};
}

}  // namespace

struct tensoa_call {
  tensoa_call(const tensoa_model& its_model, Queue on)
      : model(its_model),
        call(its_model.model, its_model.planes, std::move(on)),
        inputs(its_model.inputs, call.inputs),
        outputs(its_model.outputs, call.outputs),
        numbers(its_model.inputs.size()) {}
  tensoa_call(const tensoa_call&) = delete;
  tensoa_call& operator=(const tensoa_call&) = delete;

  void bind(Side& side, std::size_t index, const Column& column);
  void bind_number(const char* name, const void* number, tensoa_dtype dtype);
  void bind_by_name(const char* name, const Column& column);
  void run();

  const tensoa_model& model;
  tensoa::package::PlaneCall call;
  Side inputs;
  Side outputs;
  std::vector<std::array<std::byte, sizeof(double)>> numbers;  ///< of scalars in the host's memory
  bool are_rows_known = false;
  bool is_changed = true;  ///< since the last call
  CopyReport copies;

 private:
  DType require_dtype(const Side& side, std::size_t index, tensoa_dtype given) const;
  void find_rows();
};

DType tensoa_call::require_dtype(const Side& side, std::size_t index, tensoa_dtype given) const {
  const DType dtype = tensoa::c::dtype_of(given);
  const NamedPlane& plane = side.named[index];
  const DType expected = plane.block->block.element.dtype;
  if (model.planes.takes_any_numbers) {
    if (&side == &inputs || dtype == DType::kF32 || dtype == DType::kF64) return dtype;
    throw BindingError("column " + plane.name + " is " + std::string(name_of(dtype)) +
                       ", expected float32 or float64 for answers");
  }
  if (dtype == expected) return dtype;
  throw BindingError("column " + plane.name + " is " + std::string(name_of(dtype)) + ", expected " +
                     std::string(name_of(expected)));
}

void tensoa_call::bind(Side& side, std::size_t index, const Column& column) {
  const NamedPlane& plane =
      tensoa::c::plane_at(side.named, index, &side == &inputs ? "inputs" : "outputs");
  const DType dtype = require_dtype(side, index, column.dtype);
  const auto refuse = [&](const std::string& what) {
    throw BindingError("column " + plane.name + " " + what);
  };
  const std::int64_t count = column.count;
  if (count < 0) refuse("has " + std::to_string(count) + " rows, expected 0 or more");
  if (is_scalar(*plane.block) && count != 1) {
    refuse("has " + std::to_string(count) + " elements, expected one: it is a scalar");
  }
  if (column.data == nullptr && count > 0) {
    refuse("is NULL, expected memory of " + std::to_string(count) + " rows");
  }
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  const bool is_too_near =
      std::abs(column.stride) < size && (column.stride != 0 || &side == &outputs);
  if (count > 1 && is_too_near) {
    refuse("has a stride of " + std::to_string(column.stride) + " bytes, its elements have " +
           std::to_string(size) + "; expected bytes, as sizeof *x");
  }
  if (!model.device.is_cpu() && count > 1 && (column.stride < 0 || column.stride % size != 0)) {
    refuse("has a stride of " + std::to_string(column.stride) + " bytes on " +
           to_string(model.device) + ", expected a multiple of its element's " +
           std::to_string(size) + ", 0 or more");
  }
  if (!model.device.is_cpu() &&
      reinterpret_cast<std::uintptr_t>(column.data) % size_of(dtype) != 0) {
    refuse("does not begin at a multiple of its element's " + std::to_string(size) + " bytes on " +
           to_string(model.device));
  }
  // Inputs are only read.
  auto* const data = static_cast<std::byte*>(const_cast<void*>(column.data));
  side.planes[index] = {data, is_scalar(*plane.block) ? 0 : column.stride, dtype, model.device};
  is_changed = true;
  are_rows_known = are_rows_known && side.counts[index] == count;
  side.counts[index] = count;
}

void tensoa_call::bind_by_name(const char* name, const Column& column) {
  if (name == nullptr) throw ConfigError("name is NULL, expected that of a column");
  const auto input = find(inputs, name);
  const auto output = find(outputs, name);
  if (input && output) {
    throw ConfigError("column " + std::string(name) + " is an input and an output; expected " +
                      "tensoa_bind_input(call, " + std::to_string(*input) +
                      ", ...) or tensoa_bind_output(call, " + std::to_string(*output) + ", ...)");
  }
  if (input) {
    bind(inputs, *input, column);
  } else if (output) {
    bind(outputs, *output, column);
  } else {
    std::vector<std::string> names;
    std::string listed;
    for (const Side* side : {&inputs, &outputs}) {
      for (const NamedPlane& plane : side->named) {
        names.push_back(plane.name);
        listed += (listed.empty() ? "" : ", ") + plane.name;
      }
    }
    throw ConfigError("the model has no column " + std::string(name) + "; there are " + listed +
                      tensoa::nearest_of(name, names));
  }
}

void tensoa_call::bind_number(const char* name, const void* number, tensoa_dtype dtype) {
  if (name == nullptr) throw ConfigError("name is NULL, expected that of a column");
  const auto index = find(inputs, name);
  if (!index || !is_scalar(*inputs.named[*index].block)) {
    throw ConfigError("column " + std::string(name) +
                      " is not a scalar that the model reads; expected tensoa_bind()");
  }
  if (number == nullptr) throw BindingError("column " + std::string(name) + " is NULL");
  const DType type = require_dtype(inputs, *index, dtype);
  std::memcpy(numbers[*index].data(), number, size_of(type));
  inputs.planes[*index] = {numbers[*index].data(), 0, type, tensoa::Device::cpu()};
  is_changed = true;
  are_rows_known = are_rows_known && inputs.counts[*index] == 1;
  inputs.counts[*index] = 1;
}

/// How many rows each collection has: those of its columns.
void tensoa_call::find_rows() {
  std::vector<const NamedPlane*> first(model.planes.collections, nullptr);
  for (std::size_t i = 0; i < inputs.named.size(); ++i) {
    const NamedPlane& plane = inputs.named[i];
    if (inputs.counts[i] == kUnbound) throw BindingError("column " + plane.name + " is not bound");
    if (is_scalar(*plane.block)) continue;
    const std::size_t collection = *plane.block->collection;
    if (first[collection] == nullptr) {
      first[collection] = &plane;
      call.rows[collection] = inputs.counts[i];
    }
    if (inputs.counts[i] == call.rows[collection]) continue;
    throw BindingError("column " + plane.name + " has " + std::to_string(inputs.counts[i]) +
                       " rows, " + first[collection]->name + " has " +
                       std::to_string(call.rows[collection]) + "; expected equal numbers");
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i] == nullptr) call.rows[i] = 1;  // of scalars alone
  }
  for (std::size_t i = 0; i < outputs.named.size(); ++i) {
    const NamedPlane& plane = outputs.named[i];
    if (outputs.counts[i] == kUnbound) throw BindingError("column " + plane.name + " is not bound");
    if (is_scalar(*plane.block)) continue;
    const std::int64_t expected = call.rows_of(*plane.block);
    if (outputs.counts[i] == expected) continue;
    const auto collection = plane.block->collection;
    const NamedPlane* const as = collection ? first[*collection] : nullptr;
    throw BindingError("column " + plane.name + " has " + std::to_string(outputs.counts[i]) +
                       " rows, expected " + std::to_string(expected) +
                       (as != nullptr ? ", as " + as->name : std::string()));
  }
  are_rows_known = true;
}

void tensoa_call::run() {
  if (!are_rows_known) find_rows();
  copies = is_changed ? call.run() : call.run_again();
  is_changed = false;
}

tensoa_status tensoa_new_call(const tensoa_model* model, const tensoa_queue* queue,
                              tensoa_call** call) {
  return guarded([&] {
    const tensoa_model& its = require(model, "model");
    require_place(call, "call");
    if (queue != nullptr && require(queue, "queue").queue.device() != its.device) {
      throw ConfigError("queue is one of " + to_string(queue->queue.device()) +
                        ", the model was loaded on " + to_string(its.device) +
                        "; expected both on one device");
    }
    auto made =
        std::make_unique<tensoa_call>(its, queue != nullptr ? queue->queue : Queue(its.device));
    Handles<tensoa_call>::add(made.get());
    *call = made.release();
  });
}

tensoa_status tensoa_bind(tensoa_call* call, const char* name, const void* data, tensoa_dtype dtype,
                          int64_t stride, int64_t count) {
  return guarded([&] { require(call, "call").bind_by_name(name, {data, dtype, stride, count}); });
}

tensoa_status tensoa_bind_input(tensoa_call* call, size_t index, const void* data,
                                tensoa_dtype dtype, int64_t stride, int64_t count) {
  return guarded([&] {
    tensoa_call& its = require(call, "call");
    its.bind(its.inputs, index, {data, dtype, stride, count});
  });
}

tensoa_status tensoa_bind_output(tensoa_call* call, size_t index, void* data, tensoa_dtype dtype,
                                 int64_t stride, int64_t count) {
  return guarded([&] {
    tensoa_call& its = require(call, "call");
    its.bind(its.outputs, index, {data, dtype, stride, count});
  });
}

tensoa_status tensoa_bind_number(tensoa_call* call, const char* name, const void* number,
                                 tensoa_dtype dtype) {
  return guarded([&] { require(call, "call").bind_number(name, number, dtype); });
}

tensoa_status tensoa_run(tensoa_call* call) {
  return guarded([&] { require(call, "call").run(); });
}

tensoa_status tensoa_wait_for_call(const tensoa_call* call) {
  return guarded([&] { require(call, "call").call.queue().wait(); });
}

tensoa_status tensoa_last_copies(const tensoa_call* call, size_t* bytes_in, size_t* bytes_out) {
  return guarded([&] {
    const CopyReport& copies = require(call, "call").copies;
    *require_place(bytes_in, "bytes_in") = copies.bytes_in;
    *require_place(bytes_out, "bytes_out") = copies.bytes_out;
  });
}

void tensoa_free_call(tensoa_call* call) {
  if (call == nullptr) return;
  guarded([&] { tensoa::c::free_once(call, "call"); });
}
