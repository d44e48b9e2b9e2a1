// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/interop/tensor_columns.hpp"

#include <algorithm>
#include <string>

#include "tensoa/core/error.hpp"

namespace tensoa::interop {
namespace {

std::string list(std::span<const std::int64_t> numbers, const char* open, const char* close) {
  std::string text = open;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(numbers[i]);
  }
  return text + close;
}

/// float32[10, 3] on cpu with strides (3, 1)
std::string shape_of(const TensorView& tensor) {
  return to_string(tensor) + " with strides " + list(tensor.strides(), "(", ")");
}

std::size_t rows_of(const TensorView& tensor) {
  return tensor.rank == 0 ? 1 : static_cast<std::size_t>(tensor.size_of_dim[0]);
}

/// Whether the tensor has `size` elements along `dim`, each `stride` from the last; a stride that is
/// never used may be anything.
bool is_dim(const TensorView& tensor, std::size_t dim, std::int64_t size, std::int64_t stride) {
  return tensor.size_of_dim[dim] == size && (size <= 1 || tensor.stride_of_dim[dim] == stride);
}

/// One column of a layout, and whether a tensor fits it.
struct Fit {
  const FieldInfo& info;
  std::int64_t rows;

  bool scalar(const TensorView& tensor) const {
    if (tensor.rank > 2 || (tensor.rank == 2 && tensor.size_of_dim[1] != 1)) return false;
    return tensor.elements() == 1 ||
           (tensor.elements() == rows && (rows == 0 || tensor.stride_of_dim[0] == 0));
  }

  bool plain(const TensorView& tensor) const {
    return (tensor.rank == 1 || (tensor.rank == 2 && tensor.size_of_dim[1] == 1)) &&
           is_dim(tensor, 0, rows, 1);
  }

  /// Pitch of the planes, 0 where the tensor does not fit.
  std::int64_t pitch(const TensorView& tensor) const {
    const auto r = static_cast<std::int64_t>(info.rows);
    const auto c = static_cast<std::int64_t>(info.columns);
    const bool is_matrix = info.kind == ColumnKind::kMatrix;
    if (tensor.rank != (is_matrix ? 3 : 2) || !is_dim(tensor, 0, rows, 1) ||
        tensor.size_of_dim[1] != r || (is_matrix && tensor.size_of_dim[2] != c)) {
      return 0;
    }
    if (is_matrix && c > 1) {
      const std::int64_t found = tensor.stride_of_dim[2] / r;
      const bool fits =
          tensor.stride_of_dim[2] % r == 0 && (r == 1 || tensor.stride_of_dim[1] == found);
      return fits && found >= rows ? found : 0;
    }
    // Of a single plane it is never used.
    const std::int64_t found = r > 1 ? tensor.stride_of_dim[1] : std::max<std::int64_t>(rows, 1);
    return found >= rows ? found : 0;
  }

  std::string expected() const {
    const std::string n = "[" + std::to_string(rows);
    switch (info.kind) {
      case ColumnKind::kPlain:
        return n + "] with stride (1)";
      case ColumnKind::kVector:
        return n + ", " + std::to_string(info.rows) + "] with strides (1, P)";
      case ColumnKind::kMatrix:
        return n + ", " + std::to_string(info.rows) + ", " + std::to_string(info.columns) +
               "] with strides (1, P, " + std::to_string(info.rows) + " P)";
      case ColumnKind::kScalar:
        break;
    }
    return "one element, or one for each row with stride 0";
  }
};

}  // namespace

TensorView select(const TensorView& tensor, std::size_t dim, std::int64_t index) {
  if (dim >= tensor.rank || index < 0 || index >= tensor.size_of_dim[dim]) {
    throw BindingError("select: " + to_string(tensor) + " has no element " + std::to_string(index) +
                       " along dimension " + std::to_string(dim));
  }
  TensorView selected = tensor;
  const auto bytes = static_cast<std::int64_t>(size_of(tensor.dtype));
  if (tensor.data != nullptr) {
    selected.data =
        static_cast<std::byte*>(tensor.data) + index * tensor.stride_of_dim[dim] * bytes;
  }
  const auto remove = [dim](auto& numbers) {
    std::copy(numbers.begin() + dim + 1, numbers.end(), numbers.begin() + dim);
    numbers.back() = 0;
  };
  remove(selected.size_of_dim);
  remove(selected.stride_of_dim);
  --selected.rank;
  return selected;
}

namespace detail {

TensorColumns place_columns(std::span<const TensorView> tensors, std::span<const FieldInfo> fields,
                            std::span<const std::string_view> names, bool writable,
                            std::span<ForeignColumn> places) {
  if (tensors.size() != fields.size()) {
    throw BindingError("view_of: got " + std::to_string(tensors.size()) +
                       " tensors, expected one for each of the " + std::to_string(fields.size()) +
                       " fields of the layout");
  }
  const auto is_rows = [](const FieldInfo& info) { return info.kind != ColumnKind::kScalar; };
  const auto first = std::find_if(fields.begin(), fields.end(), is_rows);
  const std::size_t rows = first == fields.end()
                               ? 0
                               : rows_of(tensors[static_cast<std::size_t>(first - fields.begin())]);

  for (std::size_t field = 0; field < fields.size(); ++field) {
    const FieldInfo& info = fields[field];
    const TensorView& tensor = tensors[field];
    const auto fail = [&](const std::string& what) {
      throw BindingError("view_of: field " + std::string(names[field]) + ": got " +
                         shape_of(tensor) + what);
    };
    if (tensor.dtype != info.dtype) fail(", expected " + std::string(name_of(info.dtype)));
    if (tensor.device != tensors[0].device) {
      fail(", expected all tensors on " + to_string(tensors[0].device));
    }
    if (writable && tensor.read_only) fail(", which is read-only; use const_view_of");

    const Fit fit{info, static_cast<std::int64_t>(rows)};
    std::int64_t pitch = 0;
    bool fits = false;
    if (info.kind == ColumnKind::kScalar) {
      fits = fit.scalar(tensor);
    } else if (info.kind == ColumnKind::kPlain) {
      fits = fit.plain(tensor);
    } else {
      pitch = fit.pitch(tensor);
      fits = pitch > 0;
    }
    if (!fits) fail(", expected " + fit.expected());
    places[field] = {.data = tensor.data, .pitch = pitch};
  }
  check_foreign_columns("view_of", places, fields, names, static_cast<std::int64_t>(rows));
  return {rows, tensors[0].device};
}

}  // namespace detail
}  // namespace tensoa::interop
