// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "arrow/nested_columns.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "arrow/arrow_rows.hpp"
#include "tensoa/core/nearest_name.hpp"

namespace tensoa::columnar {
namespace {

using ArrayPointer = std::shared_ptr<arrow::Array>;
using TypePointer = std::shared_ptr<arrow::DataType>;

NumberType number_type_of(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL:
      return NumberType::kBool;
    case arrow::Type::UINT8:
      return NumberType::kU8;
    case arrow::Type::UINT16:
      return NumberType::kU16;
    case arrow::Type::UINT32:
      return NumberType::kU32;
    case arrow::Type::UINT64:
      return NumberType::kU64;
    case arrow::Type::INT8:
      return NumberType::kI8;
    case arrow::Type::INT16:
      return NumberType::kI16;
    case arrow::Type::INT32:
      return NumberType::kI32;
    case arrow::Type::INT64:
      return NumberType::kI64;
    case arrow::Type::HALF_FLOAT:
      return NumberType::kF16;
    case arrow::Type::FLOAT:
      return NumberType::kF32;
    case arrow::Type::DOUBLE:
      return NumberType::kF64;
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256:
      return NumberType::kDecimal;
    case arrow::Type::DICTIONARY:
      return number_type_of(*static_cast<const arrow::DictionaryType&>(type).value_type());
    case arrow::Type::EXTENSION:
      return number_type_of(*static_cast<const arrow::ExtensionType&>(type).storage_type());
    default:
      return NumberType::kNone;
  }
}

/// The type of a list with other elements. @param type of a list
TypePointer with_elements(const arrow::DataType& type, const TypePointer& elements) {
  const auto field = type.field(0)->WithType(elements)->WithNullable(true);
  if (type.id() == arrow::Type::LIST) return arrow::list(field);
  if (type.id() == arrow::Type::LARGE_LIST) return arrow::large_list(field);
  return arrow::fixed_size_list(field,
                                static_cast<const arrow::FixedSizeListType&>(type).list_size());
}

/// The fields of structs, or of structs in lists of any depth; none of other types.
std::vector<std::pair<std::string, TypePointer>> fields_of(const arrow::DataType& type) {
  std::vector<std::pair<std::string, TypePointer>> fields;
  if (const arrow::DataType* elements = element_type(type)) {
    fields = fields_of(*elements);
    for (auto& [name, inner] : fields) inner = with_elements(type, inner);
  } else if (type.id() == arrow::Type::STRUCT) {
    for (const auto& field : type.fields()) fields.emplace_back(field->name(), field->type());
  }
  return fields;
}

void add_with_fields(std::vector<NestedColumn>& all, NestedColumn column) {
  const auto fields = fields_of(*column.type);
  const std::string prefix = column.name.empty() ? "" : column.name + '.';
  const std::vector<int> places = column.places;
  all.push_back(std::move(column));
  for (std::size_t i = 0; i < fields.size(); ++i) {
    NestedColumn field{prefix + fields[i].first, places, fields[i].second};
    field.places.push_back(static_cast<int>(i));
    add_with_fields(all, std::move(field));
  }
}

/// A field of structs, or of structs in lists.
arrow::Result<ArrayPointer> field_of(const arrow::Array& array, int place) {
  const auto of_list = [&](const auto& lists) -> arrow::Result<ArrayPointer> {
    using Lists = std::remove_cvref_t<decltype(lists)>;
    ARROW_ASSIGN_OR_RAISE(auto elements, field_of(*lists.values(), place));
    auto type = with_elements(*lists.type(), elements->type());
    if constexpr (std::is_same_v<Lists, arrow::FixedSizeListArray>) {
      return std::make_shared<Lists>(std::move(type), lists.length(), std::move(elements),
                                     lists.null_bitmap(), arrow::kUnknownNullCount, lists.offset());
    } else {
      return std::make_shared<Lists>(std::move(type), lists.length(), lists.value_offsets(),
                                     std::move(elements), lists.null_bitmap(),
                                     arrow::kUnknownNullCount, lists.offset());
    }
  };
  switch (array.type_id()) {
    case arrow::Type::LIST:
      return of_list(static_cast<const arrow::ListArray&>(array));
    case arrow::Type::LARGE_LIST:
      return of_list(static_cast<const arrow::LargeListArray&>(array));
    case arrow::Type::FIXED_SIZE_LIST:
      return of_list(static_cast<const arrow::FixedSizeListArray&>(array));
    default:
      // A field of a struct that is null is null.
      return static_cast<const arrow::StructArray&>(array).GetFlattenedField(place);
  }
}

/// The type with `change` done to the types of its fields.
template <class Change>
TypePointer with_fields(const TypePointer& type, const Change& change) {
  arrow::FieldVector fields;
  for (const auto& field : type->fields()) fields.push_back(field->WithType(change(field->type())));
  switch (type->id()) {
    case arrow::Type::STRUCT:
      return arrow::struct_(fields);
    case arrow::Type::LIST:
      return arrow::list(fields.front());
    case arrow::Type::LARGE_LIST:
      return arrow::large_list(fields.front());
    case arrow::Type::FIXED_SIZE_LIST:
      return arrow::fixed_size_list(
          fields.front(), static_cast<const arrow::FixedSizeListType&>(*type).list_size());
    case arrow::Type::MAP:
      return std::make_shared<arrow::MapType>(
          fields.front(), static_cast<const arrow::MapType&>(*type).keys_sorted());
    default:
      return type;
  }
}

NestedColumn find_column(const std::string& name, const std::vector<NestedColumn>& all,
                         const std::string& path) {
  std::vector<const NestedColumn*> found;
  std::vector<std::string> names;
  for (const NestedColumn& column : all) {
    if (column.name == name) found.push_back(&column);
    if (!column.name.empty()) names.push_back(column.name);
  }
  if (found.size() == 1) return *found.front();
  if (found.size() > 1) {
    throw InputError(path + ": the column " + name + " is there " + std::to_string(found.size()) +
                     " times, expected once");
  }
  std::string listed;
  for (const std::string& other : names) listed.append(listed.empty() ? "" : ", ").append(other);
  throw InputError(path + ": has no column " + name + "; " +
                   (listed.empty() ? "it has none with a name" : "there are " + shortened(listed)) +
                   nearest_of(name, names));
}

}  // namespace

