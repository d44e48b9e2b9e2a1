// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "exported/schedule.hpp"

#include <algorithm>
#include <array>
#include <ranges>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "runtime/operator_effects.hpp"
#include "torchscript/jit_file.hpp"

namespace tensoa::pytorch::exported {
namespace {

using Form = Argument::Form;

/// The variant of an operator with its own kernels for the device: those that torch generates
/// from another variant allocate and copy.
std::optional<c10::OperatorHandle> variant(const std::string& name, const std::string& overload,
                                           c10::Device device) {
  auto found = c10::Dispatcher::singleton().findSchema({name, overload});
  const auto key = device.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU;
  if (!found || !found->hasKernelForDispatchKey(key)) return {};
  return found;
}

bool has_tag(const c10::OperatorHandle& op, at::Tag tag) {
  const c10::ArrayRef<at::Tag> tags = op.getTags();
  return std::ranges::find(tags, tag) != tags.end();
}

bool is_one_tensor(const c10::FunctionSchema& schema) {
  return schema.returns().size() == 1 &&
         schema.returns()[0].type()->kind() == c10::TypeKind::TensorType;
}

bool are_same(const c10::Argument& a, const c10::Argument& b) {
  return a.name() == b.name() && *a.type() == *b.type();
}

/// Whether `into` has the arguments of `op`, and one more that it writes its result to.
bool takes_result(const c10::FunctionSchema& into, const c10::FunctionSchema& op) {
  const auto& arguments = into.arguments();
  const std::size_t count = op.arguments().size();
  return is_one_tensor(into) && arguments.size() == count + 1 && arguments.back().is_out() &&
         std::ranges::equal(std::views::take(arguments, static_cast<std::ptrdiff_t>(count)),
                            op.arguments(), are_same);
}

std::optional<c10::OperatorHandle> variant_into(const c10::OperatorHandle& op, c10::Device device) {
  const std::string& name = op.schema().name();
  const std::string& overload = op.schema().overload_name();
  for (const std::string& of_out : {overload + "_out", std::string("out")}) {
    auto found = variant(name, of_out, device);
    if (found && takes_result(found->schema(), op.schema())) return found;
  }
  return {};
}

/// The variant that writes its result over its first argument.
std::optional<c10::OperatorHandle> variant_over(const c10::OperatorHandle& op, c10::Device device) {
  const c10::FunctionSchema& schema = op.schema();
  const auto found = variant(schema.name() + '_', schema.overload_name(), device);
  if (!found || !std::ranges::equal(found->schema().arguments(), schema.arguments(), are_same)) {
    return {};
  }
  const c10::AliasInfo* const first = found->schema().arguments()[0].alias_info();
  return first != nullptr && first->isWrite() ? found : std::nullopt;
}

/// Whether the operator writes into a tensor of any strides, and does not fail half way, as one with indices may.
/// Others assume that what they write is row-major: the softmax of torch 2.11 writes elsewhere without a word.
bool takes_any_strides(const c10::OperatorHandle& op) {
  const std::string& name = op.schema().name();
  return has_tag(op, at::Tag::pointwise) || name == "aten::addmm" || name == "aten::mm";
}

/// Operators that read other elements, or fail, where a tensor is not row-major, as tensors of PyTorch mostly are
/// and columns are not. torch has tags for that, and sets them on few of its operators.
constexpr std::array<std::string_view, 6> kNeedRowMajor{
    "aten::_embedding_bag", "aten::_embedding_bag_forward_only",
    "aten::_pdist_forward", "aten::native_group_norm",
    "aten::take_along_dim", "aten::view_as_complex"};

bool needs_row_major(const c10::OperatorHandle& op) {
  const std::string& name = op.schema().name();
  if (std::ranges::find(kNeedRowMajor, name) != kNeedRowMajor.end()) return true;
  for (const at::Tag tag : {at::Tag::needs_exact_strides, at::Tag::needs_contiguous_strides,
                            at::Tag::needs_fixed_stride_order}) {
    if (has_tag(op, tag)) return true;
  }
  const bool is_of_torch = name.starts_with("aten::") || name.starts_with("prim");
  return !is_of_torch && !has_tag(op, at::Tag::flexible_layout);
}

/// Whether both are the same but for dimensions of size 1.
bool differ_in_ones_alone(const TensorMeta& a, const TensorMeta& b) {
  const auto without_ones = [](const TensorMeta& meta) {
    std::vector<Size> sizes;
    for (const Size& size : meta.sizes) {
      if (size.fixed() != 1) sizes.push_back(size);
    }
    return sizes;
  };
  return without_ones(a) == without_ones(b);
}

void make_row_major(c10::IValue& value) {
  if (value.isTensor() && value.toTensor().defined()) value = value.toTensor().contiguous();
}

constexpr std::array<std::string_view, 6> kReshapes{"aten::_unsafe_view", "aten::flatten",
                                                    "aten::reshape",      "aten::squeeze",
                                                    "aten::unsqueeze",    "aten::view"};

class Scheduler {
 public:
  Scheduler(Program program, const Memory& memory, c10::Device device)
      : program_(std::move(program)),
        memory_(memory),
        device_(device),
        known_(program_.values.size()),
        is_left_out_(program_.nodes.size()) {}

