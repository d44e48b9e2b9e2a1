// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "exported/program.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "exported/program_file.hpp"

namespace tensoa::pytorch::exported {
namespace {

constexpr std::int64_t kSchemaMajor = 8;

[[noreturn]] void refuse(const std::string& what) { throw std::runtime_error(what); }

/// Why a program that writes something of its caller's or its own is refused.
[[noreturn]] void refuse_change(const std::string& of) {
  refuse(
      "it changes " + of +
      " at each call; expected a model that keeps nothing between calls and leaves its inputs as "
      "they are: export it after module.eval(), and let forward work on a copy (x.clone())");
}

c10::IValue constant_input(const Json& value) {
  const auto& [kind, content] = only_member(value);
  if (kind == "as_int") return number(*content);
  if (kind == "as_float" && content->is_number()) return content->get<double>();
  if (kind == "as_bool" && content->is_boolean()) return content->get<bool>();
  if (kind == "as_string") return text(*content);
  return {};
}

const std::string& tensor_name(const Json& spec) {
  return text(member(member(spec, "arg"), "name"));
}

void read_input(const Json& input, Scope& scope) {
  const auto& [kind, spec] = only_member(input);
  Program& program = scope.program();
  const auto weight = [&](const char* name_key) {
    program.weights.push_back({scope.define(tensor_name(*spec)), text(member(*spec, name_key))});
  };
  if (kind == "parameter") return weight("parameter_name");
  if (kind == "buffer") return weight("buffer_name");
  if (kind == "tensor_constant") return weight("tensor_constant_name");
  if (kind == "constant_input") {
    const ValueId value = scope.define(text(member(*spec, "name")));
    program.values[value].constant = constant_input(member(*spec, "value"));
    return;
  }
  if (kind != "user_input") {
    refuse("it takes an input of the kind \"" + kind +
           "\" (an object of a class, or a token); expected tensors");
  }
  const auto& [form, argument] = only_member(member(*spec, "arg"));
  if (form == "as_tensor") {
    program.inputs.push_back(scope.define(text(member(*argument, "name"))));
  } else if (form.starts_with("as_sym_")) {
    refuse(
        "its input " + text(member(*argument, "as_name")) +
        " is a number; expected tensors only: export with a tensor of one element, or a constant");
  }
}

void read_output(const Json& output, const ResultName& name, const Scope& scope) {
  const auto& [kind, spec] = only_member(output);
  Program& program = scope.program();
  if (kind == "buffer_mutation") {
    refuse_change("the buffer " + text(member(*spec, "buffer_name")));
  }
  if (kind == "parameter_mutation") {
    refuse_change("the parameter " + text(member(*spec, "parameter_name")));
  }
  if (kind == "user_input_mutation") {
    refuse_change("its input " + text(member(*spec, "user_input_name")));
  }
  if (kind != "user_output") {
    refuse("it has an output of the kind \"" + kind + "\"; export it for inference");
  }
  const auto& [form, argument] = only_member(member(*spec, "arg"));
  if (form == "as_none") return;
  if (form != "as_tensor") {
    refuse("forward returns a value that is not a tensor (" + form.substr(3) +
           "); expected tensors, in tuples, lists or dicts");
  }
  program.outputs.push_back(scope.find(text(member(*argument, "name"))));
  program.output_names.push_back(name);
}

/// The names of the leaves of a pytree, in order: keys of dicts, fields of named tuples, else none.
void name_leaves(const Json& spec, const Json& named_tuples, const ResultName& name,
                 std::vector<ResultName>& names, int depth) {
  const Json& children = array(spec, "children_spec");
  const Json& type = member(spec, "type");
  if (type.is_null()) {
    names.push_back(name);
    return;
  }
  if (depth > 100) refuse("its results are nested too deeply");
  const std::string& type_name = text(type);
  Json keys = Json::array();
  const bool is_dict = type_name.ends_with("dict") || type_name.ends_with("Dict");
  const Json& context = member(spec, "context");
  if (is_dict && context.is_string()) {
    keys = Json::parse(text(context), nullptr, false);
  } else if (type_name == "collections.namedtuple" && context.is_string() &&
             named_tuples.is_object() && named_tuples.contains(text(context))) {
    keys = array(named_tuples[text(context)], "field_names");
  }
  const bool are_named = keys.is_array() && keys.size() == children.size();
  for (std::size_t i = 0; i < children.size(); ++i) {
    ResultName of_child;
    if (are_named && keys[i].is_string()) {
      of_child = {keys[i].get<std::string>(), !is_dict};
    }
    name_leaves(children[i], named_tuples, of_child, names, depth + 1);
  }
}

/// Of each result of forward its name; empty names where the file does not say.
std::vector<ResultName> names_of_results(const Json& graph_module, std::size_t results) {
  std::vector<ResultName> names;
  const Json& calls = array(graph_module, "module_call_graph");
  if (!calls.empty() && member(calls[0], "signature").is_object()) {
    const Json& spec = member(calls[0]["signature"], "out_spec");
    const Json tree = Json::parse(text(spec), nullptr, false);
    const auto named_tuples = graph_module.find("treespec_namedtuple_fields");
    if (tree.is_array() && tree.size() == 2) {
      name_leaves(tree[1], named_tuples == graph_module.end() ? Json() : *named_tuples, {}, names,
                  0);
    }
  }
  if (names.size() != results) names.assign(results, {});
  return names;
}

void read_limits(const Json& file, Program& program) {
  const auto all = file.find("range_constraints");
  if (all == file.end()) return;
  for (const auto& [name, range] : all->items()) {
    const auto limit = [&](const char* key, std::int64_t otherwise) {
      const auto value = range.find(key);
      return value == range.end() || value->is_null() ? otherwise : number(*value);
    };
    program.limits[program.symbols.number_of(name)] = {limit("min_val", 0),
                                                       limit("max_val", INT64_MAX)};
  }
}

void read_conditions(const Json& file, Program& program) {
  const auto all = file.find("guards_code");  // since torch 2.9
  if (all == file.end() || all->is_null()) return;
  for (const Json& one : *all) program.conditions.push_back(text(one));
}

}  // namespace

std::string Program::name_of_weight(ValueId value) const {
  return std::ranges::find(weights, value, &Weight::value)->name;
}

Scope::Scope(Program& program, const Json& graph)
    : program_(&program), metas_(&member(graph, "tensor_values")) {}

ValueId Scope::define(const std::string& name) {
  const auto id = static_cast<ValueId>(program_->values.size());
  Value& value = program_->values.emplace_back(Value{.name = name});
  add(name, id);
  const auto meta = metas_->is_object() ? metas_->find(name) : metas_->end();
  if (meta == metas_->end()) return id;
  value.meta = {.dtype = scalar_type_of(member(*meta, "dtype")), .sizes = {}};
  for (const Json& size : array(*meta, "sizes")) {
    value.meta->sizes.emplace_back(size, program_->symbols);
  }
  return id;
}

void Scope::add(const std::string& name, ValueId value) {
  if (!values_.emplace(name, value).second) refuse("it has two values called " + name);
}

ValueId Scope::find(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) refuse("it uses " + name + ", which nothing before has made");
  return found->second;
}

