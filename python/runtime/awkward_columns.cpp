// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "tensoa/core/error.hpp"

// Arrays of Awkward Array, which python/tensoa/lists.py takes apart.

namespace tensoa::python {
namespace {

nb::module_ lists() { return nb::module_::import_("tensoa.lists"); }

ArrayView view_of_path(nb::handle array, nb::handle path, const ArrayUse& use) {
  const std::string dtype(use.dtype == DType::kBF16 ? "float32" : name_of(use.dtype));
  const nb::tuple found =
      nb::cast<nb::tuple>(lists().attr("column")(array, path, dtype, use.dims, use.subject));
  ArrayView view = view_of(found[0], {use.subject, use.dtype, false, true});
  require_dtype(view.dtype, array, use);
  view.read_only = true;
  view.awkward = nb::borrow(array);
  view.copied += nb::cast<std::size_t>(found[2]);
  for (nb::handle level : nb::borrow<nb::list>(found[1])) {
    view.lists.push_back(offsets_of(level, use.subject + ": the offsets of its lists", false));
  }
  return view;
}

class AwkwardColumns final : public Columns {
 public:
  explicit AwkwardColumns(nb::object array)
      : array_(std::move(array)), paths_(nb::cast<nb::dict>(lists().attr("paths")(array_))) {}

  std::optional<ArrayView> find(const std::string& name, const ArrayUse& use,
                                bool /*wants_number*/) override {
    const nb::str key(name.c_str(), name.size());
    if (!paths_.contains(key)) return {};
    const nb::list paths = nb::cast<nb::list>(paths_[key]);
    if (nb::len(paths) > 1) {
      throw BindingError(use.subject + " is there " + std::to_string(nb::len(paths)) +
                         " times, expected once");
    }
    return view_of_path(array_, paths[0], use);
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (nb::handle name : paths_.keys()) names.push_back(nb::cast<std::string>(name));
    return names;
  }

 private:
  nb::object array_;
  nb::dict paths_;
};

}  // namespace

std::unique_ptr<Columns> columns_of_awkward(nb::object array) {
  return std::make_unique<AwkwardColumns>(std::move(array));
}

ArrayView view_of_awkward(nb::handle array, const ArrayUse& use) {
  return view_of_path(array, nb::make_tuple(), use);
}

}  // namespace tensoa::python
