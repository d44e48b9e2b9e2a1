// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <arrow/c/abi.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "columns.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"

namespace tensoa::python {
namespace {

/// A structure of Arrow, released at the end.
template <class Structure>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : structure_(std::exchange(other.structure_, {})) {}
  Owned& operator=(Owned&&) = delete;
  ~Owned() {
    if (structure_.release != nullptr) structure_.release(&structure_);
  }

  Structure* operator->() noexcept { return &structure_; }
  const Structure* operator->() const noexcept { return &structure_; }
  Structure* get() noexcept { return &structure_; }

  /// Takes over what is in a capsule.
  void take(nb::handle capsule, const char* name) {
    auto* const from = static_cast<Structure*>(PyCapsule_GetPointer(capsule.ptr(), name));
    if (from == nullptr) throw nb::python_error();
    structure_ = std::exchange(*from, {});
  }

 private:
  Structure structure_{};
};

/// A part of a column, as a batch has it.
struct Part {
  const ArrowArray* array = nullptr;
  std::int64_t offset = 0;
  std::int64_t rows = 0;
  std::vector<std::pair<const ArrowArray*, std::int64_t>>
      parents;  ///< which may have nulls, and where this begins in it
};

/// The data of an exporter: a schema, and batches of it.
class Exchange {
 public:
  /// @throws BindingError
  Exchange(nb::handle exporter, const std::string& subject) {
    if (nb::hasattr(exporter, "__arrow_c_stream__")) {
      read_stream(exporter.attr("__arrow_c_stream__")(), subject);
    } else {
      const nb::tuple pair = nb::cast<nb::tuple>(exporter.attr("__arrow_c_array__")());
      schema_.take(pair[0], "arrow_schema");
      batches_.emplace_back().take(pair[1], "arrow_array");
    }
  }

  const ArrowSchema& schema() const noexcept { return *schema_.operator->(); }
  const std::vector<Owned<ArrowArray>>& batches() const noexcept { return batches_; }

 private:
  void read_stream(const nb::object& capsule, const std::string& subject) {
    Owned<ArrowArrayStream> stream;
    stream.take(capsule, "arrow_array_stream");
    const auto require = [&](int status) {
      if (status == 0) return;
      const char* const why = stream->get_last_error(stream.get());
      throw BindingError(subject + ": its batches cannot be read: " +
                         (why != nullptr ? why : std::strerror(status)));
    };
    require(stream->get_schema(stream.get(), schema_.get()));
    while (true) {
      Owned<ArrowArray> batch;
      require(stream->get_next(stream.get(), batch.get()));
      if (batch->release == nullptr) return;
      batches_.push_back(std::move(batch));
    }
  }

  Owned<ArrowSchema> schema_;
  std::vector<Owned<ArrowArray>> batches_;
};

struct NumberFormat {
  std::string_view format;
  DType dtype;
};
constexpr NumberFormat kFormats[] = {
    {"C", DType::kU8},  {"c", DType::kI8},  {"s", DType::kI16}, {"i", DType::kI32},
    {"l", DType::kI64}, {"e", DType::kF16}, {"f", DType::kF32}, {"g", DType::kF64},
};

std::string type_of(const ArrowSchema& schema) {
  constexpr std::pair<std::string_view, const char*> kOthers[] = {
      {"S", "uint16"},   {"I", "uint32"},
      {"L", "uint64"},   {"u", "text"},
      {"U", "text"},     {"vu", "text"},
      {"z", "bytes"},    {"n", "null"},
      {"+s", "structs"}, {"+r", "run-end encoded"},
  };
  if (schema.dictionary != nullptr) return "dictionary encoded";
  const std::string_view format = schema.format;
  for (const auto& [other, name] : kOthers) {
    if (format == other) return name;
  }
  // Of 32-bit and 64-bit offsets, views of lists, and lists of one size: "+w:3".
  for (const std::string_view lists : {"+l", "+L", "+vl", "+vL", "+w"}) {
    if (format.starts_with(lists)) return "lists";
  }
  for (const NumberFormat& known : kFormats) {
    if (format == known.format) return std::string(name_of(known.dtype));
  }
  if (format == "b") return "bool";
  if (format.starts_with('t')) return "times";
  return "of Arrow's type " + std::string(format);
}

bool is_set(const void* bits, std::int64_t i) {
  return (static_cast<const std::uint8_t*>(bits)[i / 8] >> (i % 8) & 1U) != 0;
}

/// Rows that are null in `array` from `offset` on. @param first set to the first of them, if any
std::int64_t nulls_in(const ArrowArray& array, std::int64_t offset, std::int64_t rows,
                      std::int64_t& first) {
  if (array.null_count == 0 || array.n_buffers == 0 || array.buffers[0] == nullptr) return 0;
  std::int64_t nulls = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (is_set(array.buffers[0], offset + i)) continue;
    if (nulls++ == 0) first = i;
  }
  return nulls;
}