std::string format_of(const Json& file) {
  const Json& version = member(file, "schema_version");
  return std::to_string(number(member(version, "major"))) + '.' +
         std::to_string(number(member(version, "minor")));
}

Program read_program(const Json& file, c10::Device device) {
  const std::int64_t major = number(member(member(file, "schema_version"), "major"));
  if (major != kSchemaMajor) {
    refuse("it has version " + format_of(file) +
           " of the format of torch.export, this tensoa reads " + std::to_string(kSchemaMajor) +
           ".x; save it again with " + kWriters);
  }
  Program program;
  if (const auto torch = file.find("torch_version"); torch != file.end()) {
    program.torch = text(*torch);
  }
  const Json& graph_module = member(file, "graph_module");
  const Json& graph = member(graph_module, "graph");
  const Json& signature = member(graph_module, "signature");
  Scope scope(program, graph);
  for (const Json& input : array(signature, "input_specs")) read_input(input, scope);
  // Errors of the signature come before errors of nodes.
  const Json& outputs = array(signature, "output_specs");
  for (const Json& output : outputs) {
    if (only_member(output).first.ends_with("_mutation")) read_output(output, {}, scope);
  }
  read_nodes(graph, scope, device);
  const std::vector<ResultName> names = names_of_results(graph_module, outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) read_output(outputs[i], names[i], scope);
  read_limits(file, program);
  read_conditions(file, program);
  return program;
}

}  // namespace tensoa::pytorch::exported
