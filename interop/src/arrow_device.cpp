// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/interop/arrow_device.hpp"

#include <arrow/c/abi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/core/event.hpp"
#include "tensoa/soa/plane_name.hpp"

namespace tensoa::interop::detail {
namespace {

// ---- types and names

constexpr std::string_view kExtensionName = "ARROW:extension:name";

/// An element type in Arrow: the format string of the storage, and the extension type over it, if
/// any.
struct ArrowType {
  DType dtype;
  std::string_view format;
  std::string_view extension;
};

constexpr ArrowType kTypes[] = {
    {DType::kBool, "c", "arrow.bool8"},
    {DType::kU8, "C", ""},
    {DType::kI8, "c", ""},
    {DType::kI16, "s", ""},
    {DType::kI32, "i", ""},
    {DType::kI64, "l", ""},
    {DType::kF16, "e", ""},
    {DType::kBF16, "S", "tensoa.bfloat16"},
    {DType::kF32, "f", ""},
    {DType::kF64, "g", ""},
};

const ArrowType& arrow_type(DType dtype) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes),
                       [dtype](const ArrowType& type) { return type.dtype == dtype; });
}

void append(std::string& metadata, std::size_t number) {
  const auto value = static_cast<std::int32_t>(number);
  metadata.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

/// Metadata of one key, as Arrow encodes it: the number of keys, then length and bytes of each.
std::string extension_metadata(std::string_view extension) {
  std::string metadata;
  if (extension.empty()) return metadata;
  append(metadata, 1);
  for (const std::string_view text : {kExtensionName, extension}) {
    append(metadata, text.size());
    metadata += text;
  }
  return metadata;
}

/// The name of the extension type in metadata, "" without one.
std::string_view extension_of(const char* metadata) {
  if (metadata == nullptr) return {};
  const auto next_number = [&metadata] {
    std::int32_t value = 0;
    std::memcpy(&value, metadata, sizeof(value));
    metadata += sizeof(value);
    return value;
  };
  const auto next_text = [&] {
    const auto length = static_cast<std::size_t>(std::max(next_number(), 0));
    const std::string_view text(metadata, length);
    metadata += length;
    return text;
  };
  for (std::int32_t left = next_number(); left > 0; --left) {
    const std::string_view key = next_text();
    const std::string_view value = next_text();
    if (key == kExtensionName) return value;
  }
  return {};
}

// ---- export

/// The structs that an exported array points to, and the memory that it keeps alive.
struct ArrayContents {
  std::shared_ptr<const void> owner;
  const void* buffers[2] = {};  // validity: none; data
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
  std::optional<Event> done;
  void* native_event = nullptr;

  ArrayContents() = default;
  ArrayContents(const ArrayContents&) = delete;
  ArrayContents& operator=(const ArrayContents&) = delete;
  ~ArrayContents() {
    for (ArrowArray& child : children) {
      if (child.release != nullptr) child.release(&child);  // else it was moved out
    }
  }
};

struct SchemaContents {
  std::string format;
  std::string name;
  std::string metadata;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;

  SchemaContents() = default;
  SchemaContents(const SchemaContents&) = delete;
  SchemaContents& operator=(const SchemaContents&) = delete;
  ~SchemaContents() {
    for (ArrowSchema& child : children) {
      if (child.release != nullptr) child.release(&child);
    }
  }
};

template <class Contents, class Structure>
void release(Structure* structure) {
  delete static_cast<Contents*>(structure->private_data);
  structure->release = nullptr;
}

/// Sets what arrays and schemas have in common.
template <class Structure, class Contents>
Structure finish(Structure structure, std::unique_ptr<Contents> contents) {
  for (Structure& child : contents->children) contents->pointers.push_back(&child);
  structure.n_children = static_cast<std::int64_t>(contents->children.size());
  structure.children = contents->pointers.data();
  structure.release = release<Contents, Structure>;
  structure.private_data = contents.release();
  return structure;
}

ArrowArray make_array(std::unique_ptr<ArrayContents> contents, std::size_t length,
                      std::int64_t n_buffers) {
  ArrowArray array{};
  array.length = static_cast<std::int64_t>(length);
  array.n_buffers = n_buffers;
  array.buffers = contents->buffers;
  return finish(array, std::move(contents));
}

ArrowSchema make_schema(std::unique_ptr<SchemaContents> contents) {
  ArrowSchema schema{};
  schema.format = contents->format.c_str();
  schema.name = contents->name.c_str();
  schema.metadata = contents->metadata.empty() ? nullptr : contents->metadata.data();
  return finish(schema, std::move(contents));
}

ArrowSchema make_child_schema(std::string name, DType dtype) {
  const ArrowType& type = arrow_type(dtype);
  auto contents = std::make_unique<SchemaContents>();
  contents->format = type.format;
  contents->name = std::move(name);
  contents->metadata = extension_metadata(type.extension);
  return make_schema(std::move(contents));
}

bool belongs_to(const FieldInfo& info, ArrowPart part) {
  return (info.kind == ColumnKind::kScalar) == (part == ArrowPart::kScalars);
}

// ---- import

/// Takes a structure out of the caller's memory; released with the object.
template <class Structure>
class Taken {
 public:
  Taken() = default;
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  ~Taken() {
    if (release_of(value_) != nullptr) release_of(value_)(&base(value_));
  }

  void take(Structure* from) noexcept {
    if (from == nullptr) return;
    value_ = *from;
    release_of(*from) = nullptr;
  }
  bool is_live() { return release_of(value_) != nullptr; }
  const Structure& operator*() const { return value_; }
  const Structure* operator->() const { return &value_; }

 private:
  static ArrowArray& base(ArrowDeviceArray& array) { return array.array; }
  static ArrowSchema& base(ArrowSchema& schema) { return schema; }
  static auto& release_of(Structure& structure) { return base(structure).release; }

  Structure value_{};
};

/// The memory that imported columns keep alive.
struct Imported {
  Taken<ArrowDeviceArray> rows;
  Taken<ArrowDeviceArray> scalars;
  LeaseOwner lease;  // ends first
};

[[noreturn]] void refuse(const std::string& what) { throw InputError("from_arrow: " + what); }

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string describe(std::string_view format, std::string_view extension) {
  std::string text = "type " + quoted(format);
  if (!extension.empty()) text += " as " + quoted(extension);
  return text;
}

bool has_nulls(const ArrowArray& array) {
  const bool has_bitmap = array.n_buffers > 0 && array.buffers[0] != nullptr;
  return array.null_count > 0 || (array.null_count < 0 && has_bitmap);
}

Device device_of(const ArrowDeviceArray& array, const char* which) {
  if (array.device_type == ARROW_DEVICE_CPU) return Device::cpu();
  if (array.device_type != ARROW_DEVICE_CUDA) {
    refuse(std::string("the ") + which + " lie on a device of Arrow type " +
           std::to_string(array.device_type) + ", expected 1 (cpu) or 2 (cuda)");
  }
  return Device::cuda(static_cast<int>(array.device_id));
}

/// A struct array whose children are found by name.
class Batch {
 public:
  Batch(Taken<ArrowDeviceArray>& array, Taken<ArrowSchema>& schema, const Queue& consumer,
        const char* which)
      : array_(array->array), schema_(*schema) {
    if (!array.is_live() || !schema.is_live()) {
      throw ConfigError(std::string("from_arrow: got no ") +
                        (array.is_live() ? "schema" : "array") + " for the " + which +
                        ", or one that is released already");
    }
    const Device device = device_of(*array, which);
    if (device != consumer.device()) {
      throw DeviceError(std::string("from_arrow: the ") + which + " lie on " + to_string(device) +
                        ", got a queue of " + to_string(consumer.device()) +
                        "; expected a queue of " + to_string(device));
    }
    const std::string subject = std::string("the ") + which;
    if (std::string_view(schema_.format) != "+s" || schema_.dictionary != nullptr) {
      refuse(subject + " are of " + describe(schema_.format, "") +
             ", expected a struct array (\"+s\"): a record batch");
    }
    if (schema_.n_children != array_.n_children) {
      refuse(subject + " have " + std::to_string(array_.n_children) + " children, their schema " +
             std::to_string(schema_.n_children));
    }
    if (array_.length < 0 || array_.offset < 0 || array_.length > INT64_MAX - array_.offset) {
      refuse(subject + " have length " + std::to_string(array_.length) + " and offset " +
             std::to_string(array_.offset));
    }
    if (has_nulls(array_)) refuse(subject + " have nulls, expected none");
  }

  std::size_t length() const { return static_cast<std::size_t>(array_.length); }

  /// First element of a column; null only without rows.
  const std::byte* column(const std::string& name, DType dtype) const {
    const std::int64_t position = position_of(name);
    const ArrowSchema& schema = *schema_.children[position];
    const ArrowArray& array = *array_.children[position];
    const ArrowType& type = arrow_type(dtype);
    const std::string_view extension = extension_of(schema.metadata);
    const std::string subject = "column " + name + ": got ";
    if (schema.dictionary != nullptr || array.dictionary != nullptr) {
      refuse(subject + "dictionary codes, expected the values; decode the column before");
    }
    if (schema.format != type.format || (!type.extension.empty() && extension != type.extension)) {
      refuse(subject + describe(schema.format, extension) + ", expected " +
             describe(type.format, type.extension) + " (" + std::string(name_of(dtype)) + ')');
    }
    if (array.n_buffers != 2) {
      refuse(subject + std::to_string(array.n_buffers) + " buffers, expected 2");
    }
    if (has_nulls(array)) {
      refuse(subject +
             (array.null_count > 0 ? std::to_string(array.null_count) : "an unknown number of") +
             " nulls, expected none; fill them before");
    }
    if (array.offset < 0 || array.length < array_.offset + array_.length) {
      refuse(subject + std::to_string(array.length) + " elements, expected " +
             std::to_string(array_.offset + array_.length));
    }
    if (array_.length == 0) return nullptr;
    if (array.buffers[1] == nullptr) refuse(subject + "no data");
    const auto element = static_cast<std::int64_t>(size_of(dtype));
    std::int64_t bytes = 0;
    std::int64_t end = 0;
    if (__builtin_add_overflow(array.offset, array_.offset + array_.length, &bytes) ||
        __builtin_mul_overflow(bytes, element, &bytes) ||
        __builtin_add_overflow(reinterpret_cast<std::uintptr_t>(array.buffers[1]), bytes, &end)) {
      refuse(subject + "the offset " + std::to_string(array.offset) +
             ", which leads beyond the last address; expected a column that lies in memory");
    }
    const std::byte* data =
        static_cast<const std::byte*>(array.buffers[1]) + (array.offset + array_.offset) * element;
    if (reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) != 0) {
      refuse(subject + "data at an address that is not a multiple of " +
             std::to_string(size_of(dtype)) + " bytes; copy the column before");
    }
    return data;
  }

 private:
  std::int64_t position_of(const std::string& name) const {
    std::int64_t position = -1;
    std::string there;
    for (std::int64_t child = 0; child < schema_.n_children; ++child) {
      const char* found = schema_.children[child]->name;
      if (found == nullptr) continue;
      there += (there.empty() ? "" : ", ") + std::string(found);
      if (name != found) continue;
      if (position >= 0) refuse("column " + name + " is there twice, expected it once");
      position = child;
    }
    if (position < 0) refuse("there is no column " + name + "; there is: " + there);
    return position;
  }

  const ArrowArray& array_;
  const ArrowSchema& schema_;
};

