// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/describe.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "json_fields.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::pair<BlockShape, std::string_view>, 2> kShapes{{
    {BlockShape::kRows, "rows"},
    {BlockShape::kColumns, "columns"},
}};
constexpr std::array<std::pair<Match, std::string_view>, 3> kMatches{{
    {Match::kAuto, "auto"},
    {Match::kByOrder, "order"},
    {Match::kByName, "name"},
}};

template <class Table, class Value>
std::string_view word_of(const Table& table, Value value) {
  return std::ranges::find(table, value, [](const auto& pair) { return pair.first; })->second;
}

/// Lines of a block's columns are counted from here.
std::uint32_t first_line(const BoundBlock& block) {
  std::uint32_t first = block.columns.front().line;
  for (const BoundColumn& column : block.columns) first = std::min(first, column.line);
  return first;
}

bool is_described(BlockForm form) {
  return form == BlockForm::kInPlace || form == BlockForm::kRepacked;
}

BlockDescription description_of(const BoundBlock& block) {
  if (!is_described(block.form)) {
    throw BindingError(to_string(block) +
                       ": padded rows, masks and segments are made for each call and have no place "
                       "of their own to describe; give the model the columns themselves, or run it "
                       "just in time");
  }
  BlockDescription description{block.name,         block.collection,
                               block.shape,        block.columns.front().info,
                               block.tensor.dtype, {}};
  const std::uint32_t first = first_line(block);
  for (const BoundColumn& column : block.columns) {
    if (column.info.dtype != description.element.dtype ||
        column.info.kind != description.element.kind) {
      throw BindingError(to_string(block) + ": column " + block.columns.front().name + " is " +
                         std::string(name_of(description.element.kind)) + ' ' +
                         std::string(name_of(description.element.dtype)) + ", column " +
                         column.name + " is " + std::string(name_of(column.info.kind)) + ' ' +
                         std::string(name_of(column.info.dtype)) +
                         "; columns that are described together are of one kind and dtype, put the "
                         "others into a block of their own");
    }
    description.columns.push_back({column.name, column.line - first});
  }
  return description;
}

ordered_json json_of(const BlockDescription& block) {
  ordered_json element = ordered_json::array();
  if (block.element.kind == ColumnKind::kVector) element = {block.element.rows};
  if (block.element.kind == ColumnKind::kMatrix) {
    element = {block.element.rows, block.element.columns};
  }
  ordered_json columns = ordered_json::array();
  for (const ColumnDescription& column : block.columns) {
    columns.push_back({{"name", column.name}, {"plane", column.plane}});
  }
  return {{"name", block.name},
          {"collection", block.collection},
          {"shape", word_of(kShapes, block.shape)},
          {"kind", name_of(block.element.kind)},
          {"element", std::move(element)},
          {"column_dtype", name_of(block.element.dtype)},
          {"dtype", name_of(block.dtype)},
          {"columns", std::move(columns)}};
}

// ---- reading

constexpr JsonFields kFields("description of a binding");