  void set(ValueId value, c10::IValue known) { known_[value] = std::move(known); }

  /// Marks what has to be row-major: arguments of some operators; of views that are written, the memory itself.
  void lay_out() {
    std::vector<bool> is_row_major(program_.values.size());
    for (Node& node : program_.nodes) {
      if (!node.op) continue;
      const bool is_view = node.op->schema().name() == "aten::view";
      if (!is_view && !needs_row_major(*node.op)) continue;
      const bool is_written_view = is_view_that_is_written(node);
      for (std::size_t i = 0; i < node.arguments.size(); ++i) {
        if (is_written_view) {
          node.arguments[i].each_value([&](ValueId value) {
            for (const ValueId root : memory_.roots(value)) is_row_major[root] = true;
          });
        } else if (!is_view && !is_annotated_write(node.op->schema().arguments()[i])) {
          node.arguments[i].make_row_major();
        }
      }
    }
    for (Node& node : program_.nodes) {
      for (Result& result : node.results) {
        result.is_row_major = std::ranges::any_of(result.values, [&](ValueId value) {
          return value != kNoValue && is_row_major[value] && memory_.is_fresh(value);
        });
      }
    }
  }

  void compute_constants() {
    std::vector<c10::IValue> values(program_.values.size());
    Stack stack;
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      Node& node = program_.nodes[i];
      for (Argument& argument : node.arguments) make_known(argument);
      rewrite(node);
      if (!is_constant(node)) continue;
      try {
        push_arguments(node.arguments, values, stack);
        node.op->callBoxed(stack);
        pop_results(node.results, values, stack);
      } catch (const std::exception& error) {
        throw std::runtime_error(node.text() + " fails on the weights: " + short_message(error));
      }
      for (const Result& result : node.results) {
        for (const ValueId value : result.values) {
          if (value != kNoValue) known_[value] = std::move(values[value]);
        }
      }
      is_left_out_[i] = true;
    }
  }

