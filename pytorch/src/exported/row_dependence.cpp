// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "exported/row_dependence.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ranges>
#include <regex>
#include <string>
#include <utility>

#include "row_dependence/trace.hpp"

namespace tensoa::pytorch::exported {
namespace {

using rows::Known;
using rows::Origin;

constexpr std::int64_t kLeast = 2;  // torch.export takes one row for a size that is always 1
constexpr std::int64_t kLeastLargest = std::int64_t{1} << 40;

/// A condition on arguments with each of their sizes as "rows".
std::string in_words(const std::string& condition) {
  static const std::regex kSize(R"(L\['\w+'\](\[[^\]]+\])*\.size\(\)\[\d+\])");
  return std::regex_replace(condition, kSize, "rows");
}

/// The arithmetic of Python on sizes, as an operator.
const c10::FunctionSchema& schema_of_sizes(const std::string& target) {
  static const auto make = [](const char* name) { return c10::FunctionSchema(name, "", {}, {}); };
  static const c10::FunctionSchema kMul = make("aten::mul");
  static const c10::FunctionSchema kFloorDiv = make("aten::floordiv");
  static const c10::FunctionSchema kOther = make("prim::size_arithmetic");
  if (target == "_operator.mul") return kMul;
  return target == "_operator.floordiv" ? kFloorDiv : kOther;
}

class ProgramRun {
 public:
  explicit ProgramRun(const Program& program) : program_(program), values_(program.values.size()) {}

  ProgramRows find() {
    ProgramRows found;
    found.dependence = rows::proven(
        trace_, [&] { run(found); },
        [&] { return node_ == nullptr ? std::string() : node_->author_line; });
    if (!found.dependence.are_independent()) return found;
    if (const auto limit = limit_of_rows()) {
      found.dependence = {RowDependence::Answer::kUnknown, *limit};
    }
    return found;
  }

 private:
  void run(ProgramRows& found) {
    found.of_inputs.resize(program_.inputs.size());
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      const Value& input = program_.values[program_.inputs[i]];
      if (!input.meta) throw rows::Unknown("has an input without sizes");
      std::vector<std::int64_t> sizes;
      std::optional<rows::Rows> own;
      for (std::size_t dim = 0; dim < input.meta->sizes.size(); ++dim) {
        const Size& size = input.meta->sizes[dim];
        if (const auto fixed = size.fixed()) {
          sizes.push_back(*fixed);
          continue;
        }
        if (own || !size.symbol()) throw rows::Unknown("has an input with several open sizes");
        if (std::ranges::find(symbols_, *size.symbol()) == symbols_.end()) {
          symbols_.push_back(*size.symbol());
        }
        const auto collection = static_cast<std::size_t>(
            std::ranges::find(symbols_, *size.symbol()) - symbols_.begin());
        if (collection == rows::kPrimes.size()) throw rows::Unknown("has too many collections");
        own = rows::Rows{collection, static_cast<std::int64_t>(dim)};
        found.of_inputs[i] = dim;
        sizes.push_back(rows::kPrimes[collection]);
      }
      values_[program_.inputs[i]].value = trace_.tensor(sizes, input.meta->dtype, own);
    }
    for (const Weight& weight : program_.weights) {
      const Value& value = program_.values[weight.value];
      std::vector<std::int64_t> sizes;
      if (!value.meta) throw rows::Unknown("has a weight without sizes");
      for (const Size& size : value.meta->sizes) {
        if (!size.fixed()) throw rows::Unknown("has a weight of open size");
        sizes.push_back(*size.fixed());
      }
      values_[weight.value].value = trace_.tensor(sizes, value.meta->dtype, {});
    }
    std::vector<const Node*> last_use(program_.values.size());
    for (const Node& node : program_.nodes) {
      for (const Argument& one : node.arguments) {
        one.each_value([&](ValueId value) { last_use[value] = &node; });
      }
    }
    for (const ValueId output : program_.outputs) last_use[output] = nullptr;
    for (const Node& node : program_.nodes) {
      node_ = &node;
      call(node);
      for (const Argument& one : node.arguments) {
        one.each_value([&](ValueId value) {
          if (last_use[value] == &node) values_[value] = {};
        });
      }
    }
    node_ = nullptr;
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      const c10::IValue& value = values_[program_.outputs[i]].value;
      if (!value.isTensor()) throw rows::Unknown("gives something else than tensors");
      const rows::State state = trace_.state(value.toTensor());
      const rows::Rows* own = std::get_if<rows::Rows>(&state);
      const std::size_t dim = own == nullptr ? 0 : static_cast<std::size_t>(own->dim);
      rows::require_rows(state, dim, "output " + std::to_string(i + 1));
      found.of_outputs.push_back(dim);
    }
  }

