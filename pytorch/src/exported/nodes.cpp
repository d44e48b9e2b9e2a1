// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <ATen/ScalarOps.h>
#include <ATen/core/jit_type.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "exported/program.hpp"
#include "exported/program_file.hpp"
#include "torchscript/jit_file.hpp"

namespace tensoa::pytorch::exported {
namespace {

using c10::TypeKind;

[[noreturn]] void fail_node(const std::string& what) { throw std::runtime_error(what); }

double real_number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  const std::string& word = text(value);  // JSON has no such numbers
  if (word == "Infinity") return std::numeric_limits<double>::infinity();
  if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  fail_node('"' + word + "\" where a number is expected");
}

std::int64_t memory_format(const Json& value) {
  using c10::MemoryFormat;
  constexpr std::array kFormats{MemoryFormat::Contiguous, MemoryFormat::ChannelsLast,
                                MemoryFormat::ChannelsLast3d, MemoryFormat::Preserve};
  const std::int64_t format = number(value);
  if (format < 1 || format > static_cast<std::int64_t>(kFormats.size())) {
    fail_node("unknown memory format " + std::to_string(format));
  }
  return static_cast<std::int64_t>(kFormats[static_cast<std::size_t>(format - 1)]);
}

std::int64_t strided_layout(const Json& value) {
  constexpr std::int64_t kStridedLayout = 7;
  if (number(value) != kStridedLayout) fail_node("makes a sparse tensor; expected strided ones");
  return static_cast<std::int64_t>(c10::Layout::Strided);
}

/// A list of arguments of one type: a constant where all of them are.
Argument list_of(std::vector<Argument> elements, const c10::TypePtr& element_type) {
  const bool is_constant = std::ranges::all_of(
      elements, [](const Argument& element) { return element.form == Argument::Form::kConstant; });
  if (!is_constant) {
    return {.form = Argument::Form::kList,
            .elements = std::move(elements),
            .element_type = element_type};
  }
  c10::impl::GenericList list(element_type);
  for (Argument& element : elements) list.push_back(std::move(element.constant));
  return {.constant = c10::IValue(list)};
}

class ArgumentReader {
 public:
  ArgumentReader(const Scope& scope, c10::Device device) : scope_(scope), device_(device) {}

  /// @param type that the schema has for it
  /// @param count of a list that may be given as one element; 0 for other lists
  Argument read(const Json& json, const c10::TypePtr& type, std::int32_t count = 0) const {
    const auto& [kind, value] = only_member(json);
    if (type->kind() == TypeKind::OptionalType) {
      if (kind == "as_none") return {};
      return read(json, type->expectRef<c10::OptionalType>().getElementType(), count);
    }
    if (type->kind() == TypeKind::ListType) {
      const c10::TypePtr element = type->expectRef<c10::ListType>().getElementType();
      if (value->is_array() && kind.ends_with('s')) return read_list(kind, *value, element);
      if (count <= 0 || count > 16) fail_node("a single value where a list is expected");
      return list_of({static_cast<std::size_t>(count), read(json, element)}, element);
    }
    Argument argument = coerced(read_one(kind, *value), type);
    argument.wraps_number = argument.form == Argument::Form::kValue &&
                            kind.starts_with("as_sym_") && type->kind() == TypeKind::TensorType;
    return argument;
  }

 private:
  Argument of_value(const Json& name) const {
    const ValueId id = scope_.find(text(name));
    if (const auto& constant = scope_.program().values[id].constant) return {.constant = *constant};
    return {.form = Argument::Form::kValue, .value = id};
  }

  Argument symbolic(const Json& value) const {
    const auto& [kind, content] = only_member(value);
    if (kind == "as_name") return of_value(*content);
    if (kind == "as_int") return {.constant = number(*content)};
    if (kind == "as_bool" && content->is_boolean()) return {.constant = content->get<bool>()};
    return {.constant = real_number(*content)};
  }