  Schedule schedule() {
    count_uses();
    std::vector<Step> direct;
    Schedule made;
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      const ValueId value = program_.outputs[i];
      Output& output = made.outputs.emplace_back(Output{.value = value, .constant = known_[value]});
      if (auto step = last_step_of(value)) {
        step->output = i;
        output.is_direct = true;
        output.value = step->node.results[0].values[0];
        output.meta = program_.values[value].meta;
        output.written = program_.values[output.value].meta;
        direct.push_back(std::move(*step));
      }
    }
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      if (!is_left_out_[i])
        made.steps.push_back({.node = std::move(program_.nodes[i]), .into = {}});
    }
    made.first_direct = made.steps.size();
    std::ranges::move(direct, std::back_inserter(made.steps));
    made.values = program_.values.size();
    free_early(made);
    return made;
  }

 private:
  void make_known(Argument& argument) const {
    for (Argument& element : argument.elements) make_known(element);
    if (argument.form == Form::kValue && known_[argument.value]) {
      c10::IValue constant = *known_[argument.value];
      if (argument.is_row_major) make_row_major(constant);  // once, not at each call
      argument = {.constant = std::move(constant)};
    } else if (argument.form == Form::kList &&
               std::ranges::all_of(argument.elements, [](const Argument& element) {
                 return element.form == Form::kConstant;
               })) {
      c10::impl::GenericList list(argument.element_type);
      for (const Argument& element : argument.elements) list.push_back(element.constant);
      argument = {.constant = c10::IValue(list)};
    }
  }

  /// Whether its result lies in the memory of an argument, which is written.
  bool is_view_that_is_written(const Node& node) const {
    const c10::FunctionSchema& schema = node.op->schema();
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (schema.returns()[i].alias_info() == nullptr) continue;
      for (const ValueId value : node.results[i].values) {
        if (value != kNoValue && memory_.is_written(value)) return true;
      }
    }
    return false;
  }

  /// Whether the node gives the same at each call, and nothing writes into that.
  bool is_constant(const Node& node) const {
    if (!node.op || node.results.empty() || has_tag(*node.op, at::Tag::nondeterministic_seeded)) {
      return false;
    }
    const bool writes = node.op->schema().is_mutable();
    const bool is_known = std::ranges::all_of(
        node.arguments, [](const Argument& argument) { return argument.form == Form::kConstant; });
    return is_known && !writes && std::ranges::none_of(node.results, [&](const Result& result) {
             return std::ranges::any_of(result.values, [&](ValueId value) {
               return value != kNoValue && memory_.is_written(value);
             });
           });
  }

  /// Replaces an operator by one that does the same here, for less or for more layouts of its arguments.
  void rewrite(Node& node) const {
    if (!node.op) return;
    const std::string& name = node.op->schema().name();
    if (name == "aten::_unsafe_view" ||
        (name == "aten::view" && node.op->schema().overload_name().empty())) {
      // The file was written for tensors that are row-major, and columns are not.
      if (!memory_.is_written(node.results[0].values[0])) node.op = find("aten::reshape", "");
    } else if (name == "aten::linear") {
      rewrite_linear(node);
    }
  }

  /// The product of matrices that aten::linear calls, with the weight transposed once.
  void rewrite_linear(Node& node) const {
    const Argument& input = node.arguments[0];
    const Argument& weight = node.arguments[1];
    const Argument& bias = node.arguments[2];
    const auto is_tensor = [](const Argument& argument, std::int64_t dimensions) {
      return argument.constant.isTensor() && argument.constant.toTensor().defined() &&
             argument.constant.toTensor().dim() == dimensions;
    };
    const bool is_matrix = input.form == Form::kValue && program_.values[input.value].meta &&
                           program_.values[input.value].meta->sizes.size() == 2;
    if (!is_matrix || !is_tensor(weight, 2)) return;
    const Argument transposed{.constant = weight.constant.toTensor().t()};
    if (bias.form == Form::kConstant && bias.constant.isNone()) {
      node.op = find("aten::mm", "");
      set_arguments(node, {input, transposed});
    } else if (is_tensor(bias, 1)) {
      node.op = find("aten::addmm", "");
      set_arguments(
          node,
          {bias, input, transposed, {.constant = std::int64_t{1}}, {.constant = std::int64_t{1}}});
    }
  }

  /// @param arguments may be made of those of the node. They are moved: where arguments are copied over others, g++ 12 warns of
  /// what torch 2.15 does to those (stringop-overflow, falsely).
  static void set_arguments(Node& node, std::vector<Argument> arguments) {
    node.arguments = std::move(arguments);
  }

  static c10::OperatorHandle find(const char* name, const char* overload) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  }

  // ---- uses

  void count_uses() {
    uses_.assign(program_.values.size(), 0);
    made_by_.assign(program_.values.size(), program_.nodes.size());
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      if (is_left_out_[i]) continue;
      const Node& node = program_.nodes[i];
      for (const Argument& argument : node.arguments) {
        argument.each_value([&](ValueId value) { ++uses_[value]; });
      }
      for (const Result& result : node.results) {
        for (const ValueId value : result.values) {
          if (value != kNoValue) made_by_[value] = i;
        }
      }
    }
    for (const ValueId output : program_.outputs) ++uses_[output];
  }

  /// The step that can write the output into memory of the caller, taken out of its place; nothing where such a
  /// step is missing. Steps that only take dimensions of size 1 from its result, or add some, are left out.
  std::optional<Step> last_step_of(ValueId output) {
    std::vector<std::size_t> reshapes;
    ValueId value = output;
    while (true) {
      const std::size_t i = made_by_[value];
      if (uses_[value] != 1 || i == program_.nodes.size() || !program_.values[value].meta)
        return {};
      const Node& node = program_.nodes[i];
      if (!node.op || node.arguments.empty() || node.results.size() != 1) return {};
      if (std::ranges::find(kReshapes, node.op->schema().name()) == kReshapes.end()) break;
      const Argument& from = node.arguments[0];
      if (from.form != Form::kValue || !program_.values[from.value].meta ||
          !differ_in_ones_alone(*program_.values[from.value].meta, *program_.values[value].meta)) {
        return {};
      }
      reshapes.push_back(i);
      value = from.value;
    }
    const std::size_t i = made_by_[value];
    const Node& node = program_.nodes[i];
    if (!memory_.is_fresh(value) || memory_.is_written(value) || !can_come_last(i) ||
        !are_bound(value) || !are_bound(output)) {
      return {};
    }
    if (!takes_any_strides(*node.op)) return {};
    auto into = variant_into(*node.op, device_);
    if (!into) return {};
    is_left_out_[i] = true;
    for (const std::size_t reshape : reshapes) is_left_out_[reshape] = true;
    return Step{.node = node, .into = std::move(into)};
  }

  /// Whether the sizes of the value follow from those of the inputs.
  bool are_bound(ValueId value) const {
    constexpr std::int64_t kSomeRows = 7;
    Size::Values symbols(program_.symbols.count(), Size::kUnknown);
    for (const ValueId input : program_.inputs) {
      if (!program_.values[input].meta) continue;
      for (const Size& size : program_.values[input].meta->sizes) {
        if (const auto symbol = size.symbol()) symbols[*symbol] = kSomeRows;
      }
    }
    return std::ranges::all_of(program_.values[value].meta->sizes,
                               [&](const Size& size) { return size.value(symbols).has_value(); });
  }

  /// Whether no node writes what it reads.
  bool can_come_last(std::size_t i) const {
    bool is_written = false;
    for (const Argument& argument : program_.nodes[i].arguments) {
      argument.each_value(
          [&](ValueId value) { is_written = is_written || memory_.is_written(value); });
    }
    return !is_written;
  }

  // ---- the order is known

  /// Marks the last uses of values, and lets operators write over arguments that nothing needs afterwards.
  void free_early(Schedule& made) const {
    std::vector<bool> is_needed(program_.values.size());
    const auto need = [&](ValueId value) { is_needed[value] = true; };
    for (const Output& output : made.outputs) {
      if (!output.is_direct) need(output.value);
    }
    for (const ValueId input : program_.inputs) need(input);  // kept for the next call
    for (std::size_t i = made.steps.size(); i-- > 0;) {
      Step& step = made.steps[i];
      if (!step.into) write_over(step.node, is_needed);
      for (Result& result : step.node.results) {
        for (ValueId& value : result.values) {
          // The result of a direct step is requested where the caller's memory cannot be used.
          if (value != kNoValue && !is_needed[value] && !step.into) value = kNoValue;
        }
      }
      // Direct steps run in any order.
      if (!step.into) {
        for (Argument& argument : std::views::reverse(step.node.arguments)) {
          mark_last_use(argument, is_needed);
        }
      }
      for (const Argument& argument : step.node.arguments) argument.each_value(need);
    }
  }

  /// Call it with the last argument first: where a node has a value twice, the last one may move it.
  static void mark_last_use(Argument& argument, std::vector<bool>& is_needed) {
    for (Argument& element : std::views::reverse(argument.elements)) {
      mark_last_use(element, is_needed);
    }
    if (argument.form != Form::kValue || is_needed[argument.value]) return;
    argument.is_last_use = true;
    is_needed[argument.value] = true;
  }

  void write_over(Node& node, const std::vector<bool>& is_needed) const {
    if (!node.op || node.results.size() != 1 || node.results[0].is_list || node.arguments.empty()) {
      return;
    }
    const Argument& first = node.arguments[0];
    const ValueId result = node.results[0].values[0];
    if (first.form != Form::kValue || result == kNoValue || !is_same_shape(first.value, result) ||
        !memory_.is_fresh(first.value) || !memory_.is_fresh(result)) {
      return;
    }
    for (ValueId other = 0; other < program_.values.size(); ++other) {
      const bool is_live = is_needed[other] && other != result;
      if (is_live && memory_.may_overlap(other, first.value)) return;
    }
    std::size_t places = 0;
    for (const Argument& argument : node.arguments) {
      argument.each_value(
          [&](ValueId value) { places += memory_.may_overlap(value, first.value) ? 1 : 0; });
    }
    if (places > 1) return;
    if (!takes_any_strides(*node.op)) return;
    if (auto over = variant_over(*node.op, device_)) node.op = std::move(over);
  }

  bool is_same_shape(ValueId a, ValueId b) const {
    const auto& of_a = program_.values[a].meta;
    const auto& of_b = program_.values[b].meta;
    return of_a && of_b && of_a->dtype == of_b->dtype && of_a->sizes == of_b->sizes;
  }

  Program program_;
  const Memory& memory_;
  c10::Device device_;
  std::vector<std::optional<c10::IValue>> known_;
  std::vector<bool> is_left_out_;     ///< nodes
  std::vector<std::size_t> uses_;     ///< of values
  std::vector<std::size_t> made_by_;  ///< the node that makes a value
};

}  // namespace