const arrow::DataType* element_type(const arrow::DataType& type) {
  const bool is_list = type.id() == arrow::Type::LIST || type.id() == arrow::Type::LARGE_LIST ||
                       type.id() == arrow::Type::FIXED_SIZE_LIST;
  return is_list ? type.field(0)->type().get() : nullptr;
}

TypePointer without_dictionaries(const TypePointer& type) {
  if (type->id() == arrow::Type::DICTIONARY) {
    return without_dictionaries(static_cast<const arrow::DictionaryType&>(*type).value_type());
  }
  return with_fields(type, without_dictionaries);
}

FileColumn file_column(std::string name, const arrow::DataType& type) {
  const arrow::DataType* elements = element_type(type);
  return {.name = std::move(name),
          .type = type.ToString(),
          .numbers = number_type_of(elements != nullptr ? *elements : type),
          .is_list = elements != nullptr};
}

std::vector<NestedColumn> nested_columns(const arrow::Schema& schema) {
  std::vector<NestedColumn> all;
  for (int i = 0; i < schema.num_fields(); ++i) {
    add_with_fields(all, {schema.field(i)->name(), {i}, schema.field(i)->type()});
  }
  // The name of a column wins over that of a field: "jet.pt" next to a struct "jet" with a field "pt".
  std::erase_if(all, [&](const NestedColumn& one) {
    return one.places.size() > 1 && !schema.GetAllFieldIndices(one.name).empty();
  });
  return all;
}

std::vector<FileColumn> file_columns(const arrow::Schema& schema) {
  std::vector<FileColumn> columns;
  for (const NestedColumn& column : nested_columns(schema)) {
    if (!column.name.empty()) columns.push_back(file_column(column.name, *column.type));
  }
  return columns;
}

std::vector<NestedColumn> find_columns(const std::vector<std::string>& names,
                                       const arrow::Schema& schema, const std::string& path) {
  const std::vector<NestedColumn> all = nested_columns(schema);
  std::vector<NestedColumn> found(names.size());
  std::ranges::transform(names, found.begin(),
                         [&](const std::string& name) { return find_column(name, all, path); });
  return found;
}

std::shared_ptr<arrow::RecordBatch> select(const arrow::RecordBatch& batch,
                                           const std::vector<NestedColumn>& columns,
                                           const std::string& path) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const NestedColumn& column : columns) {
    ArrayPointer array = batch.column(column.places.front());
    for (const int place : std::span(column.places).subspan(1)) {
      array = require(field_of(*array, place), path, "cannot be read");
    }
    fields.push_back(column.places.size() == 1 ? batch.schema()->field(column.places.front())
                                               : arrow::field(column.name, array->type()));
    arrays.push_back(std::move(array));
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch.num_rows(),
                                  std::move(arrays));
}

}  // namespace tensoa::columnar