/// The parts of a column as one array: in place where there is one part of numbers.
ArrayView view_of_parts(const ArrowSchema& schema, const std::vector<Part>& parts,
                        const ArrayUse& use) {
  const auto format =
      std::ranges::find(kFormats, std::string_view(schema.format), &NumberFormat::format);
  const bool are_bits = std::string_view(schema.format) == "b";
  const std::string wanted(name_of(use.dtype));
  if ((format == std::end(kFormats) && !are_bits) || schema.dictionary != nullptr) {
    const std::string type = type_of(schema);
    std::string advice = ": x.cast(\"" + wanted + "\")";
    if (type == "lists") {
      advice = " in a table; lists are read as an array of Awkward Array: awkward.from_arrow(x)";
    } else if (type == "times") {  // of 32 bits: days, and times of day in seconds and milliseconds
      const std::string_view kind = schema.format;
      const bool is_short = kind == "tdD" || kind == "tts" || kind == "ttm";
      advice = std::string(": x.cast(\"") + (is_short ? "int32" : "int64") + "\").cast(\"" +
               wanted + "\")";
    } else if (type == "text" || type == "bytes") {
      advice = ", and " + type + " has no numbers: leave the column out, or encode it";
    }
    throw BindingError(use.subject + " is " + type + ", expected " + wanted + advice);
  }
  const DType dtype = are_bits ? DType::kBool : format->dtype;
  if (!use.takes_any && dtype != use.dtype) {
    throw BindingError(use.subject + " is " + std::string(name_of(dtype)) + ", expected " + wanted +
                       ": x.cast(\"" + wanted + "\")");
  }
  std::int64_t rows = 0;
  for (const Part& part : parts) {
    std::int64_t first = 0;
    std::int64_t nulls = nulls_in(*part.array, part.offset, part.rows, first);
    for (const auto& [parent, offset] : part.parents) {
      if (nulls == 0) nulls = nulls_in(*parent, offset, part.rows, first);
    }
    if (nulls > 0) {
      throw BindingError(use.subject + " has nulls, the first in row " +
                         std::to_string(rows + first) +
                         "; expected none: fill them (fill_null), or leave these rows out");
    }
    rows += part.rows;
  }
  ArrayView view;
  view.dtype = dtype;
  view.read_only = true;
  view.rank = 1;
  const std::size_t element = size_of(view.dtype);
  view.shape[0] = rows;
  view.stride[0] = static_cast<std::int64_t>(element);
  if (parts.size() == 1 && !are_bits) {
    const auto* const data = static_cast<const std::byte*>(parts.front().array->buffers[1]);
    if (data != nullptr) {
      view.data = const_cast<std::byte*>(data) + parts.front().offset * view.stride[0];
    }
    return view;
  }
  if (rows == 0) return view;
  auto memory = std::make_unique<Buffer>(Device::cpu(), static_cast<std::size_t>(rows) * element);
  std::byte* to = memory->data();
  for (const Part& part : parts) {
    if (are_bits) {
      for (std::int64_t i = 0; i < part.rows; ++i) {
        *to++ = static_cast<std::byte>(is_set(part.array->buffers[1], part.offset + i));
      }
    } else if (part.rows > 0) {
      const std::size_t bytes = static_cast<std::size_t>(part.rows) * element;
      std::memcpy(
          to, static_cast<const std::byte*>(part.array->buffers[1]) + part.offset * view.stride[0],
          bytes);
      to += bytes;
    }
  }
  view.copied = static_cast<std::size_t>(rows) * element;
  view.data = memory->data();
  view.owner =
      nb::capsule(memory.release(), [](void* made) noexcept { delete static_cast<Buffer*>(made); });
  return view;
}

