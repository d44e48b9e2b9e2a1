// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "row_dependence/trace.hpp"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
#include <array>

#include "torchscript/jit_file.hpp"

namespace tensoa::pytorch::rows {
namespace {

/// A key that torch leaves to others: no operator has kernels for it, and all come through it while it is on.
constexpr c10::DispatchKey kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

thread_local Trace* active = nullptr;

void follow_active(const c10::OperatorHandle& op, Stack* stack) { active->follow(op, *stack); }

/// While it lives, operators of this thread go to a trace.
class Following {
 public:
  explicit Following(Trace& trace) {
    static torch::Library library(torch::Library::IMPL, "_", kKey, __FILE__, __LINE__);
    static const bool kIsSet = [] {
      library.fallback(torch::CppFunction::makeFromBoxedFunction<&follow_active>());
      return true;
    }();
    static_cast<void>(kIsSet);
    active = &trace;
  }
  ~Following() { active = nullptr; }
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;

 private:
  at::AutoDispatchBelowADInplaceOrView no_gradients_;
  c10::impl::IncludeDispatchKeyGuard on_{kKey};
};

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

/// Whether torch says that an operator is, or that its functional form is: of abs it does, of abs_ it does not.
bool is_pointwise(const c10::OperatorHandle& op, const std::string& plain) {
  if (op.hasTag(at::Tag::pointwise)) return true;
  const auto same =
      c10::Dispatcher::singleton().findSchema({"aten::" + plain, op.schema().overload_name()});
  return same && same->hasTag(at::Tag::pointwise);
}

/// Arguments that may be numbers of rows: sizes of tensors.
bool is_size(std::string_view argument) {
  return is_one_of(argument, {"size", "shape", "sizes", "repeats", "dims", "end"});
}

bool has_rows(const State& state) { return !std::holds_alternative<std::monostate>(state); }

/// Whether a value is a tensor, or has one in it.
bool holds_tensors(const c10::IValue& value) {
  if (value.isTensor()) return true;
  if (value.isTuple()) {
    return std::ranges::any_of(value.toTupleRef().elements(), holds_tensors);
  }
  return value.isList() && std::ranges::any_of(value.toListRef(), holds_tensors);
}

bool all_tensors(const Stack& values, bool (*is)(const at::Tensor&)) {
  return std::ranges::all_of(tensors_of(values), is);
}

bool any_tensor(const Stack& values, bool (*is)(const at::Tensor&)) {
  return std::ranges::any_of(tensors_of(values), is);
}

bool has_numbers(const at::Tensor& tensor) { return !tensor.is_meta(); }

bool is_small(const at::Tensor& tensor) { return tensor.numel() <= kMostNumbers; }

void each_tensor_in(const c10::IValue& value, const std::function<void(const at::Tensor&)>& visit) {
  if (value.isTuple()) {
    for (const c10::IValue& one : value.toTupleRef().elements()) each_tensor_in(one, visit);
  } else {
    each_tensor(value, visit);
  }
}

/// Operators that look at what kind of tensor one is.
bool asks_kind(std::string_view name) {
  return is_one_of(
      name, {"aten::dim", "prim::dtype", "prim::device", "prim::layout", "prim::type",
             "aten::is_floating_point", "aten::is_complex", "prim::is_cuda", "prim::is_cpu",
             "prim::is_quantized", "prim::is_sparse", "prim::requires_grad", "aten::is_contiguous",
             "aten::__is__", "aten::__isnot__", "aten::dtype", "aten::device"});
}

bool asks_size(std::string_view name) {
  return is_one_of(name, {"aten::size", "aten::len", "aten::numel", "aten::sym_size",
                          "aten::sym_numel", "prim::shape"});
}

Origin larger(Origin a, Origin b) { return std::max(a, b); }

}  // namespace

at::Tensor Trace::tensor(at::IntArrayRef sizes, c10::ScalarType dtype,
                         const std::optional<Rows>& rows) {
  at::Tensor made = at::empty(sizes, at::TensorOptions().dtype(dtype).device(c10::kMeta));
  if (!rows && made.numel() <= kMostNumbers) made = at::zeros(sizes, dtype);
  set(made, rows ? State(*rows) : State());
  return made;
}

c10::IValue Trace::constant(const c10::IValue& value) {
  return mapped(value, [](const at::Tensor& one) {
    return one.numel() > kMostNumbers ? without_numbers(one) : one.detach().to(c10::kCPU);
  });
}

State Trace::state(const at::Tensor& tensor) const {
  const auto found = states_.find(tensor.unsafeGetTensorImpl());
  return found == states_.end() ? State() : found->second.second;
}

bool Trace::is_known(const at::Tensor& tensor) const {
  return states_.contains(tensor.unsafeGetTensorImpl());
}

void Trace::set(const at::Tensor& tensor, State state) {
  states_.insert_or_assign(tensor.unsafeGetTensorImpl(),
                           std::pair(Weak(tensor.getIntrusivePtr()), state));
}

at::Tensor Trace::forget_numbers(const at::Tensor& tensor) {
  const c10::impl::ExcludeDispatchKeyGuard off(kKey);
  at::Tensor made = without_numbers(tensor);
  if (is_known(tensor)) set(made, state(tensor));
  return made;
}

void Trace::follow(const c10::OperatorHandle& op, Stack& stack) {
  const c10::FunctionSchema& schema = op.schema();
  const std::string& full = schema.name();
  const std::size_t space = full.find("::");
  last_ = full.substr(0, space) + '.' + full.substr(space + 2);
  if (!full.starts_with("aten::")) throw Unknown("which no rule follows");
  std::string name = full.substr(space + 2);
  if (!name.starts_with("__")) name.erase(name.find_last_not_of('_') + 1);
  const std::size_t first = stack.size() - schema.arguments().size();
  const Stack arguments(stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end());
  if (!has_rule(name, is_pointwise(op, name)) &&
      op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)) {
    try {
      return op.callBoxedForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd, stack);
    } catch (const c10::Error&) {
      // Recurrent layers and distances do not take tensors with numbers and those without in one call.
      const bool is_mixed =
          any_tensor(arguments, has_numbers) && !all_tensors(arguments, has_numbers);
      if (!is_mixed || schema.is_mutable()) throw;
    }
    stack.resize(first);
    for (const c10::IValue& value : arguments) {
      stack.push_back(mapped(value, [this](const at::Tensor& one) { return forget_numbers(one); }));
    }
    return op.callBoxedForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd, stack);
  }
  if (op.hasTag(at::Tag::nondeterministic_seeded)) {
    const auto dropout = schema.argumentIndexWithName("dropout_p");
    const bool is_off = dropout && arguments[static_cast<std::size_t>(*dropout)].toDouble() == 0;
    if (!is_off) throw Unknown("draws random numbers");
  }
  stack.resize(first);
  for (c10::IValue& value : results_of(op, name, arguments)) stack.push_back(std::move(value));
}