/// The one distance between the planes, in elements.
std::int64_t pitch_of(std::span<const std::byte* const> planes, const std::string& name,
                      std::size_t element_size) {
  if (planes.size() == 1 || planes.front() == nullptr) return 0;
  const auto distance = [&](std::size_t plane) {
    return reinterpret_cast<std::intptr_t>(planes[plane]) -
           reinterpret_cast<std::intptr_t>(planes[plane - 1]);
  };
  const std::intptr_t step = distance(1);
  std::string all;
  bool is_even = step > 0;
  for (std::size_t plane = 1; plane < planes.size(); ++plane) {
    all += (plane > 1 ? ", " : "") + std::to_string(distance(plane));
    is_even = is_even && distance(plane) == step;
  }
  if (!is_even) {
    refuse("the planes of column " + name + " lie " + all +
           " bytes apart, expected equal, ascending distances; copy them into a collection");
  }
  return step / static_cast<std::int64_t>(element_size);
}

ForeignColumn find_column(const Batch& batch, std::string_view name, const FieldInfo& info) {
  std::vector<const std::byte*> planes;
  for (std::size_t plane = 0; plane < info.planes(); ++plane) {
    planes.push_back(batch.column(plane_name(std::string(name), info, plane), info.dtype));
  }
  // Const views are all that is made of it.
  return {.data = const_cast<std::byte*>(planes.front()),
          .pitch = pitch_of(planes, std::string(name), info.element_size())};
}

