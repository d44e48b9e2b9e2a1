// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/published.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json_fields.hpp"
#include "tensoa/core/printable.hpp"
#include "tensoa/package/sha256.hpp"

namespace tensoa::package {
namespace {

using nlohmann::ordered_json;

/// By NamedColumns.
constexpr std::array<std::string_view, 3> kNames{"any", "inputs", "named"};

constexpr JsonFields kFields("description of a served model");

ordered_json rows_of(const std::vector<ArgumentDescription>& arguments) {
  ordered_json all = ordered_json::array();
  for (const ArgumentDescription& argument : arguments) {
    all.push_back(argument.collection ? ordered_json{{"collection", *argument.collection}}
                                      : ordered_json{{"rows", argument.rows}});
  }
  return all;
}

/// None where the key is missing.
std::optional<std::size_t> number(const ordered_json& object, const char* key) {
  if (!object.contains(key)) return std::nullopt;
  return kFields.number(object[key], key);
}

std::string parse_checksum(const ordered_json& object) {
  std::string checksum = kFields.text(object, "checksum");
  if (!is_checksum(checksum)) kFields.fail("\"checksum\" is not 64 hexadecimal digits");
  return checksum;
}

bool is_printable(const std::string& name) { return printable(name) == name; }

void require_printable(const BlockDescription& block) {
  const bool are = is_printable(block.name) &&
                   std::ranges::all_of(block.columns, is_printable, &ColumnDescription::name);
  if (!are) kFields.fail("a name has control characters");
}

std::vector<ArgumentDescription> parse_arguments(const ordered_json& object, const char* key,
                                                 const std::vector<BlockDescription>& blocks) {
  const ordered_json& rows = kFields.array(object, key);
  if (rows.size() != blocks.size()) {
    kFields.fail(std::string("\"") + key +
                 "\" does not have an entry for each block of the binding");
  }
  std::vector<ArgumentDescription> arguments;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    require_printable(blocks[i]);
    if (!rows[i].is_object())
      kFields.fail(std::string("\"") + key + "\" has an entry that is not an object");
    const std::optional<std::size_t> collection = number(rows[i], "collection");
    const std::optional<std::size_t> fixed = number(rows[i], "rows");
    if (collection.has_value() == fixed.has_value()) {
      kFields.fail("a block of \"" + std::string(key) +
                   "\" has no \"collection\" or \"rows\", or both");
    }
    arguments.push_back(argument_of(blocks[i], collection, fixed.value_or(0)));
  }
  return arguments;
}

/// A client makes memory for what is said here.
void require_collections(const ModelDescription& model) {
  std::set<std::size_t> of_inputs;
  for (const ArgumentDescription& input : model.inputs) {
    if (input.collection && *input.collection >= model.inputs.size()) {
      kFields.fail("a block of \"inputs\" has the collection " + std::to_string(*input.collection) +
                   " of " + std::to_string(model.inputs.size()) + " blocks");
    }
    if (input.collection) of_inputs.insert(*input.collection);
  }
  for (const ArgumentDescription& output : model.outputs) {
    if (output.collection && !of_inputs.contains(*output.collection)) {
      kFields.fail("a block of \"outputs\" has the rows of collection " +
                   std::to_string(*output.collection) + ", which no input has");
    }
  }
}

RowDependence parse_row_dependence(const ordered_json& object) {
  using Answer = RowDependence::Answer;
  const auto found = object.find("row_dependence");
  if (found == object.end()) return {Answer::kUnknown, "the server does not state it"};
  if (!found->is_object()) kFields.fail("\"row_dependence\" is not an object");
  const std::string name = kFields.text(*found, "answer");
  const std::string reason = printable(kFields.text(*found, "reason"));
  for (const Answer answer : {Answer::kUnknown, Answer::kIndependent, Answer::kDependent}) {
    if (name == name_of(answer)) return {answer, reason};
  }
  return {Answer::kUnknown, "the server's answer is of a later version of tensoa"};
}

}  // namespace

std::string to_json(const PublishedModel& published) {
  const ModelDescription& model = published.model;
  return ordered_json{
      {"schema", kPublishedSchema},
      {"checksum", published.checksum},
      {"columns", kNames.at(static_cast<std::size_t>(published.named))},
      {"binding", ordered_json::parse(tensoa::to_json(*model.binding))},
      {"inputs", rows_of(model.inputs)},
      {"outputs", rows_of(model.outputs)},
      {"row_dependence",
       {{"answer", name_of(model.row_dependence.answer)}, {"reason", model.row_dependence.reason}}}}
      .dump();
}

PublishedModel parse_published(std::string_view json) {
  const ordered_json object = kFields.object(json);
  if (number(object, "schema") != kPublishedSchema) {
    kFields.fail(
        "its schema is not " + std::to_string(kPublishedSchema) +
        ", which this version of tensoa reads; use a client and a back-end of one version");
  }
  PublishedModel published;
  published.checksum = parse_checksum(object);
  const std::string columns = kFields.text(object, "columns");
  const auto* const found = std::ranges::find(kNames, columns);
  if (found == kNames.end()) {
    kFields.fail(R"("columns" is none of "named", "inputs" and "any")");
  }
  published.named = static_cast<NamedColumns>(found - kNames.begin());
  ModelDescription& model = published.model;
  model.binding = parse_binding(kFields.member(object, "binding").dump());
  model.match = model.binding->match;
  model.inputs = parse_arguments(object, "inputs", model.binding->inputs);
  model.outputs = parse_arguments(object, "outputs", model.binding->outputs);
  require_collections(model);
  model.row_dependence = parse_row_dependence(object);
  const auto has_rows = [](const ArgumentDescription& one) { return one.collection.has_value(); };
  if (model.row_dependence.are_independent() && !std::ranges::all_of(model.outputs, has_rows)) {
    kFields.fail(
        "its rows are independent, and an output has the same number of rows at every call");
  }
  return published;
}

}  // namespace tensoa::package