  /// Why the program is known to be that of the model for some numbers of rows alone; nothing where it is not.
  std::optional<std::string> limit_of_rows() const {
    for (const std::size_t symbol : symbols_) {
      const auto found = program_.limits.find(symbol);
      if (found == program_.limits.end()) return "it does not state how many rows it takes";
      const auto [least, largest] = found->second;
      if (least > kLeast || largest < kLeastLargest) {
        return "a number of rows that is not any (at least " + std::to_string(least) +
               (largest < kLeastLargest ? ", at most " + std::to_string(largest) : "") + ')';
      }
    }
    for (const std::string& condition : program_.conditions) {
      const std::string words = in_words(condition);
      if (words != "rows == rows") {
        return "a branch on the number of rows, followed only where " + words;
      }
    }
    return {};
  }

  Known argument(const Argument& argument) const {
    if (argument.form == Argument::Form::kConstant) {
      return {rows::Trace::constant(argument.constant)};
    }
    if (argument.form == Argument::Form::kValue) {
      const Known& known = values_[argument.value];
      if (!argument.wraps_number) return known;
      if (known.origin != Origin::kFixed) throw rows::Mixes("with the number of rows of the call");
      return {wrapped_number(known.value)};
    }
    Known list;
    c10::impl::GenericList elements(argument.element_type);
    for (const Argument& one : argument.elements) {
      Known known = this->argument(one);
      list.elements.push_back(known.origin);
      list.origin = std::max(list.origin, known.origin);
      elements.push_back(std::move(known.value));
    }
    list.value = elements;
    return list;
  }

  void call(const Node& node) {
    // Their conditions on sizes hold where the program runs.
    if (node.target.starts_with("aten._assert") ||
        node.target.find("sym_constrain") != std::string::npos) {
      return;
    }
    std::vector<Known> arguments;
    arguments.reserve(node.arguments.size());
    for (const Argument& one : node.arguments) arguments.push_back(argument(one));
    const c10::FunctionSchema& schema = node.op ? node.op->schema() : schema_of_sizes(node.target);
    const std::vector<Known> results =
        trace_.call(schema, std::move(arguments), [&](rows::Stack& stack) {
          if (node.op) {
            node.op->callBoxed(stack);
          } else {
            node.size_operation(stack);
          }
        });
    for (std::size_t i = 0; i < std::min(results.size(), node.results.size()); ++i) {
      const Result& result = node.results[i];
      for (std::size_t place = 0; place < result.values.size(); ++place) {
        if (result.values[place] == kNoValue) continue;
        values_[result.values[place]] =
            result.is_list ? Known{results[i].value.toList().get(place)} : results[i];
      }
    }
  }

  const Program& program_;
  rows::Trace trace_;
  std::vector<Known> values_;
  const Node* node_ = nullptr;
  std::vector<std::size_t> symbols_;  ///< of the numbers of rows, by collection
};

}  // namespace

ProgramRows rows_of(const Program& program) { return ProgramRun(program).find(); }

}  // namespace tensoa::pytorch::exported