  Argument read_one(const std::string& kind, const Json& value) const {
    if (kind == "as_tensor") return of_value(member(value, "name"));
    if (kind == "as_none") return {};
    if (kind == "as_optional_tensor") {
      const auto& [form, tensor] = only_member(value);
      return form == "as_none" ? Argument{} : of_value(member(*tensor, "name"));
    }
    if (kind == "as_int") return {.constant = number(value)};
    if (kind == "as_float") return {.constant = real_number(value)};
    if (kind == "as_bool" && value.is_boolean()) return {.constant = value.get<bool>()};
    if (kind == "as_string") return {.constant = text(value)};
    if (kind.starts_with("as_sym_")) return symbolic(value);
    if (kind == "as_scalar_type") {
      return {.constant = static_cast<std::int64_t>(scalar_type_of(value))};
    }
    if (kind == "as_memory_format") return {.constant = memory_format(value)};
    if (kind == "as_layout") return {.constant = strided_layout(value)};
    if (kind == "as_device") return {.constant = device_};
    if (kind == "as_complex") {
      return {.constant = c10::complex<double>(real_number(member(value, "real")),
                                               real_number(member(value, "imag")))};
    }
    fail_node("has an argument of the kind \"" + kind + "\", which tensoa does not run");
  }

  Argument read_list(const std::string& kind, const Json& value,
                     const c10::TypePtr& element) const {
    // Elements of lists are written without the union that says what they are.
    constexpr std::string_view kOfLists = "_lists";  // "as_int_lists" of "as_ints"
    const std::string kind_of_one = kind == "as_nested_tensors" ? "as_tensors"
                                    : kind.ends_with(kOfLists)
                                        ? kind.substr(0, kind.size() - kOfLists.size()) + 's'
                                        : kind.substr(0, kind.size() - 1);
    std::vector<Argument> elements;
    for (const Json& one : value) {
      const bool is_list = one.is_array() && element->kind() == TypeKind::ListType;
      elements.push_back(is_list ? read_list(kind_of_one, one,
                                             element->expectRef<c10::ListType>().getElementType())
                                 : coerced(read_one(kind_of_one, one), element));
    }
    return list_of(std::move(elements), element);
  }

  /// A whole number where the operator takes a real one, a number where it takes a tensor.
  static Argument coerced(Argument argument, const c10::TypePtr& type) {
    if (type->kind() == TypeKind::FloatType && argument.constant.isInt()) {
      argument.constant = static_cast<double>(argument.constant.toInt());
    } else if (type->kind() == TypeKind::TensorType && argument.constant.isScalar()) {
      argument.constant = wrapped_number(argument.constant);
    }
    return argument;
  }

  const Scope& scope_;
  c10::Device device_;
};

// ---- operators

/// "aten", "linear" and "default" of torch.ops.aten.linear.default.
std::array<std::string, 3> parts_of(const std::string& target) {
  constexpr std::string_view kPrefix = "torch.ops.";
  const std::string rest = target.substr(kPrefix.size());
  const std::size_t space = rest.find('.');
  const std::size_t overload = rest.rfind('.');
  if (space == std::string::npos) return {rest, "", ""};
  if (overload == space) return {rest.substr(0, space), rest.substr(space + 1), ""};
  return {rest.substr(0, space), rest.substr(space + 1, overload - space - 1),
          rest.substr(overload + 1)};
}

c10::OperatorHandle find_operator(const std::string& target, const std::string& torch) {
  const auto [space, given_name, overload] = parts_of(target);
  if (space == "higher_order") {
    fail_node(
        "is an operator of higher order, which calls other graphs; tensoa runs none of them: write "
        "torch.where instead of torch.cond, save what run_decompositions({}) makes of autocast, or "
        "make a package: tensoa compile");
  }
  if (space == "aten" && given_name.starts_with("as_strided")) {
    fail_node(
        "assumes where the elements of its argument lie in memory, and columns are not row-major; "
        "export the module without it, and without run_decompositions");
  }
  // Marks a constant as one without gradients, and writes nothing.
  const std::string name = space == "aten" && given_name == "detach_" ? "detach" : given_name;
  const std::string full_name = space + "::" + name;
  const auto found =
      c10::Dispatcher::singleton().findSchema({full_name, overload == "default" ? "" : overload});
  if (found) return *found;
  if (space == "aten" || space == "prims" || space == "prim") {
    fail_node("this torch (" TORCH_VERSION ") does not have the operator " + full_name + '.' +
              overload + ", the one that wrote the file (" + torch +
              ") had: run it with that torch, or export it again with this one");
  }
  fail_node("the custom operator " + full_name + '.' + overload +
            " is not registered in this program: load the library that defines it (dlopen, or link "
            "it) before the model, or export the module without it");
}

class NodeReader {
 public:
  NodeReader(Scope& scope, c10::Device device) : scope_(scope), device_(device) {}

