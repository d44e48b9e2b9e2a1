// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "row_dependence/rules.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "row_operators.hpp"

namespace tensoa::pytorch::rows {
namespace {

using WithRows = Call::WithRows;
using States = std::vector<State>;
using Rule = States (*)(const Call& call, const WithRows& rows);

/// From here on an end is that of all, in TorchScript and torch.export.
constexpr std::int64_t kEnd = std::int64_t{1} << 62;

const nlohmann::json& operators() {
  static const nlohmann::json kAll = nlohmann::json::parse(kRowOperators);
  return kAll;
}

bool is_listed(const char* kind, const std::string& name) {
  const nlohmann::json& names = operators().at(kind);
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::int64_t product(at::IntArrayRef sizes) {
  std::int64_t found = 1;
  for (const std::int64_t size : sizes) found *= size;
  return found;
}

std::int64_t wrapped(std::int64_t dim, std::int64_t rank) {
  return dim < 0 ? dim + std::max<std::int64_t>(rank, 1) : dim;
}

/// Whether a number is made of one of rows.
bool has_rows(std::int64_t size) {
  return size != 0 &&
         std::ranges::any_of(kPrimes, [&](std::int64_t prime) { return size % prime == 0; });
}

/// Whether it holds the number of any row.
bool is_whole(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kInt || tensor.scalar_type() == at::kLong;
}

bool is_of_count(const State& state) {
  const Rows* rows = std::get_if<Rows>(&state);
  return std::holds_alternative<Count>(state) || (rows != nullptr && rows->is_number);
}

/// The one dimension of a result that has rows.
/// @throws Mixes where none has, several have, or rows of another collection are in one
std::int64_t dim_of_rows(const at::Tensor& result, const Rows& rows) {
  std::vector<std::int64_t> dims;
  for (std::int64_t dim = 0; dim < result.dim(); ++dim) {
    if (has_rows(result.size(dim))) dims.push_back(dim);
  }
  const std::int64_t prime = kPrimes[rows.collection];
  if (dims.size() != 1 || result.size(dims[0]) % prime != 0 ||
      has_rows(result.size(dims[0]) / prime)) {
    throw Mixes("into other rows");
  }
  return dims[0];
}

/// The rows in a result in which they lie one after another as before.
/// @throws Mixes where they are in none of its dimensions, or in several
Rows found_in(const at::Tensor& result, Rows rows) {
  rows.dim = dim_of_rows(result, rows);
  if (result.size(rows.dim) != rows.size()) throw Mixes("into other rows");
  return rows;
}

/// Results without elements, as batch_norm has them, have no rows.
States all_found(const Call& call, const Rows& rows) {
  States states;
  for (const at::Tensor& result : call.results()) {
    states.push_back(result.numel() == 0 ? State() : State(found_in(result, rows)));
  }
  return states;
}

State without_rows(const Call& call, const at::Tensor& result, bool has_count) {
  if (is_listed("keeps_numbers", call.name()) && is_whole(result)) {
    for (const at::Tensor& tensor : call.tensors()) {
      const State state = call.state(tensor);
      if (const Rows* rows = std::get_if<Rows>(&state)) return found_in(result, *rows);
    }
  }
  if (has_count) return Count{};
  std::optional<Rows> found;
  std::size_t places = 0;
  for (std::size_t collection = 0; collection < kPrimes.size(); ++collection) {
    for (std::int64_t dim = 0; dim < result.dim(); ++dim) {
      const std::int64_t size = result.size(dim);
      if (size == 0 || size % kPrimes[collection] != 0) continue;
      if (++places == 1) found = Rows{collection, dim, 1, size / kPrimes[collection]};
    }
  }
  if (!found) return {};
  const auto number_of = [&](const char* name, std::int64_t otherwise) {
    const c10::IValue* value = call.argument(name);
    if (value == nullptr) return otherwise;
    return value->isInt() ? value->toInt() : std::int64_t{-1};
  };
  if (call.name() == "arange" && found->inner == 1 && number_of("start", 0) == 0 &&
      number_of("step", 1) == 1 && is_whole(result)) {
    found->is_number = true;
    return *found;
  }
  if (!is_listed("filled", call.name()) || places > 1 || has_rows(found->inner)) return Count{};
  return *found;
}

/// A tensor that is written may share its memory with others, whose states stay as they are.
/// @param has_any it is called with rows, or with their number
/// @throws Unknown where one of those states might be wrong then
void check_written(const Call& call, bool has_any) {
  for (const at::Tensor& tensor : call.written()) {
    const State state = call.state(tensor);
    if (is_of_count(state)) throw Unknown("writes into numbers that are made of that of the rows");
    const Rows* rows = std::get_if<Rows>(&state);
    if (rows != nullptr && tensor.stride(rows->dim) == 0) {
      throw Unknown("writes into memory that all rows share");
    }
    const bool is_given_back = std::ranges::any_of(
        call.results(), [&](const at::Tensor& result) { return result.is_same(tensor); });
    if (rows == nullptr && has_any && !is_given_back) {
      throw Unknown("writes other rows into a tensor");
    }
  }
}

// ---- rules: each gets the call and the tensors in it that have rows, one at least

bool are_along(const Rows& a, std::int64_t rank, const Rows& b, std::int64_t other_rank) {
  return a.collection == b.collection && a.outer == b.outer && a.inner == b.inner &&
         a.is_number == b.is_number && a.dim - rank == b.dim - other_rank;
}

/// The rows of tensors that broadcast.
Rows alike(const WithRows& rows) {
  for (const auto& [tensor, own] : rows) {
    if (!are_along(rows[0].second, rows[0].first.dim(), own, tensor.dim())) {
      throw Mixes("of rows with others");
    }
  }
  return rows[0].second;
}

States elementwise(const Call& call, const WithRows& rows) { return all_found(call, alike(rows)); }

States moved(const Call& call, const WithRows& rows) { return all_found(call, rows[0].second); }

/// By where the rows lie among all elements in order: (before, row, after).
States reshaped(const Call& call, const WithRows& rows) {
  const auto& [tensor, state] = rows[0];
  const at::Tensor& result = call.results()[0];
  const std::int64_t before =
      product(tensor.sizes().slice(0, static_cast<std::size_t>(state.dim))) * state.outer;
  const std::int64_t after =
      product(tensor.sizes().slice(static_cast<std::size_t>(state.dim + 1))) * state.inner;
  const std::int64_t dim = dim_of_rows(result, state);
  const std::int64_t leading = product(result.sizes().slice(0, static_cast<std::size_t>(dim)));
  const std::int64_t trailing = product(result.sizes().slice(static_cast<std::size_t>(dim + 1)));
  const Rows found{state.collection, dim, before / leading, after / trailing};
  if (before % leading != 0 || after % trailing != 0 || result.size(dim) != found.size()) {
    throw Mixes("into other rows");
  }
  return {found};
}

/// Whether an operator works along dimension `dim`: those that it names, or all where it names none.
bool works_along(const Call& call, std::int64_t dim, std::int64_t rank) {
  for (const char* name : {"dim", "dims", "dimension", "dim_IntList"}) {
    const c10::IValue* value = call.argument(name);
    if (value == nullptr) continue;
    if (value->isInt()) return wrapped(value->toInt(), rank) == dim;
    if (!value->isIntList()) return true;
    const auto dims = value->toIntVector();
    return dims.empty() ||
           std::ranges::any_of(dims, [&](std::int64_t one) { return wrapped(one, rank) == dim; });
  }
  return true;
}

States along(const Call& call, const WithRows& rows) {
  const Rows state = alike(rows);
  for (const auto& [tensor, own] : rows) {
    if (works_along(call, own.dim, tensor.dim())) throw Mixes("along the rows");
  }
  return all_found(call, state);
}

States squeeze(const Call& call, const WithRows& rows) {
  const auto& [tensor, state] = rows[0];
  if (works_along(call, state.dim, tensor.dim()) && tensor.numel() != state.size()) {
    throw Unknown("which takes off the dimension of the rows where there is one");
  }
  return all_found(call, state);
}

/// Operators that take the last dimensions together.
States inside(const Call& call, const WithRows& rows) {
  const Rows state = alike(rows);
  const auto count = operators().at("inside").at(call.name()).get<std::int64_t>();
  for (const auto& [tensor, own] : rows) {
    if (own.dim >= tensor.dim() - count) throw Mixes("along the rows");
  }
  return all_found(call, state);
}

States first_dimension(const Call& call, const WithRows& rows) {
  const Rows state = rows[0].second;
  for (const auto& [tensor, own] : rows) {
    if (own != state || own.dim != 0) throw Mixes("along the rows");
  }
  if (call.name().ends_with("convolution") && rows.size() > 1) throw Mixes("of rows with others");
  return all_found(call, state);
}

/// Sums of products over the dimension k: the others are in the result.
States products(const Call& call, const WithRows& rows) {
  const nlohmann::json& specs = operators().at("products").at(call.name());
  std::optional<std::pair<std::string, Rows>> first;
  for (std::size_t i = 0; i < std::min(call.tensors().size(), specs.size()); ++i) {
    const at::Tensor& tensor = call.tensors()[i];
    const State state = call.state(tensor);
    const Rows* own = std::get_if<Rows>(&state);
    if (own == nullptr) continue;
    std::string spec = specs[i].get<std::string>();
    if (spec.starts_with('*')) spec.erase(0, 1);
    const std::int64_t place = own->dim - tensor.dim() + static_cast<std::int64_t>(spec.size());
    const std::string label =
        place >= 0 ? spec.substr(static_cast<std::size_t>(place), 1) : std::to_string(place);
    if (label == "k") throw Mixes("along the rows");
    Rows without_dim = *own;
    without_dim.dim = 0;
    if (!first) first = {label, without_dim};
    if (*first != std::pair(label, without_dim)) throw Mixes("of rows with others");
  }
  return all_found(call, rows[0].second);
}

/// Of an LSTM's layer as CPUs have it: the last result is memory for gradients.
States recurrent(const Call& call, const WithRows& rows) {
  std::vector<at::Tensor> results = call.results();
  results.pop_back();
  States states = products(call.with_results(std::move(results)), rows);
  states.emplace_back(Count{});
  return states;
}

States select(const Call& call, const WithRows& rows) {
  const auto& [tensor, state] = rows[0];
  if (wrapped(call.integer("dim", 0), tensor.dim()) == state.dim) throw Mixes("of one row");
  return all_found(call, state);
}

States slice(const Call& call, const WithRows& rows) {
  const auto& [tensor, state] = rows[0];
  const std::int64_t end = call.integer("end", kEnd);
  if (wrapped(call.integer("dim", 0), tensor.dim()) == state.dim) {
    const bool is_to_end = end >= kEnd || end == state.size();
    if (!is_to_end || call.integer("start", 0) != 0 || call.integer("step", 1) != 1) {
      throw Mixes("of some rows");
    }
  } else if (end < kEnd && has_rows(end)) {
    throw Mixes("with the number of rows of the call");
  }
  return all_found(call, state);
}

States diagonal(const Call& call, const WithRows& rows) {
  const auto& [tensor, state] = rows[0];
  if (state.dim == wrapped(call.integer("dim1", 0), tensor.dim()) ||
      state.dim == wrapped(call.integer("dim2", 1), tensor.dim())) {
    throw Mixes("along the rows");
  }
  return all_found(call, state);
}

/// select_scatter, slice_scatter: `src` is written into a part of self.
States written_part(const Call& call, const WithRows& /*rows*/) {
  const auto own = call.rows_of("self");
  auto src = call.rows_of("src");
  const std::int64_t dim = own ? wrapped(call.integer("dim", 0), call.tensor("self").dim()) : 0;
  if (!own || own->dim == dim) throw Mixes("of some rows");
  const std::int64_t end = call.integer("end", kEnd);
  if (end < kEnd && has_rows(end)) throw Mixes("with the number of rows of the call");
  if (src && call.name() == "select_scatter" && dim < own->dim) ++src->dim;
  if (src && *src != *own) throw Mixes("of rows with others");
  return all_found(call, *own);
}

/// Of tensors that all have the same rows: one without them would need the same number of elements there.
States cat(const Call& call, const WithRows& rows) {
  const Rows state = alike(rows);
  for (const at::Tensor& tensor : call.tensors()) {
    if (tensor.numel() != 0 && !std::holds_alternative<Rows>(call.state(tensor))) {
      throw Mixes("of rows with others");
    }
  }
  if (call.name() == "cat" && wrapped(call.integer("dim", 0), rows[0].first.dim()) == state.dim) {
    throw Mixes("along the rows");
  }
  return all_found(call, state);
}

States pad(const Call& call, const WithRows& rows) {
  const auto& [tensor, state] = rows[0];
  const auto sizes = call.argument("pad")->toIntVector();
  const auto place = static_cast<std::size_t>(
      2 * (tensor.dim() - 1 - state.dim));  // the last dimension comes first
  for (std::size_t i = place; i < std::min(place + 2, sizes.size()); ++i) {
    if (sizes[i] != 0) throw Mixes("along the rows");
  }
  return all_found(call, state);
}

States repeat(const Call& call, const WithRows& rows) {
  const auto& [tensor, state] = rows[0];
  const at::Tensor& result = call.results()[0];
  const std::int64_t dim = state.dim + result.dim() - tensor.dim();
  Rows repeated = state;
  repeated.outer *= call.argument("repeats")->toIntVector()[static_cast<std::size_t>(dim)];
  return {found_in(result, repeated)};
}

States layer_norm(const Call& call, const WithRows& rows) {
  const auto& [tensor, state] = rows[0];
  if (rows.size() > 1) throw Mixes("of rows with others");
  const auto sizes = call.argument("normalized_shape")->toIntVector();
  if (state.dim >= tensor.dim() - static_cast<std::int64_t>(sizes.size())) {
    throw Mixes("along the rows");
  }
  return all_found(call, state);
}

States group_norm(const Call& call, const WithRows& rows) {
  if (rows.size() > 1 || rows[0].second.dim != 0) throw Mixes("along the rows");
  return all_found(call, rows[0].second);
}

/// In training, statistics of each channel (dimension 1) over all else; those of instance_norm have rows in them.
States batch_norm(const Call& call, const WithRows& rows) {
  const auto state = call.rows_of("input");
  if (!state) throw Unknown("with weights of rows");
  const c10::IValue* training = call.argument("training");
  const bool is_training = training == nullptr ? !call.name().ends_with("no_training") &&
                                                     !call.name().ends_with("no_update")
                                               : training->toBool();
  if (is_training && state->dim != 1) throw Mixes("in training, along the rows");
  Rows of_weights = *state;
  of_weights.dim = 0;
  for (const auto& [tensor, own] : rows) {
    if (tensor.is_same(call.tensor("input"))) continue;
    if (state->dim != 1 || own != of_weights) throw Mixes("of rows with others");
  }
  if (is_training) return all_found(call, *state);
  States states(call.results().size());  // the statistics that it gives back are the weights'
  states[0] = found_in(call.results()[0], *state);
  return states;
}

States embedding(const Call& call, const WithRows& rows) {
  if (call.rows_of("weight")) throw Mixes("of other rows");
  return all_found(call, rows[0].second);
}

/// Only the first tensor has rows; the other one is looked at for each element.
States tables(const Call& call, const WithRows& rows) {
  if (rows.size() > 1 || !rows[0].first.is_same(call.tensors()[0])) throw Mixes("of other rows");
  return all_found(call, rows[0].second);
}

States searchsorted(const Call& call, const WithRows& rows) {
  const auto table = call.rows_of("sorted_sequence");
  if (table &&
      (table != call.rows_of("self") || table->dim == call.tensor("sorted_sequence").dim() - 1)) {
    throw Mixes("of other rows");
  }
  if (call.tensor("sorter").defined() && call.rows_of("sorter") != table) {
    throw Mixes("of other rows");
  }
  return all_found(call, rows[0].second);
}

/// gather, scatter and their kin: index and values have the dimensions of self.
States gather(const Call& call, const WithRows& rows) {
  const auto own = call.rows_of("self");
  const auto index = call.rows_of("index");
  const std::int64_t dim = wrapped(call.integer("dim", 0), call.tensor("self").dim());
  if (!own && call.name() == "gather" && index && index->dim == dim) {
    return all_found(call, *index);  // elements of a table
  }
  if (!own || index != own || own->dim == dim) throw Mixes("by an index of other rows");
  for (const auto& [tensor, state] : rows) {
    if (state != *own) throw Mixes("of rows with others");
  }
  return all_found(call, *own);
}

States index_select(const Call& call, const WithRows& rows) {
  const auto own = call.rows_of("self");
  const auto index = call.rows_of("index");
  const std::int64_t dim = wrapped(call.integer("dim", 0), call.tensor("self").dim());
  if (own && !index && own->dim != dim) {
    return elementwise(call, rows);  // index_add and its kin have a source of the same dimensions
  }
  if (!own && index && call.name() == "index_select") return all_found(call, *index);
  throw Mixes("by an index of other rows");
}

/// self[indices], and what is written there.
States index(const Call& call, const WithRows& /*rows*/) {
  struct Index {
    std::int64_t dim;
    at::Tensor tensor;
    State state;
  };
  for (const char* name : {"self", "values"}) {
    const at::Tensor one = call.tensor(name);
    if (one.defined() && is_of_count(call.state(one))) {
      throw Mixes("with the number of rows of the call");
    }
  }
  const auto own = call.rows_of("self");
  std::vector<Index> indices;
  WithRows with_rows;
  bool has_mask = false;
  std::int64_t rank = 0;
  const c10::List<c10::IValue> given = call.argument("indices")->toList();
  for (std::size_t dim = 0; dim < given.size(); ++dim) {
    const c10::IValue& value = given.get(dim);
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    const at::Tensor& tensor = value.toTensor();
    const State state = call.state(tensor);
    if (std::holds_alternative<Count>(state)) throw Mixes("with the number of rows of the call");
    if (const Rows* rows = std::get_if<Rows>(&state)) with_rows.emplace_back(tensor, *rows);
    has_mask = has_mask || tensor.scalar_type() == at::kBool || tensor.scalar_type() == at::kByte;
    rank = std::max(rank, tensor.dim());
    indices.push_back({static_cast<std::int64_t>(dim), tensor, state});
  }
  const bool is_read = call.name() != "index_put";
  const at::Tensor values = is_read ? at::Tensor() : call.tensor("values");
  const bool is_one_value = values.defined() && values.numel() == 1 &&
                            std::holds_alternative<std::monostate>(call.state(values));
  if (is_one_value && own && indices.size() == 1 && with_rows.size() == 1 &&
      indices[0].tensor.scalar_type() == at::kBool) {
    Rows of_mask = with_rows[0].second;
    of_mask.dim += indices[0].dim;
    if (of_mask == *own) return {*own};
  }
  if (has_mask) throw Mixes("of rows that a mask chooses");
  const auto at_rows =
      std::ranges::find_if(indices, [&](const Index& one) { return own && one.dim == own->dim; });
  if (at_rows != indices.end()) {
    const Rows* numbers = std::get_if<Rows>(&at_rows->state);
    Rows expected = *own;
    expected.is_number = true;
    expected.dim = numbers == nullptr ? 0 : numbers->dim;
    if (numbers == nullptr || *numbers != expected) throw Mixes("by an index of other rows");
    for (const Index& one : indices) {
      const Rows* other = std::get_if<Rows>(&one.state);
      if (other != nullptr && other->is_number && one.dim != own->dim) {
        throw Mixes("with the number of rows of the call");
      }
    }
    for (auto& [tensor, state] : with_rows) state.is_number = false;
    const Rows state = alike(with_rows);
    if (is_read) return all_found(call, state);
    const State of_values = values.defined() ? call.state(values) : State();
    const Rows* own_values = std::get_if<Rows>(&of_values);
    const bool is_of_all = own_values != nullptr &&
                           static_cast<std::int64_t>(indices.size()) == call.tensor("self").dim() &&
                           are_along(state, rank, *own_values, values.dim());
    if (!is_one_value && !is_of_all) throw Mixes("of rows with others");
    return {*own};
  }
  for (const auto& [tensor, state] : with_rows) {
    if (state.is_number) throw Mixes("with the number of rows of the call");
  }
  if (!own && !with_rows.empty() && is_read) return all_found(call, alike(with_rows));
  if (own && with_rows.empty() && is_read) return all_found(call, *own);
  if (own && with_rows.empty() && is_one_value) return {*own};
  throw Mixes("by an index of other rows");
}

States mixing(const Call& /*call*/, const WithRows& /*rows*/) { throw Mixes("of all rows"); }

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> kRules = [] {
    std::map<std::string, Rule> all;
    const auto add_listed = [&](const char* kind, Rule rule) {
      for (const auto& [key, value] : operators().at(kind).items()) {
        all[value.is_string() ? value.get<std::string>() : key] = rule;
      }
    };
    const auto add = [&](std::initializer_list<const char*> names, Rule rule) {
      for (const char* name : names) all[name] = rule;
    };
    add_listed("elementwise", elementwise);
    add_listed("moved", moved);
    add_listed("reshaped", reshaped);
    add_listed("along", along);
    add_listed("inside", inside);
    add_listed("first_dimension", first_dimension);
    add_listed("products", products);
    add_listed("tables", tables);
    add_listed("mixing", mixing);
    add({"scatter", "scatter_add", "scatter_reduce", "gather"}, gather);
    add({"index_select", "index_add", "index_copy", "index_fill"}, index_select);
    add({"index", "index_put", "_unsafe_index"}, index);
    add({"select_scatter", "slice_scatter"}, written_part);
    add({"native_layer_norm", "layer_norm", "rms_norm", "_fused_rms_norm"}, layer_norm);
    add({"native_group_norm", "group_norm"}, group_norm);
    add({"native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training",
         "_batch_norm_no_update", "_batch_norm_with_update"},
        batch_norm);
    add({"cat", "stack"}, cat);
    add({"mkldnn_rnn_layer"}, recurrent);
    add({"constant_pad_nd"}, pad);
    add({"diagonal"}, diagonal);
    add({"embedding"}, embedding);
    add({"expand"}, moved);
    add({"repeat"}, repeat);
    add({"searchsorted"}, searchsorted);
    add({"select"}, select);
    add({"slice"}, slice);
    add({"squeeze"}, squeeze);
    return all;
  }();
  return kRules;
}

}  // namespace

bool is_one_count(std::int64_t number) {
  std::size_t dividing = 0;
  std::int64_t times = 0;
  for (const std::int64_t prime : kPrimes) {
    if (number <= 0 || number % prime != 0) continue;
    ++dividing;
    times = number / prime;
  }
  return dividing == 1 && times < kPrimes.front();
}

void each_tensor(const c10::IValue& value, const std::function<void(const at::Tensor&)>& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& one : value.toListRef()) each_tensor(one, visit);
  }
}

