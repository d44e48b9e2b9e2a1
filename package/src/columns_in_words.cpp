// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/columns_in_words.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "dtype_names.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/nearest_name.hpp"

namespace tensoa::package {
namespace {

constexpr const char* kCall = "call";  // the collection that numbers for each call are typed with
constexpr const char* kInput =
    "BLOCK=COLUMN,COLUMN…, as in: features=pt,eta,phi charge=charge:int32 "
    "edge_index.T=from,to:int64@edges";
constexpr const char* kOutput =
    "COLUMN or BLOCK=COLUMN,COLUMN…, as in: score or scores=signal,background";

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

/// A block, and the name of its collection; empty: no name was given.
struct Word {
  BlockDescription block;
  std::string rows;
};

/// Removes the first `mark` of `text` and the text after it. @return the text after the mark; nothing without a mark
std::optional<std::string> cut(std::string& text, char mark) {
  const auto place = text.find(mark);
  if (place == std::string::npos) return {};
  const std::string behind = trimmed(text.substr(place + 1));
  text = trimmed(text.substr(0, place));
  return behind;
}

Word word_of(const std::string& text, bool is_input) {
  std::string name = trimmed(text);
  const bool is_name = !is_input && name.find_first_of("=,:@") == std::string::npos;
  std::optional<std::string> columns = is_name ? std::optional(name) : cut(name, '=');
  const std::optional<std::string> rows = columns ? cut(*columns, '@') : std::nullopt;
  const std::optional<std::string> dtype = columns ? cut(*columns, ':') : std::nullopt;
  const bool is_transposed = name.ends_with(".T");
  if (is_transposed) name = trimmed(name.substr(0, name.size() - 2));
  const auto is_word = [](const std::optional<std::string>& part) {
    return !part || (!part->empty() && std::ranges::all_of(*part, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    }));
  };
  const std::vector<std::string> names = parts_of(columns.value_or(""));
  const bool has_names = std::ranges::all_of(names, [](const std::string& one) {
    return !one.empty() && one.find('=') == std::string::npos;
  });
  const std::string option = is_input ? "columns: " : "outputs: ";
  const bool is_named = !name.empty() && name.find('@') == std::string::npos;
  if (!is_named || !is_word(rows) || !is_word(dtype) || !has_names) {
    throw ConfigError(option + "got '" + text + "', expected " + (is_input ? kInput : kOutput));
  }
  Word word;
  const std::string subject = option + "block " + name;
  word.rows = rows.value_or("");
  BlockDescription& block = word.block;
  block.name = name;
  if (dtype) {
    const std::optional<DType> found = dtype_called(*dtype);
    if (!found) {
      throw ConfigError(subject + " is of '" + *dtype + "', expected one of " +
                        listed(dtype_names()));
    }
    block.dtype = *found;
  }
  if (is_transposed) block.shape = BlockShape::kColumns;
  const bool is_of_call = word.rows == kCall;
  if (is_of_call && (is_transposed || !is_input)) {
    throw ConfigError(option + "got '" + text +
                      "'; @call is one number for each call of an input, as in field=field@call");
  }
  block.element = {is_of_call ? ColumnKind::kScalar : ColumnKind::kPlain, block.dtype, 1, 1};
  const auto refuse = [&](const std::string& column) {
    throw ConfigError(subject + " has the column " + column + " twice, expected each once");
  };
  for (const std::string& column : names) {
    if (std::ranges::find(block.columns, column, &ColumnDescription::name) != block.columns.end()) {
      refuse(column);
    }
    block.columns.push_back({column, static_cast<std::uint32_t>(block.columns.size())});
  }
  return word;
}

}  // namespace

BindingDescription columns_in_words(const std::vector<std::string>& inputs,
                                    const std::vector<std::string>& outputs) {
  BindingDescription binding;
  std::vector<std::string> collections;
  const auto add = [&](std::vector<BlockDescription>& blocks, BlockDescription block) {
    if (std::ranges::find(blocks, block.name, &BlockDescription::name) != blocks.end()) {
      throw ConfigError(std::string(&blocks == &binding.inputs ? "columns" : "outputs") +
                        ": there are two blocks called " + block.name + ", expected other names");
    }
    blocks.push_back(std::move(block));
  };
  for (const std::string& text : inputs) {
    Word word = word_of(text, true);
    if (!word.block.element.is_scalar()) {
      const auto known = std::ranges::find(collections, word.rows);
      word.block.collection = static_cast<std::size_t>(known - collections.begin());
      if (known == collections.end()) collections.push_back(word.rows);
    }
    add(binding.inputs, std::move(word.block));
  }
  if (collections.empty()) {
    throw ConfigError(std::string("columns: ") +
                      (inputs.empty() ? "got none" : "got numbers for each call alone") +
                      ", expected a block with rows: " + kInput);
  }
  if (outputs.empty()) throw ConfigError(std::string("outputs: got none, expected ") + kOutput);
  for (const std::string& text : outputs) {
    Word word = word_of(text, false);
    if (!word.rows.empty()) {
      const auto known = std::ranges::find(collections, word.rows);
      if (known == collections.end()) {
        throw ConfigError("outputs: got '" + text + "', and no input is @" + word.rows);
      }
      word.block.collection = static_cast<std::size_t>(known - collections.begin());
    }
    add(binding.outputs, std::move(word.block));
  }
  return binding;
}

std::string words_for(const ModelDescription& model, const std::string& option) {
  std::string text = option + "columns";
  for (const ArgumentDescription& input : model.inputs) text += ' ' + input.name + "=COLUMN,…";
  text += ' ' + option + "outputs";
  for (std::size_t i = 0; i < std::max<std::size_t>(1, model.outputs.size()); ++i) {
    const bool is_named = i < model.outputs.size() && !model.outputs[i].name.empty();
    text += ' ' + (is_named ? model.outputs[i].name : "output" + std::to_string(i)) + "=COLUMN,…";
  }
  return text;
}

}  // namespace tensoa::package