template <class Value, class Table>
Value one_of(const ordered_json& object, const char* key, const Table& table) {
  const std::string word = kFields.text(object, key);
  std::string known;
  for (const auto& [value, name] : table) {
    if (name == word) return static_cast<Value>(value);
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  kFields.fail(std::string("\"") + key + "\" is \"" + word + "\"; expected one of " + known);
}

template <class Value, std::size_t kCount>
constexpr auto table_of_names() {
  std::array<std::pair<Value, std::string_view>, kCount> table;
  for (std::size_t i = 0; i < kCount; ++i) {
    table[i] = {static_cast<Value>(i), name_of(static_cast<Value>(i))};
  }
  return table;
}
constexpr auto kDTypes = table_of_names<DType, 10>();
static_assert(kDTypes.back().first == DType::kF64);
constexpr auto kKinds = table_of_names<ColumnKind, 4>();
static_assert(kKinds.back().first == ColumnKind::kScalar);

BlockDescription parse_block(const ordered_json& object) {
  BlockDescription block;
  block.name = kFields.text(object, "name");
  block.collection = kFields.number(kFields.member(object, "collection"), "collection");
  block.shape = one_of<BlockShape>(object, "shape", kShapes);
  const auto kind = one_of<ColumnKind>(object, "kind", kKinds);
  block.element = {kind, one_of<DType>(object, "column_dtype", kDTypes), 1, 1};
  const ordered_json& element = kFields.array(object, "element");
  const std::size_t rank = kind == ColumnKind::kVector ? 1 : kind == ColumnKind::kMatrix ? 2 : 0;
  if (element.size() != rank) {
    kFields.fail("\"element\" of block \"" + block.name + "\" is " + element.dump() +
                 "; expected " + std::to_string(rank) + " numbers for a " +
                 std::string(name_of(kind)) + " column");
  }
  if (rank > 0) block.element.rows = kFields.number(element[0], "element");
  if (rank > 1) block.element.columns = kFields.number(element[1], "element");
  constexpr std::uint64_t kMostNumbers = 1U << 16U;  // places are counted one by one
  const std::uint64_t numbers = std::uint64_t{block.element.rows} * block.element.columns;
  if (numbers < 1 || numbers > kMostNumbers) {
    kFields.fail("\"element\" of block \"" + block.name + "\" is " + element.dump() +
                 "; expected 1 to " + std::to_string(kMostNumbers) + " numbers in an element");
  }
  block.dtype = one_of<DType>(object, "dtype", kDTypes);
  for (const ordered_json& column : kFields.array(object, "columns")) {
    block.columns.push_back(
        {kFields.text(column, "name"), kFields.number(kFields.member(column, "plane"), "plane")});
  }
  if (block.columns.empty()) kFields.fail("block \"" + block.name + "\" has no columns");
  return block;
}

std::vector<BlockDescription> parse_blocks(const ordered_json& object, const char* key) {
  std::vector<BlockDescription> blocks;
  std::set<std::string> names;
  for (const ordered_json& block : kFields.array(object, key)) {
    blocks.push_back(parse_block(block));
    if (!names.insert(blocks.back().name).second) {
      kFields.fail("two blocks are called \"" + blocks.back().name + '"');
    }
  }
  return blocks;
}

// ---- comparing

std::string list_of(std::span<const std::int64_t> numbers) {
  std::string text;
  for (const std::int64_t number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return '[' + text + ']';
}

std::string differs(const std::string& what, std::string_view expected, std::string_view got) {
  return what + " is " + std::string(got) + ", expected " + std::string(expected);
}

/// What a tensor over `columns` columns of `rows` rows is not, though tensors over columns are: of
/// the dtype of the columns, of the described sizes, with the rows of a plane side by side (of scalars: all rows one element).
/// Tensors of the caller's own making can be anything.
std::string difference_of_tensor(const BlockDescription& described, const TensorView& tensor,
                                 bool is_one_column, std::int64_t rows) {
  const FieldInfo& element = described.element;
  TensorView expected;
  const auto add = [&](std::size_t size) {
    expected.size_of_dim[expected.rank++] = static_cast<std::int64_t>(size);
  };
  const bool has_columns =
      !is_one_column && (!element.has_planes() || described.columns.size() > 1);
  const bool is_rows = is_one_column || described.shape == BlockShape::kRows;
  if (!is_rows) add(described.columns.size());
  const std::size_t row_dimension = expected.rank;
  add(static_cast<std::size_t>(rows));
  if (is_rows && has_columns) add(described.columns.size());
  const std::size_t plane_dimension = expected.rank;
  if (element.has_planes()) add(element.rows);
  if (element.kind == ColumnKind::kMatrix) add(element.columns);

  if (tensor.dtype != element.dtype) {
    return differs("its dtype", name_of(element.dtype), name_of(tensor.dtype));
  }
  if (!std::ranges::equal(tensor.sizes(), expected.sizes())) {
    return differs("its shape", list_of(expected.sizes()), list_of(tensor.sizes()));
  }
  if (rows > 1) {
    const std::int64_t wanted = element.kind == ColumnKind::kScalar ? 0 : 1;
    const std::int64_t stride = tensor.stride_of_dim[row_dimension];
    if (stride != wanted) {
      return differs("its stride from one row to the next", std::to_string(wanted),
                     std::to_string(stride));
    }
  }
  if (element.kind == ColumnKind::kMatrix && element.columns > 1) {
    const std::int64_t wanted =
        tensor.stride_of_dim[plane_dimension] * static_cast<std::int64_t>(element.rows);
    const std::int64_t stride = tensor.stride_of_dim[plane_dimension + 1];
    if (stride != wanted) {
      return differs("its stride from one column of a matrix to the next", std::to_string(wanted),
                     std::to_string(stride));
    }
  }
  return {};
}

}  // namespace

BindingDescription description_of(const Binding& binding) {
  BindingDescription description{binding.match, {}, {}};
  for (const BoundBlock& block : binding.inputs) {
    description.inputs.push_back(description_of(block));
  }
  for (const BoundBlock& block : binding.outputs) {
    description.outputs.push_back(description_of(block));
  }
  return description;
}

std::string difference_of_columns(const BlockDescription& described,
                                  std::span<const BoundColumn> columns) {
  if (columns.size() != described.columns.size()) {
    return differs("the number of columns", std::to_string(described.columns.size()),
                   std::to_string(columns.size()));
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const BoundColumn& column = columns[i];
    const ColumnDescription& expected = described.columns[i];
    if (column.name != expected.name) {
      return differs("column " + std::to_string(i), expected.name, column.name);
    }
    const FieldInfo& info = column.info;
    if (info.kind != described.element.kind) {
      return differs("the kind of column " + column.name, name_of(described.element.kind),
                     name_of(info.kind));
    }
    if (info.rows != described.element.rows || info.columns != described.element.columns) {
      return differs("an element of column " + column.name,
                     std::to_string(described.element.rows) + " x " +
                         std::to_string(described.element.columns),
                     std::to_string(info.rows) + " x " + std::to_string(info.columns));
    }
  }
  return {};
}

std::string difference(const BlockDescription& described, const BoundBlock& block) {
  if (!is_described(block.form)) {
    return "it is a copy that is made for each call (padded rows, a mask or segments), expected "
           "columns in place";
  }
  if (block.shape != described.shape) {
    return differs("the shape", word_of(kShapes, described.shape), word_of(kShapes, block.shape));
  }
  std::string of_columns = difference_of_columns(described, block.columns);
  if (!of_columns.empty()) return of_columns;
  const std::uint32_t first = first_line(block);
  for (std::size_t i = 0; i < block.columns.size(); ++i) {
    const BoundColumn& column = block.columns[i];
    const std::uint32_t expected = described.columns[i].plane;
    if (column.info.dtype != described.element.dtype) {
      return differs("the dtype of column " + column.name, name_of(described.element.dtype),
                     name_of(column.info.dtype));
    }
    if (column.line - first != expected) {
      return differs("the place of column " + column.name + " among the planes of the block",
                     std::to_string(expected), std::to_string(column.line - first));
    }
  }
  if (block.tensor.dtype != described.dtype) {
    return differs("the dtype", name_of(described.dtype), name_of(block.tensor.dtype));
  }
  const std::int64_t rows = block.tensor.size_of_dim[block.row_dimension()];
  if (block.form == BlockForm::kInPlace) {
    return difference_of_tensor(described, block.tensor, /*is_one_column=*/false, rows);
  }
  for (std::size_t i = 0; i < block.columns.size(); ++i) {
    const TensorView& source = block.sources[i];
    std::string text = difference_of_tensor(described, source, /*is_one_column=*/true, rows);
    if (!text.empty()) return "of column " + block.columns[i].name + ' ' + text;
    const auto earlier =
        std::ranges::find(described.columns, described.columns[i].plane, &ColumnDescription::plane);
    const auto same = static_cast<std::size_t>(earlier - described.columns.begin());
    if (source.data != block.sources[same].data ||
        source.stride_of_dim != block.sources[same].stride_of_dim) {
      return "column " + block.columns[i].name + " lies at two places, expected one";
    }
  }
  return {};
}

std::string to_json(const BindingDescription& description) {
  ordered_json inputs = ordered_json::array();
  for (const BlockDescription& block : description.inputs) inputs.push_back(json_of(block));
  ordered_json outputs = ordered_json::array();
  for (const BlockDescription& block : description.outputs) outputs.push_back(json_of(block));
  return ordered_json{{"schema", kBindingSchema},
                      {"match", word_of(kMatches, description.match)},
                      {"inputs", std::move(inputs)},
                      {"outputs", std::move(outputs)}}
             .dump(2) +
         '\n';
}

std::string_view name_of(Match match) noexcept { return word_of(kMatches, match); }

BindingDescription parse_binding(std::string_view json) {
  const ordered_json object = kFields.object(json);
  const std::uint32_t schema = kFields.number(kFields.member(object, "schema"), "schema");
  if (schema != kBindingSchema) {
    kFields.fail("its schema is " + std::to_string(schema) + ", this version of tensoa reads " +
                 std::to_string(kBindingSchema) + "; write it again with this version");
  }
  return {one_of<Match>(object, "match", kMatches), parse_blocks(object, "inputs"),
          parse_blocks(object, "outputs")};
}

}  // namespace tensoa