  void read(const Json& json) {
    const std::string& target = text(member(json, "target"));
    Node node;
    node.target = target.starts_with("torch.ops.") ? target.substr(10) : target;
    node.name = name_of(json);
    node.author_line = author_line_of(json);
    try {
      if (target == "torch.ops.higher_order.wrap_with_set_grad_enabled") {
        read_wrapped(json);
        return;
      }
      if (const auto operation = size_operation(target)) {
        node.size_operation = operation->run;
        const ArgumentReader arguments(scope_, device_);
        for (const Json& input : array(json, "inputs")) {
          node.arguments.push_back(arguments.read(member(input, "arg"), c10::NumberType::get()));
        }
        if (node.arguments.size() != operation->operands)
          fail_node("has the wrong number of operands");
        node.results = {{false, {define(one_output(json))}}};
      } else if (target.starts_with("torch.ops.")) {
        node.op = find_operator(target, scope_.program().torch);
        read_arguments(json, node);
        read_results(json, node);
      } else {
        fail_node("is a function of Python; expected operators of torch");
      }
    } catch (const std::exception& error) {
      fail_node(node.text() + ": " + short_message(error));
    }
    scope_.program().nodes.push_back(std::move(node));
  }

 private:
  static std::string name_of(const Json& json) {
    const auto name = json.find("name");
    return name != json.end() && name->is_string() ? name->get<std::string>() : "without a name";
  }

  /// The last line of the stack that is not torch's.
  static std::string author_line_of(const Json& json) {
    const auto metadata = json.find("metadata");
    if (metadata == json.end() || !metadata->is_object()) return "";
    const std::string stack = metadata->value("stack_trace", std::string());
    std::string found;
    constexpr std::string_view kFile = "File \"";
    constexpr std::string_view kLine = "\", line ";
    for (std::size_t at = stack.find(kFile); at != std::string::npos; at = stack.find(kFile, at)) {
      at += kFile.size();
      const std::size_t end = stack.find(kLine, at);
      if (end == std::string::npos) break;
      const std::string file = stack.substr(at, end - at);
      const std::size_t digits = end + kLine.size();
      const std::size_t rest = stack.find_first_not_of("0123456789", digits);
      if (file.find("/torch/") == std::string::npos) {
        found = ", at " + file.substr(file.rfind('/') + 1) + ':' +
                stack.substr(digits, std::min(rest, stack.size()) - digits);
      }
    }
    return found;
  }

  static const Json& one_output(const Json& json) {
    const Json& outputs = array(json, "outputs");
    if (outputs.size() != 1) fail_node("has " + std::to_string(outputs.size()) + " results");
    return outputs[0];
  }

  void read_arguments(const Json& json, Node& node) {
    const c10::FunctionSchema& schema = node.op->schema();
    const Json& inputs = array(json, "inputs");
    const ArgumentReader reader(scope_, device_);
    for (const Json& input : inputs) {
      const std::string& name = text(member(input, "name"));
      if (!schema.argumentIndexWithName(name)) {
        fail_node("has the argument " + name +
                  ", which the operator of this torch (" TORCH_VERSION
                  ") does not have; the file was written by torch " +
                  scope_.program().torch + ": run it with that, or export it again with this one");
      }
    }
    for (const c10::Argument& wanted : schema.arguments()) {
      const auto given = std::ranges::find_if(
          inputs, [&](const Json& input) { return input["name"] == wanted.name(); });
      Argument argument;
      if (given != inputs.end()) {
        argument = reader.read(member(*given, "arg"), wanted.type(), wanted.N().value_or(0));
      } else if (wanted.default_value()) {
        argument.constant = *wanted.default_value();
      } else {
        fail_node("has no argument " + wanted.name() +
                  ", which the operator of this torch (" TORCH_VERSION
                  ") needs; export it again with this torch");
      }
      if (wanted.name() == "pin_memory") argument = {};
      if (argument.form == Argument::Form::kConstant) {
        require_type(argument.constant, wanted);
      }
      node.arguments.push_back(std::move(argument));
    }
  }

