// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "infer_columns.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "tensoa/core/error.hpp"
#include "tensoa/core/nearest_name.hpp"
#include "tensoa/package/described_columns.hpp"

namespace tensoa::tools {
namespace {

using columnar::Conversion;
using columnar::FileColumn;

std::string number_text(double number) {
  constexpr std::size_t kRoom = 32;
  char text[kRoom];
  return {text, std::to_chars(text, text + kRoom, number).ptr};
}

class Matching {
 public:
  Matching(const package::ModelDescription& model, const std::string& model_name,
           const columnar::TableFile& file, const ColumnChoice& choice)
      : model_(model), model_name_("model " + model_name), file_(file), choice_(choice) {
    for (const FileColumn& column : file.columns()) names_.push_back(column.name);
  }

  InferColumns match() {
    match_inputs();
    match_outputs();
    if (!choice_.group.empty()) match_group();
    for (const std::string& name : choice_.copied) {
      const bool is_there = all_.group && name == choice_.group && !all_.copied.empty();
      if (!is_there) all_.copied.push_back(column_called(name, "--copy"));
    }
    require_supported();
    for (const KeepCondition& comparison : choice_.keep) all_.keep.push_back(bound(comparison));
    return std::move(all_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(file_.path().string() + ": " + what);
  }

  const FileColumn* find(const std::string& name) const {
    const auto found = std::ranges::find(file_.columns(), name, &FileColumn::name);
    return found == file_.columns().end() ? nullptr : &*found;
  }

  /// The place of a column among those that are read.
  std::size_t place_of(const std::string& name) {
    std::vector<std::string>& read = all_.read.columns;
    const auto found = std::ranges::find(read, name);
    if (found != read.end()) return static_cast<std::size_t>(found - read.begin());
    read.push_back(name);
    return read.size() - 1;
  }

  std::size_t column_called(const std::string& name, const std::string& option) {
    if (find(name) == nullptr) {
      fail(option + ": has no column " + name + "; there are " + listed(names_) +
           nearest_of(name, names_));
    }
    return place_of(name);
  }

  const FileColumn& source_of(const std::string& block, const std::string& name,
                              const std::map<std::string, std::string>& chosen, DType dtype) const {
    const std::string full_name = block + '.' + name;
    for (const std::string& key : {full_name, name}) {
      const auto choice = chosen.find(key);
      if (choice == chosen.end()) continue;
      if (const FileColumn* column = find(choice->second)) return *column;
      if (choice->second == key) break;
      fail("has no column " + choice->second + ", which --columns names for " + key +
           "; there are " + listed(names_) + nearest_of(choice->second, names_));
    }
    for (const std::string& key : {full_name, name}) {
      if (const FileColumn* column = find(key)) return *column;
    }
    const auto is_number = [](const std::string& text) {
      double ignored = 0;
      return std::from_chars(text.data(), text.data() + text.size(), ignored).ptr ==
             text.data() + text.size();
    };
    fail("has no column " + name + ", which the model reads as " + std::string(name_of(dtype)) +
         "; there are " + listed(names_) +
         (is_text() && std::ranges::all_of(names_, is_number)
              ? "; the first line of a CSV file has the names of its columns: add one"
              : nearest_of(name, names_) + "; --columns FILE_NAME=" + name + " names another"));
  }

  /// Whether a column can be what the model needs, and what has to be done.
  void require_numbers(const FileColumn& column, const std::string& name, DType dtype) {
    const bool rounds = choice_.rules.rounding == columnar::Rounding::kAllowed;
    if (choice_.rules.null_value && !std::isnan(*choice_.rules.null_value) &&
        !columnar::holds(dtype, *choice_.rules.null_value)) {
      throw ConfigError("--null: got " + number_text(*choice_.rules.null_value) + ", the model's " +
                        name + " is " + std::string(name_of(dtype)) +
                        "; expected a number that all its columns hold, nan or skip");
    }
    if (is_text()) {
      // Text of tables without nulls has integers with gaps as "3.0".
      const bool is_floating = column.numbers == columnar::NumberType::kF64 &&
                               dtype != DType::kBool && dtype < DType::kF16;
      all_.read.text_types[column.name] = is_floating ? DType::kF64 : dtype;
      if (!is_floating) return;
    }
    const Conversion how = columnar::conversion(column.numbers, dtype);
    const std::string wanted(name_of(dtype));
    if (how == Conversion::kImpossible) {
      fail("the column " + column.name + " is " + column.type + ", the model's " + name + " is " +
           wanted + "; expected numbers that can become that");
    }
    if (how == Conversion::kRounds && !rounds) {
      fail("the column " + column.name + " is " + column.type + ", the model's " + name + " is " +
           wanted + ", which has fewer digits; --convert rounds");
    }
    if (how == Conversion::kNone) return;
    const bool is_rounded =
        how == Conversion::kRounds ||
        (how == Conversion::kChecked && rounds &&
         (dtype >= DType::kF16 || column.numbers >= columnar::NumberType::kF16));
    all_.conversions.push_back(column.name + ": " + column.type + " to " + wanted +
                               (is_rounded                    ? ", rounded"
                                : how == Conversion::kChecked ? ", each number is checked"
                                                              : ", every number is kept"));
  }

  bool is_text() const {
    const std::string path = file_.path().string();
    return path.ends_with(".csv") || path.ends_with(".csv.gz");
  }

  void match_inputs() {
    const auto chosen = package::names_in_data(model_, choice_.columns, "--columns");
    std::vector<std::string> lists;
    std::vector<std::string> plain;
    for (const auto& input : model_.inputs) {
      const BlockDescription& block = *input.block;
      InputSource source{block, input.collection.value_or(block.collection), {}};
      all_.collections = std::max(all_.collections, source.collection + 1);
      for (const std::string& name : package::plane_names(block)) {
        const FileColumn& column = source_of(block.name, name, chosen, block.element.dtype);
        require_numbers(column, name, block.element.dtype);
        source.columns.push_back(place_of(column.name));
        if (!block.element.is_scalar()) (column.is_list ? lists : plain).push_back(column.name);
        if (block.element.is_scalar() && column.is_list) {
          fail("the column " + column.name + " is " + column.type + ", the model's " + name +
               " is one number for each call; expected a column of numbers");
        }
      }
      all_.inputs.push_back(std::move(source));
    }
    if (!lists.empty() && !plain.empty()) {
      fail("the column " + lists.front() + " has lists and " + plain.front() +
           " has numbers; expected the columns that the model reads to be of one kind");
    }
    if (!lists.empty()) all_.unit = CallUnit::kLists;
  }

  void match_outputs() {
    const std::vector<std::string> names = package::column_names(model_.outputs);
    bool gives_rows = false;
    for (const auto& output : model_.outputs) {
      const BlockDescription& block = *output.block;
      OutputTarget target{block, output.collection, output.rows};
      if (target.collection && *target.collection >= all_.collections) {
        throw ConfigError(model_name_ + ": output " + block.name +
                          " belongs to a collection that no input has; such models are not "
                          "supported by tensoa infer");
      }
      const bool is_list = all_.unit == CallUnit::kLists && (target.collection || target.rows != 1);
      gives_rows = gives_rows || target.collection;
      for (std::size_t i = 0; i < block.columns.size() * block.element.planes(); ++i) {
        all_.written.push_back({names[all_.written.size()], block.element.dtype,
                                is_list ? columnar::Cells::kLists : columnar::Cells::kNumbers});
      }
      all_.outputs.push_back(std::move(target));
    }
    all_.gives_one_row_a_group = all_.unit != CallUnit::kLists && !gives_rows;
  }

  void match_group() {
    const std::size_t place = column_called(choice_.group, "--group");
    const FileColumn& column = *find(choice_.group);
    if (all_.unit == CallUnit::kLists) {
      fail(
          "--group: the columns that the model reads are lists, each row is a group already; "
          "leave --group out");
    }
    const Conversion how = columnar::conversion(column.numbers, DType::kI64);
    if (column.is_list || how == Conversion::kImpossible) {
      fail("--group: the column " + column.name + " is " + column.type + ", expected integers");
    }
    all_.unit = CallUnit::kGroups;
    all_.group = place;
    if (all_.gives_one_row_a_group) all_.copied.push_back(place);
  }

  void require_supported() const {
    if (all_.unit == CallUnit::kLists) return;
    const std::string lists =
        "; expected a file whose columns are lists, with one event in each row";
    if (all_.collections > 1) {
      throw ConfigError(model_name_ + ": reads " + std::to_string(all_.collections) +
                        " collections of rows, " + file_.path().string() + " has one" + lists);
    }
    for (const InputSource& input : all_.inputs) {
      if (input.block.element.is_scalar()) {
        throw ConfigError(model_name_ + ": input " + input.block.name +
                          " is one number for each call" + lists);
      }
    }
    for (const OutputTarget& output : all_.outputs) {
      if (output.collection) {
        continue;
      }
      if (all_.unit == CallUnit::kRows) {
        throw ConfigError(model_name_ + ": output " + output.block.name + " has " +
                          std::to_string(output.rows) +
                          " rows for each call, and not one for each row that it reads; --group "
                          "COLUMN says which rows make a call");
      }
      if (!all_.gives_one_row_a_group || output.rows != 1) {
        throw ConfigError(model_name_ + ": output " + output.block.name + " has " +
                          std::to_string(output.rows) + " rows for each group" +
                          (all_.gives_one_row_a_group ? "" : ", others have one for each row") +
                          lists);
      }
    }
    if (all_.gives_one_row_a_group && all_.copied.size() > 1) {
      throw ConfigError("--copy: the model gives one row for each group; expected no column but " +
                        choice_.group + ", which is written without being requested");
    }
  }

  BoundComparison bound(const KeepCondition& comparison) {
    const auto output =
        std::ranges::find(all_.written, comparison.name, &columnar::WrittenColumn::name);
    if (output != all_.written.end()) {
      if (output->cells == columnar::Cells::kLists) {
        throw ConfigError("--keep: " + comparison.name +
                          " is a list for each row; expected a column of numbers");
      }
      return {comparison, output->dtype, static_cast<std::size_t>(output - all_.written.begin()),
              0};
    }
    const FileColumn* column = find(comparison.name);
    if (column == nullptr || all_.gives_one_row_a_group) {
      std::vector<std::string> there;
      there.reserve(all_.written.size());
      for (const auto& written : all_.written) there.push_back(written.name);
      if (!all_.gives_one_row_a_group) there.insert(there.end(), names_.begin(), names_.end());
      throw ConfigError("--keep: there is no column " + comparison.name + "; there are " +
                        listed(there) + nearest_of(comparison.name, there));
    }
    const auto own = columnar::dtype_of(column->numbers);
    const DType dtype = is_text() ? DType::kF64 : own.value_or(DType::kF64);
    const bool is_impossible =
        !is_text() && columnar::conversion(column->numbers, dtype) == Conversion::kImpossible;
    if (column->is_list || is_impossible) {
      throw ConfigError("--keep: the column " + column->name + " is " + column->type +
                        ", expected numbers");
    }
    const std::size_t place = place_of(column->name);
    const auto known = all_.read.text_types.find(column->name);
    if (!is_text()) return {comparison, dtype, {}, place};
    if (known != all_.read.text_types.end()) return {comparison, known->second, {}, place};
    all_.read.text_types[column->name] = dtype;
    return {comparison, dtype, {}, place};
  }

  const package::ModelDescription& model_;
  std::string model_name_;
  const columnar::TableFile& file_;
  const ColumnChoice& choice_;
  std::vector<std::string> names_;
  InferColumns all_;
};

}  // namespace

InferColumns match_columns(const package::ModelDescription& model, const std::string& model_name,
                           const columnar::TableFile& file, const ColumnChoice& choice) {
  return Matching(model, model_name, file, choice).match();
}

}  // namespace tensoa::tools