Stack Trace::results_of(const c10::OperatorHandle& op, const std::string& name,
                        const Stack& arguments) {
  const c10::FunctionSchema& schema = op.schema();
  const c10::impl::ExcludeDispatchKeyGuard off(kKey);
  std::vector<std::pair<const c10::TensorImpl*, State>> before;
  for (const at::Tensor& one : tensors_of(arguments)) {
    before.emplace_back(one.unsafeGetTensorImpl(), state(one));
  }
  const bool may_run = all_tensors(arguments, has_numbers);
  std::optional<Stack> results = results_by_sizes(op, arguments);
  const bool has_run = !results && may_run;
  // The rules refuse operators whose sizes follow from the numbers in rows.
  const bool has_rows_in = std::ranges::any_of(
      before, [](const auto& one) { return std::holds_alternative<Rows>(one.second); });
  if (!results && !may_run && !has_rows_in && op.hasTag(at::Tag::dynamic_output_shape)) {
    throw Unknown("is too large to follow");
  }
  if (!results) {
    results = may_run ? run_on(op, arguments, c10::kCPU) : results_by_few_rows(op, arguments);
  }
  const Call call(
      name, schema, arguments, [this](const at::Tensor& one) { return state(one); },
      tensors_of(*results));
  const std::vector<State> states = rows::results_of(call, is_pointwise(op, name));
  const bool have_rows = std::ranges::any_of(
      states, [](const State& one) { return std::holds_alternative<Rows>(one); });
  if (may_run && !has_run && !have_rows && all_tensors(*results, is_small)) {
    results = run_on(op, arguments, c10::kCPU);
  }
  if (have_rows) {
    for (c10::IValue& value : *results) value = mapped(value, without_numbers);
  }
  const bool gives_number =
      std::ranges::any_of(*results, [](const c10::IValue& one) { return one.isScalar(); });
  if (gives_number && !may_run)
    throw Unknown("is too large to follow: it takes a number out of a tensor");
  const bool writes = schema.is_mutable() && !turns(name);  // transpose_ turns, and writes nothing
  const std::vector<at::Tensor> tensors = tensors_of(*results);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    State now = states[i];
    if (std::holds_alternative<Count>(now)) {
      now = Count{is_plain_product(name, arguments, tensors[i])};
    }
    if (!has_rows(now) && depends_on_count_) now = Count{};
    const auto was = std::ranges::find(before, tensors[i].unsafeGetTensorImpl(),
                                       [](const auto& one) { return one.first; });
    if (writes && was != before.end() && was->second != now) {
      throw Unknown("writes other rows into a tensor");
    }
    if (writes && !may_run && has_numbers(tensors[i])) {
      throw Unknown("is too large to follow: it writes a tensor into a small one");
    }
    set(tensors[i], now);
  }
  return *results;
}

