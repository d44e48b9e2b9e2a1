// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "columns.hpp"

#include <nanobind/stl/string.h>

#include <utility>

#include "numpy_api.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::python {
namespace {

std::string text_of(nb::handle value) { return nb::cast<std::string>(nb::str(value)); }

class MappingColumns final : public Columns {
 public:
  MappingColumns(nb::object mapping, const std::string& subject) : mapping_(std::move(mapping)) {
    for (nb::handle key : mapping_.attr("keys")()) {
      if (!nb::isinstance<nb::str>(key)) {
        throw BindingError(subject + ": got the key " + text_of(nb::repr(key)) + " of type " +
                           type_of_object(key) + ", expected names of columns");
      }
      names_.push_back(nb::cast<std::string>(key));
    }
  }

  std::optional<ArrayView> find(const std::string& name, const ArrayUse& use,
                                bool wants_number) override {
    const nb::str key(name.c_str(), name.size());
    if (PyMapping_HasKey(mapping_.ptr(), key.ptr()) == 0) return {};
    const nb::object value = mapping_[key];
    if (wants_number) {
      if (auto number = view_of_number(value, use)) return number;
    }
    if (is_instance(value, "pandas", "Series")) return view_of(value.attr("to_numpy")(), use);
    if (!use.is_written && !PyArray_Check(value.ptr()) && is_arrow(value)) {
      return view_of_arrow(value, use);
    }
    return view_of(value, use);
  }

  std::vector<std::string> names() const override { return names_; }
  bool is_exact() const override { return true; }

 private:
  nb::object mapping_;
  std::vector<std::string> names_;
};

/// Of a structured array, or of a table of pandas: column by column.
class ItemColumns final : public Columns {
 public:
  ItemColumns(nb::object table, nb::handle names, bool is_pandas)
      : table_(std::move(table)), is_pandas_(is_pandas) {
    for (nb::handle name : names) {
      // Other labels of pandas cannot be the name of a column of a model.
      if (nb::isinstance<nb::str>(name)) names_.push_back(nb::cast<std::string>(name));
    }
  }

  std::optional<ArrayView> find(const std::string& name, const ArrayUse& use,
                                bool /*wants_number*/) override {
    std::size_t times = 0;
    for (const std::string& other : names_) times += other == name ? 1U : 0U;
    if (times == 0) return {};
    if (times > 1) {
      throw BindingError(use.subject + " is there " + std::to_string(times) +
                         " times, expected once");
    }
    const nb::object column = table_[nb::str(name.c_str(), name.size())];
    // By Arrow, pandas would make a null of each NaN.
    return view_of(is_pandas_ ? column.attr("to_numpy")() : column, use);
  }

  std::vector<std::string> names() const override { return names_; }

 private:
  nb::object table_;
  bool is_pandas_;
  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<Columns> columns_of_mapping(nb::object mapping, const std::string& subject) {
  need_numpy();
  return std::make_unique<MappingColumns>(std::move(mapping), subject);
}

std::unique_ptr<Columns> columns_of_table(nb::object table, const std::string& subject,
                                          TableKind& kind) {
  need_numpy();
  if (nb::isinstance<nb::dict>(table) || PyMapping_Check(table.ptr()) != 0) {
    const nb::object abc = nb::module_::import_("collections.abc").attr("Mapping");
    if (PyObject_IsInstance(table.ptr(), abc.ptr()) == 1) {
      kind = TableKind::kDict;
      return columns_of_mapping(std::move(table), subject);
    }
  }
  if (PyArray_Check(table.ptr())) {
    const nb::object names = table.attr("dtype").attr("names");
    if (names.is_none()) return nullptr;
    kind = TableKind::kStructured;
    return std::make_unique<ItemColumns>(std::move(table), names, false);
  }
  if (is_instance(table, "pandas", "DataFrame")) {
    kind = TableKind::kPandas;
    const nb::object names = table.attr("columns");
    return std::make_unique<ItemColumns>(std::move(table), names, true);
  }
  if (is_instance(table, "awkward", "Array")) {
    kind = TableKind::kAwkward;
    if (nb::len(nb::object(table.attr("fields"))) == 0) return nullptr;
    return columns_of_awkward(std::move(table));
  }
  if (is_arrow(table)) {
    kind = is_instance(table, "polars", "DataFrame") ? TableKind::kPolars
           : is_instance(table, "pyarrow", "Table") || is_instance(table, "pyarrow", "RecordBatch")
               ? TableKind::kPyarrow
               : TableKind::kDict;
    return columns_of_arrow(std::move(table), subject);
  }
  return nullptr;
}

}  // namespace tensoa::python