Call::Call(std::string name, const c10::FunctionSchema& schema,
           std::span<const c10::IValue> arguments, StateOf state, std::vector<at::Tensor> results)
    : name_(std::move(name)),
      schema_(schema),
      arguments_(arguments),
      state_(std::move(state)),
      results_(std::move(results)) {
  const bool is_by_sizes = is_listed("by_sizes", name_);
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const c10::Argument& argument = schema_.arguments()[i];
    const bool is_written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    each_tensor(arguments_[i], [&](const at::Tensor& tensor) {
      if (is_written && !turns(name_)) written_.push_back(tensor);
      if (!is_by_sizes || argument.name() != "self") tensors_.push_back(tensor);
    });
  }
}

const c10::IValue* Call::argument(std::string_view name) const {
  const auto place = schema_.argumentIndexWithName(name);
  if (!place || arguments_[static_cast<std::size_t>(*place)].isNone()) return nullptr;
  return &arguments_[static_cast<std::size_t>(*place)];
}

std::int64_t Call::integer(std::string_view name, std::int64_t otherwise) const {
  const c10::IValue* value = argument(name);
  return value != nullptr && value->isInt() ? value->toInt() : otherwise;
}

at::Tensor Call::tensor(std::string_view name) const {
  const c10::IValue* value = argument(name);
  return value != nullptr && value->isTensor() ? value->toTensor() : at::Tensor();
}

