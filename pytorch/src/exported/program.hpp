// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "exported/json.hpp"
#include "exported/sizes.hpp"
#include "torchscript/results.hpp"

// A program of torch.export as a graph of operators of this torch.

namespace tensoa::pytorch::exported {

/// A place in Program::values.
using ValueId = std::uint32_t;
inline constexpr ValueId kNoValue = UINT32_MAX;

/// The description of a tensor in the file.
struct TensorMeta {
  c10::ScalarType dtype;
  std::vector<Size> sizes;
};

/// A named value of a node or of the caller: a tensor, or a number.
struct Value {
  std::string name;
  std::optional<TensorMeta> meta = {};       ///< of tensors
  std::optional<c10::IValue> constant = {};  ///< of an argument that the export has fixed
};

/// An argument of a node, in the place that the schema of its operator has for it.
struct Argument {
  enum class Form : std::uint8_t { kConstant, kValue, kList };
  Form form = Form::kConstant;
  bool is_last_use = false;             ///< kValue: nothing needs the value afterwards
  bool wraps_number = false;            ///< kValue: a number, where the operator takes a tensor
  bool is_row_major = false;            ///< the operator takes no tensor of other strides
  ValueId value = kNoValue;             ///< kValue
  c10::IValue constant = {};            ///< kConstant
  std::vector<Argument> elements = {};  ///< kList: of which one at least is a value
  c10::TypePtr element_type = {};       ///< kList

  /// Calls `visit` for each Argument of form kValue in it.
  template <class Visit>
  void each_value(Visit visit) const {
    if (form == Form::kValue) visit(value);
    for (const Argument& element : elements) element.each_value(visit);
  }

  void make_row_major() {
    is_row_major = true;
    for (Argument& element : elements) element.make_row_major();
  }
};

/// The values of one return of an operator: a value, or one for each member of a list. kNoValue where
/// nothing uses it.
struct Result {
  bool is_list = false;
  std::vector<ValueId> values;
  bool is_row_major = false;  ///< for views of it that are written, which copies are not
};

struct Node {
  std::string name;                        ///< "linear_2"
  std::string target;                      ///< "aten.linear.default"
  std::optional<c10::OperatorHandle> op;   ///< or
  SizeOperation size_operation = nullptr;  ///< arithmetic on sizes
  std::vector<Argument> arguments = {};
  std::vector<Result> results = {};
  std::string author_line = {};  ///< ", at model.py:12", or empty where the file does not say

  /// "node linear_2 (aten.linear.default)": for messages.
  std::string text() const { return "node " + name + " (" + target + ')'; }
};

struct Weight {
  ValueId value;
  std::string name;  ///< in the file: "layers.0.weight"
};

/// Of a number that a program leaves open.
struct Limits {
  std::int64_t least;
  std::int64_t largest;
};

struct Program {
  Symbols symbols;
  std::unordered_map<std::size_t, Limits> limits;  ///< by symbol
  std::vector<std::string>
      conditions;  ///< on the arguments, without which the model does something else
  std::vector<Value> values;
  std::vector<ValueId> inputs;
  std::vector<Weight> weights;  ///< parameters, buffers and constants
  std::vector<Node> nodes;
  std::vector<ValueId> outputs;
  std::vector<ResultName> output_names;
  std::string torch;  ///< that wrote the file: "2.11.0"

  std::string name_of_weight(ValueId value) const;
};

/// A tensor of one number, which has no say in the dtype of a result: what Python makes of it.
c10::IValue wrapped_number(const c10::IValue& number);

/// @param device that tensors are made on, whatever the file says
/// @throws std::runtime_error that names what this torch does not have, or what tensoa does not run
Program read_program(const Json& file, c10::Device device);

/// "8.17", the version of the format.
std::string format_of(const Json& file);

// ---- for program.cpp and nodes.cpp

/// Names of values in one graph.
class Scope {
 public:
  Scope(Program& program, const Json& graph);

  /// @throws std::runtime_error for a name that there is already
  ValueId define(const std::string& name);
  void add(const std::string& name, ValueId value);

  /// @throws std::runtime_error where no value has this name
  ValueId find(const std::string& name) const;

  Program& program() const noexcept { return *program_; }

 private:
  Program* program_;
  const Json* metas_;
  std::unordered_map<std::string, ValueId> values_;
};

/// Reads the nodes of `graph` into the program; those of wrappers that change nothing here, too.
void read_nodes(const Json& graph, Scope& scope, c10::Device device);

}  // namespace tensoa::pytorch::exported