  static void require_type(const c10::IValue& value, const c10::Argument& wanted) {
    if (value.type()->isSubtypeOf(*wanted.type())) return;
    // For the types of torch a bool is not a number, for its operators it is.
    if (value.isBool() && c10::NumberType::get()->isSubtypeOf(*wanted.type())) return;
    fail_node("has " + value.type()->annotation_str() + " for its argument " + wanted.name() +
              ", which the operator of this torch (" TORCH_VERSION ") has as " +
              wanted.type()->annotation_str());
  }

  ValueId define(const Json& output) {
    const auto& [kind, value] = only_member(output);
    if (kind == "as_none") return kNoValue;
    if (kind == "as_tensor") return scope_.define(text(member(*value, "name")));
    if (kind == "as_optional_tensor") {
      const auto& [form, tensor] = only_member(*value);
      return form == "as_none" ? kNoValue : scope_.define(text(member(*tensor, "name")));
    }
    if (kind.starts_with("as_sym_")) return scope_.define(text(member(*value, "as_name")));
    fail_node("has a result of the kind \"" + kind + "\", which tensoa does not run");
  }

  void read_results(const Json& json, Node& node) {
    const std::vector<c10::Argument>& returns = node.op->schema().returns();
    const Json& outputs = array(json, "outputs");
    if (!outputs.empty() && outputs.size() != returns.size()) {
      fail_node("has " + std::to_string(outputs.size()) +
                " results, the operator of this torch has " + std::to_string(returns.size()));
    }
    for (std::size_t i = 0; i < returns.size(); ++i) {
      Result& result = node.results.emplace_back();
      result.is_list = returns[i].type()->kind() == TypeKind::ListType;
      if (outputs.empty()) {
        if (!result.is_list) result.values = {kNoValue};
      } else if (result.is_list) {
        for (const Json& one : array(outputs[i], "as_tensors")) {
          result.values.push_back(scope_.define(text(member(one, "name"))));
        }
      } else {
        result.values = {define(outputs[i])};
      }
    }
  }

  /// `with torch.no_grad()`: its nodes are nodes of the graph around it, for nothing has gradients here.
  void read_wrapped(const Json& json) {
    const Json& inputs = array(json, "inputs");
    if (inputs.size() < 2) fail_node("wraps no graph");
    const Json& graph = member(member(member(inputs[1], "arg"), "as_graph"), "graph");
    const Json& parameters = array(graph, "inputs");
    Scope inner(scope_.program(), graph);
    if (parameters.size() != inputs.size() - 2) fail_node("wraps a graph of other arguments");
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      inner.add(name_in(parameters[i]), scope_.find(name_in(member(inputs[i + 2], "arg"))));
    }
    if (++depth_ > 100) fail_node("wraps graphs too deeply");
    NodeReader reader(inner, device_);
    reader.depth_ = depth_;
    for (const Json& node : array(graph, "nodes")) reader.read(node);
    --depth_;
    const Json& results = array(graph, "outputs");
    const Json& outputs = array(json, "outputs");
    const Json& names = outputs.size() == 1 && outputs[0].contains("as_tensors")
                            ? array(outputs[0], "as_tensors")
                            : outputs;
    if (names.size() != results.size()) fail_node("wraps a graph of other results");
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string& name =
          names[i].contains("name") ? text(names[i]["name"]) : name_in(names[i]);
      scope_.add(name, inner.find(name_in(results[i])));
    }
  }

  static const std::string& name_in(const Json& argument) {
    const auto& [kind, value] = only_member(argument);
    return text(member(*value, kind == "as_tensor" ? "name" : "as_name"));
  }

  Scope& scope_;
  c10::Device device_;
  int depth_ = 0;
};

}  // namespace

c10::IValue wrapped_number(const c10::IValue& number) {
  at::Tensor tensor = c10::scalar_to_tensor(number.toScalar());
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

void read_nodes(const Json& graph, Scope& scope, c10::Device device) {
  NodeReader reader(scope, device);
  for (const Json& node : array(graph, "nodes")) reader.read(node);
}

}  // namespace tensoa::pytorch::exported