void wait_for_exporter(const Queue& consumer, const ArrowDeviceArray& array) {
  if (consumer.device().is_cpu() || array.sync_event == nullptr) return;
  void* event = nullptr;
  std::memcpy(&event, array.sync_event, sizeof(event));  // cudaEvent_t*
  consumer.wait_for(Event::borrow(consumer.device(), event));
}

}  // namespace

void export_columns(std::span<const ColumnRecord> columns, std::span<const std::string_view> names,
                    std::size_t size, ArrowPart part, std::shared_ptr<const void> owner,
                    const Queue& producer, const ArrowBatch& out) {
  if (out.array == nullptr || out.schema == nullptr) {
    throw ConfigError(std::string("to_arrow: got no memory for the ") +
                      (out.array == nullptr ? "array" : "schema"));
  }
  const Device device = columns.front().device;
  if (producer.device() != device) {
    throw DeviceError("to_arrow: the columns lie on " + to_string(device) + ", got a queue of " +
                      to_string(producer.device()) + "; expected a queue of " + to_string(device));
  }
  const std::size_t length = part == ArrowPart::kScalars ? 1 : size;
  auto array = std::make_unique<ArrayContents>();
  auto schema = std::make_unique<SchemaContents>();
  schema->format = "+s";
  std::size_t planes = 0;
  for (const ColumnRecord& column : columns) planes += column.info.planes();
  array->children.reserve(planes);
  schema->children.reserve(planes);
  for (std::size_t field = 0; field < columns.size(); ++field) {
    const ColumnRecord& column = columns[field];
    if (!belongs_to(column.info, part)) continue;
    for (std::size_t plane = 0; plane < column.info.planes(); ++plane) {
      auto child = std::make_unique<ArrayContents>();
      child->owner = owner;
      child->buffers[1] = static_cast<const std::byte*>(column.data) +
                          plane * column.pitch * column.info.element_size();
      array->children.push_back(make_array(std::move(child), length, 2));
      schema->children.push_back(make_child_schema(
          plane_name(std::string(names[field]), column.info, plane), column.info.dtype));
    }
  }
  array->owner = std::move(owner);
  array->done.emplace(producer);
  array->native_event = array->done->native_handle();

  ArrowDeviceArray exported{};
  exported.device_type = device.is_cpu() ? ARROW_DEVICE_CPU : ARROW_DEVICE_CUDA;
  exported.device_id = device.is_cpu() ? -1 : device.index;
  exported.sync_event = device.is_cpu() ? nullptr : &array->native_event;
  ArrowSchema exported_schema = make_schema(std::move(schema));
  exported.array = make_array(std::move(array), length, 1);
  *out.array = exported;
  *out.schema = exported_schema;
}