Schedule::Schedule(Program program, const Memory& memory, const std::vector<at::Tensor>& weights,
                   c10::Device device) {
  Scheduler scheduler(program, memory, device);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    scheduler.set(program.weights[i].value, weights[i]);
  }
  scheduler.lay_out();
  scheduler.compute_constants();
  *this = scheduler.schedule();
}

void push_arguments(const std::vector<Argument>& arguments, std::vector<c10::IValue>& values,
                    Stack& stack) {
  const auto any_strides = [&](const Argument& argument) -> c10::IValue {
    if (argument.form == Form::kConstant) return argument.constant;
    if (argument.wraps_number) return wrapped_number(values[argument.value]);
    return argument.is_last_use ? std::move(values[argument.value]) : values[argument.value];
  };
  const auto element = [&](const Argument& argument) {
    c10::IValue value = any_strides(argument);
    if (argument.is_row_major) make_row_major(value);
    return value;
  };
  for (const Argument& argument : arguments) {
    if (argument.form != Form::kList) {
      stack.push_back(element(argument));
      continue;
    }
    c10::impl::GenericList list(argument.element_type);
    list.reserve(argument.elements.size());
    for (const Argument& one : argument.elements) list.push_back(element(one));
    stack.emplace_back(std::move(list));
  }
}

void pop_results(const std::vector<Result>& results, std::vector<c10::IValue>& values,
                 Stack& stack) {
  for (const Result& result : std::views::reverse(results)) {
    c10::IValue given = std::move(stack.back());
    stack.pop_back();
    if (!result.is_list) {
      if (result.is_row_major) make_row_major(given);
      if (result.values[0] != kNoValue) values[result.values[0]] = std::move(given);
      continue;
    }
    if (result.values.empty()) continue;
    const c10::ArrayRef<c10::IValue> members = given.toListRef();
    if (members.size() != result.values.size()) {
      throw std::runtime_error("gives a list of " + std::to_string(members.size()) +
                               " tensors, the file says " + std::to_string(result.values.size()) +
                               ": it was exported for other sizes");
    }
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (result.values[i] == kNoValue) continue;
      values[result.values[i]] = members[i];
      if (result.is_row_major) make_row_major(values[result.values[i]]);
    }
  }
}

}  // namespace tensoa::pytorch::exported
