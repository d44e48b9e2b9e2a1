// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/generated_columns.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cli/numbers.hpp"
#include "tensoa/events/impl/random.hpp"
#include "tensoa/package/described_columns.hpp"

namespace tensoa::cli {
namespace {

template <class T>
void store(std::byte* place, T value) {
  std::memcpy(place, &value, sizeof(T));
}

/// A number in [-2, 2) that a half and a bfloat16 can hold.
float coarse_number(events::Random& random) {
  return static_cast<float>(random.below(256) - 128) / 64;
}

Half half_of(float number) {
  if (number == 0) return {0};
  const auto bits = std::bit_cast<std::uint32_t>(number);
  const std::uint32_t exponent = (bits >> 23U & 0xFFU) - 127 + 15;
  return {static_cast<std::uint16_t>((bits >> 16U & 0x8000U) | exponent << 10U |
                                     (bits >> 13U & 0x3FFU))};
}

/// @param indices integers are below this
void store_number(std::byte* place, DType dtype, std::size_t indices, events::Random& random) {
  const auto below = [&](std::size_t most) {
    return random.below(static_cast<std::int64_t>(std::clamp<std::size_t>(indices, 1, most)));
  };
  switch (dtype) {
    case DType::kBool:
      return store(place, static_cast<std::uint8_t>(random.below(2)));
    case DType::kU8:
    case DType::kI8:
      return store(place, static_cast<std::uint8_t>(below(128)));
    case DType::kI16:
      return store(place, static_cast<std::int16_t>(below(1 << 15)));
    case DType::kI32:
      return store(place, static_cast<std::int32_t>(below(std::size_t{1} << 31U)));
    case DType::kI64:
      return store(place, below(std::size_t{1} << 48U));
    case DType::kF16:
      return store(place, half_of(coarse_number(random)));
    case DType::kBF16:
      return store(place, static_cast<std::uint16_t>(
                              std::bit_cast<std::uint32_t>(coarse_number(random)) >> 16U));
    case DType::kF32:
      return store(place, static_cast<float>(random.uniform(-2, 2)));
    case DType::kF64:
      return store(place, random.uniform(-2, 2));
  }
}

/// Of each input collection: `rows` of the first one, three times this number of the next one, then five times, …
std::vector<std::size_t> rows_of_collections(const package::ModelDescription& model,
                                             std::size_t rows) {
  std::vector<std::size_t> all;
  for (const auto& input : model.inputs) {
    const std::size_t collection = input.collection.value_or(0);
    for (std::size_t i = all.size(); i <= collection; ++i) all.push_back(rows * (1 + 2 * i));
  }
  return all;
}

}  // namespace

std::size_t GeneratedColumns::Memory::place(std::size_t plane, std::size_t row) const {
  const bool is_scalar = block.element.is_scalar();
  return (plane * pitch + offset + (is_scalar ? 0 : row)) * block.element.element_size();
}

std::vector<std::size_t> GeneratedColumns::Memory::planes() const {
  std::vector<std::size_t> all;
  for (const ColumnDescription& column : block.columns) {
    for (std::size_t i = 0; i < block.element.planes(); ++i) all.push_back(column.plane + i);
  }
  return all;
}

GeneratedColumns::GeneratedColumns(const package::ModelDescription& model, std::size_t rows,
                                   std::size_t offset, std::uint64_t seed, const Queue& queue,
                                   std::uint64_t event)
    : GeneratedColumns(model, rows_of_collections(model, rows), offset, seed, queue, event) {}

GeneratedColumns::GeneratedColumns(const package::ModelDescription& model,
                                   const std::vector<std::size_t>& rows, std::size_t offset,
                                   std::uint64_t seed, const Queue& queue, std::uint64_t event)
    : queue_(queue) {
  const auto rows_of = [&](const package::ArgumentDescription& argument) {
    return argument.collection ? rows.at(*argument.collection) : argument.rows;
  };
  std::size_t smallest = std::numeric_limits<std::size_t>::max();
  for (const auto& input : model.inputs) smallest = std::min(smallest, rows_of(input));
  memory_.reserve(model.inputs.size() + model.outputs.size());
  const std::size_t first = rows.empty() ? 0 : rows.front();
  events::Random inputs(first + (event << 40U), offset);
  events::Random outputs(first, seed);
  const auto add = [&](const package::ArgumentDescription& argument, bool is_input) {
    Memory& memory = allocate(*argument.block, rows_of(argument), offset);
    const DType dtype = memory.block.element.dtype;
    for (std::size_t i = 0; i < memory.before.size(); i += size_of(dtype)) {
      store_number(&memory.before[i], dtype, smallest, is_input ? inputs : outputs);
    }
    copy_bytes(queue_, memory.now.data(), queue_.device(), memory.before.data(), Device::cpu(),
               memory.before.size());
    bind(memory, is_input);
  };
  for (const auto& input : model.inputs) add(input, true);
  inputs_ = memory_.size();
  for (const auto& output : model.outputs) add(output, false);
  binding_.match = model.binding->match;
  queue_.wait();
}

GeneratedColumns::Memory& GeneratedColumns::allocate(const BlockDescription& block,
                                                     std::size_t rows, std::size_t offset) {
  const std::size_t line = kAlignment / block.element.element_size();
  Memory& memory = memory_.emplace_back();
  memory.block = block;
  memory.rows = rows;
  memory.offset = block.element.is_scalar() ? 0 : offset;
  memory.pitch = block.element.is_scalar() ? line : (rows + offset + line) / line * line;
  const std::vector<std::size_t> planes = memory.planes();
  const std::size_t count = *std::ranges::max_element(planes) + 1;
  memory.before.resize(count * memory.pitch * block.element.element_size());
  memory.now = Buffer(queue_.device(), memory.before.size());
  return memory;
}

void GeneratedColumns::bind(const Memory& memory, bool is_input) {
  std::vector<package::ColumnPlace> places;
  places.reserve(memory.block.columns.size());
  for (const ColumnDescription& column : memory.block.columns) {
    places.push_back({memory.now.data() + memory.place(column.plane, 0),
                      memory.block.element.has_planes() ? memory.pitch : 0});
  }
  package::append_described(is_input ? binding_.inputs : binding_.outputs, memory.block, places,
                            memory.rows, queue_.device(), is_input);
}

std::vector<std::byte> GeneratedColumns::contents(const Memory& memory) const {
  std::vector<std::byte> bytes(memory.before.size());
  copy_bytes(queue_, bytes.data(), Device::cpu(), memory.now.data(), queue_.device(), bytes.size());
  queue_.wait();
  return bytes;
}

void GeneratedColumns::fill(const std::vector<std::vector<std::byte>>& inputs) {
  for (std::size_t i = 0; i < inputs_; ++i) {
    Memory& memory = memory_[i];
    const std::size_t bytes =
        (memory.block.element.is_scalar() ? std::min<std::size_t>(memory.rows, 1) : memory.rows) *
        memory.block.element.element_size();
    const std::byte* from = inputs[i].data();
    for (const std::size_t plane : memory.planes()) {
      std::copy_n(from, bytes, memory.before.data() + memory.place(plane, 0));
      from += bytes;
    }
    copy_bytes(queue_, memory.now.data(), queue_.device(), memory.before.data(), Device::cpu(),
               memory.before.size());
  }
  queue_.wait();
}

std::vector<double> GeneratedColumns::output(std::size_t i) const {
  const Memory& memory = memory_[inputs_ + i];
  const std::vector<std::byte> bytes = contents(memory);
  std::vector<double> numbers;
  for (const std::size_t plane : memory.planes()) {
    for (std::size_t row = 0; row < memory.rows; ++row) {
      numbers.push_back(number_at(&bytes[memory.place(plane, row)], memory.block.element.dtype));
    }
  }
  return numbers;
}

std::string GeneratedColumns::changed() const {
  for (const Memory& memory : memory_) {
    std::vector<std::byte> bytes = contents(memory);
    const bool is_output = &memory >= &memory_[inputs_];
    if (is_output && memory.rows > 0) {
      for (const std::size_t plane : memory.planes()) {
        const std::size_t begin = memory.place(plane, 0);
        const std::size_t end =
            memory.place(plane, memory.rows - 1) + memory.block.element.element_size();
        std::copy(&memory.before[begin], &memory.before[begin] + (end - begin), &bytes[begin]);
      }
    }
    if (bytes != memory.before) return memory.block.name;
  }
  return {};
}

}  // namespace tensoa::cli