WithRows Call::rows() const {
  WithRows found;
  for (const at::Tensor& tensor : tensors_) {
    const State state = state_(tensor);
    const Rows* rows = std::get_if<Rows>(&state);
    if (rows != nullptr && !rows->is_number) found.emplace_back(tensor, *rows);
  }
  return found;
}

std::optional<Rows> Call::rows_of(std::string_view name) const {
  const at::Tensor found = tensor(name);
  if (!found.defined()) return {};
  const State state = state_(found);
  const Rows* rows = std::get_if<Rows>(&state);
  return rows != nullptr && !rows->is_number ? std::optional(*rows) : std::nullopt;
}

bool has_rule(const std::string& name, bool is_pointwise) {
  return is_pointwise || rules().contains(name);
}

bool turns(const std::string& name) { return is_listed("moved", name); }

std::vector<State> results_of(const Call& call, bool is_pointwise) {
  const WithRows rows = call.rows();
  const bool has_count = std::ranges::any_of(
      call.tensors(), [&](const at::Tensor& tensor) { return is_of_count(call.state(tensor)); });
  check_written(call, has_count || !rows.empty());
  if (rows.empty()) {
    States states;
    for (const at::Tensor& result : call.results()) {
      states.push_back(without_rows(call, result, has_count));
    }
    return states;
  }
  if (has_count && call.name() != "index" && call.name() != "index_put") {
    throw Mixes("with the number of rows of the call");
  }
  const auto rule = rules().find(call.name());
  if (rule != rules().end()) return rule->second(call, rows);
  if (!is_pointwise) throw Unknown("which no rule follows");
  return elementwise(call, rows);
}

}  // namespace tensoa::pytorch::rows