ArrowColumns import_columns(const Queue& consumer, const ArrowBatch& rows,
                            const ArrowBatch& scalars, std::span<const FieldInfo> fields,
                            std::span<const std::string_view> names,
                            std::span<ForeignColumn> places) {
  const auto imported = std::make_shared<Imported>();
  Taken<ArrowSchema> rows_schema;
  Taken<ArrowSchema> scalars_schema;
  imported->rows.take(rows.array);
  imported->scalars.take(scalars.array);
  rows_schema.take(rows.schema);
  scalars_schema.take(scalars.schema);

  const Batch row_batch(imported->rows, rows_schema, consumer, "rows");
  std::optional<Batch> scalar_batch;
  for (std::size_t field = 0; field < fields.size(); ++field) {
    const bool is_scalar = fields[field].kind == ColumnKind::kScalar;
    if (is_scalar && !scalar_batch.has_value()) {
      scalar_batch.emplace(imported->scalars, scalars_schema, consumer, "scalars");
      if (scalar_batch->length() != 1) {
        refuse("the scalars have " + std::to_string(scalar_batch->length()) +
               " rows, expected one");
      }
    }
    places[field] = find_column(is_scalar ? *scalar_batch : row_batch, names[field], fields[field]);
  }
  wait_for_exporter(consumer, *imported->rows);
  if (scalar_batch.has_value()) wait_for_exporter(consumer, *imported->scalars);
  imported->lease = LeaseOwner::make_foreign();
  return {row_batch.length(), consumer.device(), imported->lease.lease(), imported};
}

}  // namespace tensoa::interop::detail