bool Trace::is_plain_product(const std::string& name, const std::vector<c10::IValue>& arguments,
                             const at::Tensor& result) const {
  if (!is_one_of(name, {"mul", "floor_divide"}) || result.dim() != 0 ||
      result.scalar_type() != at::kLong || !has_numbers(result)) {
    return false;
  }
  bool are_plain = true;
  for (const c10::IValue& value : arguments) {
    each_tensor(value, [&](const at::Tensor& one) {
      const State of_one = state(one);
      const Count* count = std::get_if<Count>(&of_one);
      are_plain = are_plain && (count == nullptr || count->is_plain);
    });
  }
  return are_plain && is_one_count(*result.const_data_ptr<std::int64_t>());
}

bool Trace::check_counts(const c10::FunctionSchema& schema, const std::vector<Known>& arguments) {
  bool has_count = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].origin == Origin::kFixed) continue;
    has_count = true;
    const bool may_be = i < schema.arguments().size() && is_size(schema.arguments()[i].name()) &&
                        arguments[i].origin == Origin::kCount;
    if (!may_be) throw Mixes("with the number of rows of the call");
  }
  return has_count;
}

std::vector<Known> Trace::call(const c10::FunctionSchema& schema, std::vector<Known> arguments,
                               const std::function<void(Stack& stack)>& run) {
  const std::string& name = schema.name();
  last_ = name;
  std::ranges::replace(last_, ':', '.');
  if (const auto dots = last_.find(".."); dots != std::string::npos) last_.erase(dots, 1);
  const bool takes_tensors =
      std::ranges::any_of(arguments, [](const Known& one) { return holds_tensors(one.value); });
  const bool gives_tensors = std::ranges::any_of(schema.returns(), [](const c10::Argument& one) {
    return one.type()->kind() == c10::TypeKind::TensorType ||
           (one.type()->kind() == c10::TypeKind::ListType &&
            one.type()->containedType(0)->kind() == c10::TypeKind::TensorType);
  });
  const bool is_of_torch = name.starts_with("aten::") && (takes_tensors || gives_tensors) &&
                           name != "aten::__getitem__" && name != "aten::append" &&
                           !asks_size(name) && !asks_kind(name);
  const bool has_count =
      std::ranges::any_of(arguments, [](const Known& one) { return one.origin != Origin::kFixed; });
  if (is_of_torch) check_counts(schema, arguments);
  // A list that is changed has other names, too, which would not see the change.
  if (!is_of_torch && has_count && schema.is_mutable()) {
    throw Unknown("changes a list of numbers of rows");
  }
  Stack stack;
  for (const Known& one : arguments) stack.push_back(one.value);
  depends_on_count_ = has_count;
  // Operators that make tensors of numbers write them into memory.
  if (is_one_of(name, {"aten::tensor", "aten::as_tensor", "prim::NumToTensor"})) {
    run(stack);
  } else {
    const Following following(*this);
    run(stack);
  }
  // As where the program runs.
  if (name == "prim::device") stack = {c10::Device(c10::kCPU)};
  if (name == "prim::is_cpu") stack = {true};
  std::vector<Known> results;
  for (c10::IValue& value : stack) {
    results.push_back(result(schema, arguments, std::move(value), has_count));
  }
  return results;
}

