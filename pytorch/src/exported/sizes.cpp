// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "exported/sizes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

namespace tensoa::pytorch::exported {
namespace {

std::int64_t floor_of(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// Whether a / b is defined, and fits.
bool divides(std::int64_t a, std::int64_t b) {
  return b != 0 && (b != -1 || a != std::numeric_limits<std::int64_t>::min());
}

}  // namespace

std::size_t Symbols::number_of(std::string_view name) {
  const auto found = std::ranges::find(names_, name);
  if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
  names_.emplace_back(name);
  return names_.size() - 1;
}

/// Reads `Name(argument, …)`, numbers and names in quotes; the arguments `positive=True` are skipped.
class Size::Parser {
 public:
  Parser(std::string_view text, Symbols& symbols, std::vector<Step>& steps)
      : left_(text), symbols_(symbols), steps_(steps) {}

  bool read_all() { return read(0) && left_.empty(); }

 private:
  static constexpr int kDeepest = 100;

  bool take(std::string_view what) {
    if (!left_.starts_with(what)) return false;
    left_.remove_prefix(what.size());
    return true;
  }

  std::string_view take_until(std::string_view ends) {
    const std::string_view taken = left_.substr(0, left_.find_first_of(ends));
    left_.remove_prefix(taken.size());
    return taken;
  }

  bool read(int depth) {
    const std::string_view name = take_until("(),=' ");
    if (name.empty() || depth > kDeepest || !take("(")) return false;
    if (name == "Symbol") return read_symbol();
    if (name == "Integer") return read_number();
    std::int64_t operands = 0;
    do {
      if (!read(depth + 1)) return false;
      ++operands;
    } while (take(", "));
    steps_.push_back({operation_called(name, operands), operands});
    return take(")");
  }

  bool read_symbol() {
    if (!take("'")) return false;
    const std::string_view name = take_until("'");
    steps_.push_back({Operation::kSymbol, static_cast<std::int64_t>(symbols_.number_of(name))});
    take_until(")");
    return take(")");
  }

  bool read_number() {
    const std::string_view digits = take_until(")");
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    steps_.push_back({Operation::kNumber, value});
    return error == std::errc() && end == digits.data() + digits.size() && take(")");
  }

  static Operation operation_called(std::string_view name, std::int64_t operands) {
    if (name == "Add") return Operation::kAdd;
    if (name == "Mul") return Operation::kMul;
    if (name == "Max") return Operation::kMax;
    if (name == "Min") return Operation::kMin;
    if (operands == 2 && (name == "FloorDiv" || name == "CleanDiv")) return Operation::kFloorDiv;
    if (operands == 2 && (name == "Mod" || name == "PythonMod")) return Operation::kMod;
    return Operation::kUnknown;
  }