/// A column of a table: fields of structs are columns "struct.field".
struct Leaf {
  std::string name;
  const ArrowSchema* schema;
  std::vector<std::size_t> path;  ///< of children
};

void append_leaves(const ArrowSchema& schema, const std::string& name,
                   std::vector<std::size_t> path, std::vector<Leaf>& leaves) {
  if (std::string_view(schema.format) != "+s") {
    leaves.push_back({name, &schema, std::move(path)});
    return;
  }
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    const ArrowSchema& child = *schema.children[i];
    const std::string own = child.name == nullptr ? "" : child.name;
    std::vector<std::size_t> there = path;
    there.push_back(static_cast<std::size_t>(i));
    std::string whole = name.empty() ? "" : name + '.';
    whole += own;
    append_leaves(child, whole, std::move(there), leaves);
  }
}

Part part_of(const ArrowArray& batch, const std::vector<std::size_t>& path) {
  Part part{&batch, batch.offset, batch.length, {}};
  for (const std::size_t child : path) {
    part.parents.emplace_back(part.array, part.offset);
    part.array = part.array->children[child];
    part.offset += part.array->offset;
  }
  return part;
}

class ArrowColumns final : public Columns {
 public:
  ArrowColumns(nb::handle table, const std::string& subject)
      : exchange_(std::make_shared<Exchange>(table, subject)) {
    if (std::string_view(exchange_->schema().format) != "+s") {
      throw BindingError(subject + ": got " + type_of_object(table) + " of " +
                         type_of(exchange_->schema()) +
                         ", expected a table: give a column by its name");
    }
    append_leaves(exchange_->schema(), "", {}, leaves_);
  }

  std::optional<ArrayView> find(const std::string& name, const ArrayUse& use,
                                bool /*wants_number*/) override {
    const auto times = std::ranges::count(leaves_, name, &Leaf::name);
    if (times == 0) return {};
    if (times > 1) {
      throw BindingError(use.subject + " is there " + std::to_string(times) +
                         " times, expected once");
    }
    const Leaf& leaf = *std::ranges::find(leaves_, name, &Leaf::name);
    std::vector<Part> parts;
    for (const Owned<ArrowArray>& batch : exchange_->batches()) {
      parts.push_back(part_of(*batch.operator->(), leaf.path));
    }
    return view_of_parts(*leaf.schema, parts, use);
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    names.reserve(leaves_.size());
    for (const Leaf& leaf : leaves_) names.push_back(leaf.name);
    return names;
  }

 private:
  std::shared_ptr<Exchange> exchange_;
  std::vector<Leaf> leaves_;
};

}  // namespace

bool is_arrow(nb::handle value) {
  return nb::hasattr(value, "__arrow_c_stream__") || nb::hasattr(value, "__arrow_c_array__");
}

std::unique_ptr<Columns> columns_of_arrow(nb::object table, const std::string& subject) {
  return std::make_unique<ArrowColumns>(table, subject);
}

ArrayView view_of_arrow(nb::handle column, const ArrayUse& use) {
  auto exchange = std::make_unique<Exchange>(column, use.subject);
  std::vector<Part> parts;
  for (const Owned<ArrowArray>& batch : exchange->batches()) {
    parts.push_back(part_of(*batch.operator->(), {}));
  }
  ArrayView view = view_of_parts(exchange->schema(), parts, use);
  if (view.owner.is_valid()) return view;
  view.owner = nb::capsule(exchange.release(),
                           [](void* made) noexcept { delete static_cast<Exchange*>(made); });
  return view;
}

}  // namespace tensoa::python
