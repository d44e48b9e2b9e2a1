// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "columns.hpp"
#include "loaded_model.hpp"

namespace tensoa::python {

/// An argument or result of a model, as Python sees it.
struct ArgumentInfo {
  std::string name;
  std::string dtype;                               ///< "number" where any will do
  std::vector<std::optional<std::int64_t>> shape;  ///< nothing for rows
  std::vector<std::string> columns;                ///< the names that a call accepts
  std::optional<std::size_t> collection;  ///< inputs and outputs of one have equal numbers of rows
};

/// Bytes that a call copied.
struct Copies {
  std::size_t bytes_in = 0;
  std::size_t bytes_out = 0;
  std::string text;  ///< to_string(CopyReport)
};

/// @param path absolute, or a URL @param service, function, others as service_options() takes them
ModelSource source_of(const std::string& path, nb::dict& service, const std::string& function,
                      std::vector<std::string> others = {});

/// tensoa.Model.
class RuntimeModel {
 public:
  /// @param path absolute, or a URL
  /// @param columns names that the data has, as names_in_data() takes them; with `outputs` columns in words
  /// @param outputs in words, of a file that does not state its columns
  /// @param service of a URL: service_options()
  /// @param digest of the file, which it, or its servers, must have; empty: any
  RuntimeModel(const std::string& path, const std::string& device, std::vector<std::string> columns,
               std::vector<std::string> outputs, nb::dict service, const std::string& digest = {});

  /// A call: `args` and `kwargs` as Python has them, the second may be nullptr.
  /// @param self this object of Python
  nb::object call(nb::handle self, PyObject* args, PyObject* kwargs) const;

  const LoadedModel& loaded() const noexcept { return *loaded_; }
  const std::vector<std::string>& columns() const noexcept { return columns_; }
  const std::vector<std::string>& words_of_outputs() const noexcept { return words_of_outputs_; }
  const nb::dict& service() const noexcept { return service_; }
  std::string device() const;
  std::vector<ArgumentInfo> inputs() const;
  std::vector<ArgumentInfo> outputs() const;
  std::optional<bool> rows_are_independent() const;
  std::optional<Copies> last_copies() const;
  std::string repr() const;

  /// SHA-256 of the file; empty where servers do not state theirs, or may get another.
  /// @throws LoadError where a file is no longer the one that was loaded
  std::string digest() const;

 private:
  struct Given;

  Queue queue_of_call(nb::handle array, PyObject* stream) const;
  bool read_quickly(Given& given, PyObject* dict, Py_ssize_t others, ThreadCall& thread) const;
  bool write_quickly(const Given& given, PyObject* out, ThreadCall& thread) const;
  void read(Given& given, Columns& columns, ThreadCall& thread) const;
  void read_arrays(Given& given, PyObject* args, ThreadCall& thread) const;
  void take_groups(Given& given, nb::handle groups, ThreadCall& thread) const;
  void find_groups(Given& given, ThreadCall& thread) const;
  std::int64_t rows_of_result(const Given& given, const BlockOfPlanes& block,
                              const ThreadCall& thread) const;
  bool gives_one_table() const;
  void write(Given& given, nb::handle out, ThreadCall& thread) const;
  void write_columns(Given& given, Columns& columns, ThreadCall& thread) const;
  nb::object make_results(Given& given, ThreadCall& thread) const;
  nb::object given_back(Given& given, nb::object results) const;
  nb::object in_lists(Given& given, const nb::object& results) const;

  std::string subject() const { return "model " + loaded_->source().path; }
  std::vector<std::string> names_of(const BlockOfPlanes& block, bool is_input) const;
  [[noreturn]] void refuse(const std::string& what) const;

  void take_block(Given& given, const BlockOfPlanes& block, const ArrayView& view,
                  const std::string& name, bool is_input, ThreadCall& thread) const;
  void take_plane(Given& given, const BlockOfPlanes& block, std::size_t plane,
                  const ArrayView& view, const std::string& name, bool is_input,
                  ThreadCall& thread) const;
  ArrayUse use_of(const BlockOfPlanes& block, const std::string& subject, bool is_input, int dims,
                  Given& given) const;
  void require_usable(const ArrayView& view, const std::string& what, const BlockOfPlanes& block,
                      bool is_input) const;
  void set_rows(Given& given, const BlockOfPlanes& block, std::int64_t rows, const ArrayView& view,
                const std::string& what, bool is_input, ThreadCall& thread) const;

  nb::dict service_;
  std::shared_ptr<const LoadedModel> loaded_;
  std::vector<std::string> columns_;
  std::vector<std::string> words_of_outputs_;
  std::vector<std::string> input_names_;  ///< of planes, as the caller's data has them
  std::vector<std::vector<std::string>>
      input_aliases_;  ///< which name each plane, the first is the one above
  std::vector<std::string> output_names_;
  std::vector<nb::object> input_keys_;  ///< interned
  std::vector<nb::object> output_keys_;
  std::vector<const BlockOfPlanes*> input_blocks_;  ///< of each plane
  std::vector<const BlockOfPlanes*> output_blocks_;
  bool can_be_quick_ = true;  ///< no plane is a scalar
};

}  // namespace tensoa::python