  std::string_view left_;
  Symbols& symbols_;
  std::vector<Step>& steps_;
};

Size::Size(const Json& symbolic, Symbols& symbols) {
  const auto& [kind, value] = only_member(symbolic);
  if (kind == "as_int") {
    steps_.push_back({Operation::kNumber, number(*value)});
  } else if (!Parser(text(member(*value, "expr_str")), symbols, steps_).read_all()) {
    steps_.assign(1, {Operation::kUnknown, 0});
  }
}

std::optional<std::int64_t> Size::fixed() const noexcept {
  if (steps_.size() != 1 || steps_[0].operation != Operation::kNumber) return {};
  return steps_[0].value;
}

std::optional<std::size_t> Size::symbol() const noexcept {
  if (steps_.size() != 1 || steps_[0].operation != Operation::kSymbol) return {};
  return static_cast<std::size_t>(steps_[0].value);
}

std::optional<std::int64_t> Size::value(const Values& symbols) const {
  if (const auto number = fixed()) return number;
  if (const auto open = symbol()) {
    const std::int64_t bound = symbols[*open];
    return bound == kUnknown ? std::nullopt : std::optional(bound);
  }
  std::vector<std::int64_t> operands;
  for (const Step& step : steps_) {
    std::int64_t result = step.value;
    if (step.operation == Operation::kUnknown) return {};
    if (step.operation == Operation::kSymbol) {
      result = symbols[static_cast<std::size_t>(step.value)];
      if (result == kUnknown) return {};
    } else if (step.operation != Operation::kNumber) {
      const auto count = static_cast<std::size_t>(step.value);
      const std::vector<std::int64_t> own(operands.end() - static_cast<std::ptrdiff_t>(count),
                                          operands.end());
      operands.resize(operands.size() - count);
      result = own[0];
      for (std::size_t i = 1; i < count; ++i) {
        bool overflows = false;
        switch (step.operation) {
          case Operation::kAdd:
            overflows = __builtin_add_overflow(result, own[i], &result);
            break;
          case Operation::kMul:
            overflows = __builtin_mul_overflow(result, own[i], &result);
            break;
          case Operation::kMax:
            result = std::max(result, own[i]);
            break;
          case Operation::kMin:
            result = std::min(result, own[i]);
            break;
          default:
            if (!divides(result, own[i])) return {};
            const std::int64_t quotient = floor_of(result, own[i]);
            result = step.operation == Operation::kMod ? result - quotient * own[i] : quotient;
        }
        if (overflows) return {};
      }
    }
    operands.push_back(result);
  }
  return operands.size() == 1 ? std::optional(operands[0]) : std::nullopt;
}

// ---- operations of nodes

namespace {

c10::IValue pop_size(Stack& stack) {
  c10::IValue value = std::move(stack.back());
  stack.pop_back();
  return value;
}

double real(const c10::IValue& value) {
  if (value.isDouble()) return value.toDouble();
  return value.isBool() ? static_cast<double>(value.toBool()) : static_cast<double>(value.toInt());
}

std::int64_t whole(const c10::IValue& value) {
  return value.isBool() ? static_cast<std::int64_t>(value.toBool()) : value.toInt();
}

/// As Python: whole numbers stay what they are, a number that is not makes both real.
template <class OfWhole, class OfReal>
void both(Stack& stack, OfWhole of_whole, OfReal of_real) {
  const c10::IValue b = pop_size(stack);
  const c10::IValue a = pop_size(stack);
  if (a.isDouble() || b.isDouble()) {
    stack.emplace_back(of_real(real(a), real(b)));
  } else {
    stack.emplace_back(of_whole(whole(a), whole(b)));
  }
}

[[noreturn]] void fail_size(const char* what) { throw std::runtime_error(what); }

template <auto kOverflows>
std::int64_t checked(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (kOverflows(a, b, &result)) fail_size("a size does not fit into 64 bits");
  return result;
}
constexpr auto kAdds = [](auto a, auto b, auto* to) { return __builtin_add_overflow(a, b, to); };
constexpr auto kSubtracts = [](auto a, auto b, auto* to) {
  return __builtin_sub_overflow(a, b, to);
};
constexpr auto kMultiplies = [](auto a, auto b, auto* to) {
  return __builtin_mul_overflow(a, b, to);
};

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (!divides(a, b)) fail_size("a size is divided by zero");
  return floor_of(a, b);
}

template <class Compare>
void compare(Stack& stack) {
  both(
      stack, [](auto a, auto b) { return Compare()(a, b); },
      [](auto a, auto b) { return Compare()(a, b); });
}

void truncate(Stack& stack) {
  const double value = std::trunc(real(pop_size(stack)));
  if (!(std::abs(value) < 9.2e18)) fail_size("a size does not fit into 64 bits");
  stack.emplace_back(static_cast<std::int64_t>(value));
}

struct Named {
  std::string_view target;
  KnownOperation operation;
};

const std::array kOperations{
    Named{"_operator.add",
          {[](Stack& stack) {
             both(stack, checked<kAdds>, [](double a, double b) { return a + b; });
           },
           2}},
    Named{"_operator.sub",
          {[](Stack& stack) {
             both(stack, checked<kSubtracts>, [](double a, double b) { return a - b; });
           },
           2}},
    Named{"_operator.mul",
          {[](Stack& stack) {
             both(stack, checked<kMultiplies>, [](double a, double b) { return a * b; });
           },
           2}},
    Named{"_operator.floordiv",
          {[](Stack& stack) {
             both(stack, floor_div, [](double a, double b) { return std::floor(a / b); });
           },
           2}},
    Named{"_operator.mod",
          {[](Stack& stack) {
             both(
                 stack, [](std::int64_t a, std::int64_t b) { return a - floor_div(a, b) * b; },
                 [](double a, double b) { return a - std::floor(a / b) * b; });
           },
           2}},
    Named{"_operator.truediv",
          {[](Stack& stack) {
             const double b = real(pop_size(stack));
             stack.emplace_back(real(pop_size(stack)) / b);
           },
           2}},
    Named{"_operator.pow",
          {[](Stack& stack) {
             both(
                 stack,
                 [](std::int64_t a, std::int64_t b) {
                   if (b < 0 || b > 63) fail_size("a size to a power that is not from 0 to 63");
                   std::int64_t power = 1;
                   for (; b > 0; --b) power = checked<kMultiplies>(power, a);
                   return power;
                 },
                 [](double a, double b) { return std::pow(a, b); });
           },
           2}},
    Named{"_operator.neg",
          {[](Stack& stack) {
             const c10::IValue a = pop_size(stack);
             if (a.isDouble()) {
               stack.emplace_back(-a.toDouble());
             } else {
               stack.emplace_back(checked<kSubtracts>(0, whole(a)));
             }
           },
           1}},
    Named{"_operator.pos", {[](Stack& /*stack*/) {}, 1}},
    Named{"_operator.eq", {compare<std::equal_to<>>, 2}},
    Named{"_operator.ne", {compare<std::not_equal_to<>>, 2}},
    Named{"_operator.lt", {compare<std::less<>>, 2}},
    Named{"_operator.le", {compare<std::less_equal<>>, 2}},
    Named{"_operator.gt", {compare<std::greater<>>, 2}},
    Named{"_operator.ge", {compare<std::greater_equal<>>, 2}},
    Named{"_operator.and_",
          {[](Stack& stack) {
             const bool b = pop_size(stack).toBool();
             stack.emplace_back(pop_size(stack).toBool() && b);
           },
           2}},
    Named{"_operator.or_",
          {[](Stack& stack) {
             const bool b = pop_size(stack).toBool();
             stack.emplace_back(pop_size(stack).toBool() || b);
           },
           2}},
    Named{"torch.sym_not",
          {[](Stack& stack) { stack.emplace_back(!pop_size(stack).toBool()); }, 1}},
    Named{"torch.sym_max",
          {[](Stack& stack) {
             constexpr auto kLarger = [](auto a, auto b) { return std::max(a, b); };
             both(stack, kLarger, kLarger);
           },
           2}},
    Named{"torch.sym_min",
          {[](Stack& stack) {
             constexpr auto kSmaller = [](auto a, auto b) { return std::min(a, b); };
             both(stack, kSmaller, kSmaller);
           },
           2}},
    Named{"torch.sym_float", {[](Stack& stack) { stack.emplace_back(real(pop_size(stack))); }, 1}},
    Named{"math.trunc", {truncate, 1}},
    Named{"torch.sym_int", {truncate, 1}},
    Named{"torch.sym_sqrt",
          {[](Stack& stack) { stack.emplace_back(std::sqrt(real(pop_size(stack)))); }, 1}},
};

}  // namespace

std::optional<KnownOperation> size_operation(std::string_view target) {
  const auto* found = std::ranges::find(kOperations, target, &Named::target);
  return found == kOperations.end() ? std::nullopt : std::optional(found->operation);
}

}  // namespace tensoa::pytorch::exported