Known Trace::result(const c10::FunctionSchema& schema, const std::vector<Known>& arguments,
                    c10::IValue value, bool has_count) {
  const std::string& name = schema.name();
  State of_tensors;
  bool takes_tensors = false;
  for (const Known& argument : arguments) {
    each_tensor_in(argument.value, [&](const at::Tensor& one) {
      takes_tensors = true;
      if (has_rows(state(one))) of_tensors = state(one);
    });
  }
  if (holds_tensors(value)) {
    if (value.isTensor() &&
        is_one_of(name, {"aten::tensor", "aten::as_tensor", "prim::NumToTensor"})) {
      if (has_rows(of_tensors)) throw Unknown("which no rule follows");
      const bool is_plain = !arguments.empty() && arguments[0].origin == Origin::kCount;
      if (has_count) {
        set(value.toTensor(), Count{is_plain && value.toTensor().dim() == 0});
      } else {
        value = constant(value);
      }
      return {std::move(value)};
    }
    each_tensor_in(value, [&](const at::Tensor& one) {
      if (is_known(one)) return;
      if (has_rows(of_tensors)) throw Unknown("which no rule follows");
      if (has_count) set(one, Count{});
    });
    return {std::move(value)};
  }
  if (takes_tensors && has_rows(of_tensors) && !asks_kind(name)) {
    const Rows* rows = std::get_if<Rows>(&of_tensors);
    if (value.isInt() && rows == nullptr) {
      const bool is_plain = std::get<Count>(of_tensors).is_plain && is_one_count(value.toInt());
      return {std::move(value), is_plain ? Origin::kCount : Origin::kOther};
    }
    if (rows == nullptr || !asks_size(name)) {
      if (value.isNone()) return {std::move(value)};
      throw Unknown("takes a number out of a tensor");
    }
    const auto origin_of = [](std::int64_t size) {
      const bool has_prime =
          std::ranges::any_of(kPrimes, [&](std::int64_t prime) { return size % prime == 0; });
      return size == 0 || !has_prime ? Origin::kFixed
             : is_one_count(size)    ? Origin::kCount
                                     : Origin::kOther;
    };
    if (value.isInt()) {
      const Origin origin = origin_of(value.toInt());
      return {std::move(value), origin};
    }
    Known known{std::move(value)};
    for (const std::int64_t size : known.value.toIntVector()) {
      known.elements.push_back(origin_of(size));
      known.origin = larger(known.origin, known.elements.back());
    }
    return known;
  }
  if (!has_count || name == "aten::len") return {std::move(value)};
  Origin origin = Origin::kFixed;
  for (const Known& argument : arguments) origin = larger(origin, argument.origin);
  if (name == "aten::__getitem__" && arguments[1].origin == Origin::kFixed &&
      !arguments[0].elements.empty()) {
    const auto size = static_cast<std::int64_t>(arguments[0].elements.size());
    const std::int64_t place = arguments[1].value.toInt();
    origin = arguments[0].elements[static_cast<std::size_t>(place < 0 ? place + size : place)];
    return {std::move(value), origin};
  }
  // Of lists: some of their numbers, or those of both.
  if (value.isIntList() && is_one_of(name, {"aten::slice", "aten::add", "aten::list"}) &&
      arguments[0].value.isIntList()) {
    return {std::move(value), origin};
  }
  const bool is_product = is_one_of(name, {"aten::mul", "aten::floordiv"}) && value.isInt();
  const bool is_count = origin == Origin::kCount && is_product && is_one_count(value.toInt());
  return {std::move(value), is_count ? Origin::kCount : Origin::kOther};
}

RowDependence proven(const Trace& trace, const std::function<void()>& find,
                     const std::function<std::string()>& place) {
  using Answer = RowDependence::Answer;
  const auto because = [&](const std::exception& error) {
    return (trace.last().empty() ? "" : trace.last() + ' ') + short_message(error) + place();
  };
  try {
    find();
  } catch (const Mixes& error) {
    return {Answer::kDependent, because(error)};
  } catch (const std::exception& error) {
    return {Answer::kUnknown, because(error)};
  }
  return {Answer::kIndependent, ""};
}

void require_rows(const State& state, std::size_t dim, const std::string& output) {
  const Rows* rows = std::get_if<Rows>(&state);
  if (rows == nullptr || *rows != Rows{rows->collection, static_cast<std::int64_t>(dim)}) {
    throw Mixes("gives " + output + ", which does not have a row for each row of the inputs");
  }
}

}  // namespace tensoa::pytorch::rows
