// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "row_dependence/rules.hpp"
#include "row_dependence/without_numbers.hpp"
#include "tensoa/engine/row_dependence.hpp"

// A call of a program in which the rows are followed. Tensors with rows have sizes and no numbers; others have numbers
// where they are small, because sizes may be calculated from them.

namespace tensoa::pytorch::rows {

/// How a number that is not in a tensor comes about.
enum class Origin : std::uint8_t {
  kFixed,  ///< it is the same at every call
  kCount,  ///< the number of rows of a collection, times a constant; of a list: such and fixed ones
  kOther,  ///< something else that is made of numbers of rows
};

/// A value of a program.
struct Known {
  c10::IValue value;
  Origin origin = Origin::kFixed;
  std::vector<Origin> elements = {};  ///< of a list that was just made of numbers
};

/// Calls operators, and follows the rows through all that they are made of.
/// *Threads*: one at a time.
class Trace {
 public:
  /// @return a tensor without numbers, or of zeros @param rows that lie in it; nothing where it is the same at every call
  at::Tensor tensor(at::IntArrayRef sizes, c10::ScalarType dtype, const std::optional<Rows>& rows);

  /// A weight or a constant, or a list of them: on the CPU, or without numbers where it is large.
  static c10::IValue constant(const c10::IValue& value);

  State state(const at::Tensor& tensor) const;

  /// @param run takes the arguments from the stack and leaves the results there
  /// @throws Mixes, Unknown; what torch throws, where an operator does not run
  std::vector<Known> call(const c10::FunctionSchema& schema, std::vector<Known> arguments,
                          const std::function<void(Stack& stack)>& run);

  /// "aten.mean": the operator that ran last.
  const std::string& last() const noexcept { return last_; }

  /// An operator that torch calls while `run` runs.
  void follow(const c10::OperatorHandle& op, Stack& stack);

 private:
  bool is_known(const at::Tensor& tensor) const;
  void set(const at::Tensor& tensor, State state);
  /// The same tensor to the rules.
  at::Tensor forget_numbers(const at::Tensor& tensor);
  /// @param name as Call has it
  Stack results_of(const c10::OperatorHandle& op, const std::string& name, const Stack& arguments);
  /// As traced programs calculate sizes: in tensors of one number.
  bool is_plain_product(const std::string& name, const std::vector<c10::IValue>& arguments,
                        const at::Tensor& result) const;
  /// @return whether one of the arguments is made of numbers of rows @throws Mixes
  static bool check_counts(const c10::FunctionSchema& schema, const std::vector<Known>& arguments);
  Known result(const c10::FunctionSchema& schema, const std::vector<Known>& arguments,
               c10::IValue value, bool has_count);

  std::string last_;
  bool depends_on_count_ = false;  ///< an argument of the operators that run now
  /// By address, which stays its own: the weak pointer keeps it, without the numbers.
  using Weak = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
  std::unordered_map<const c10::TensorImpl*, std::pair<Weak, State>> states_;
};

/// The result of `find`: independent where it returns.
/// @param place of the operator that runs: ", at model.py:12", or empty
RowDependence proven(const Trace& trace, const std::function<void()>& find,
                     const std::function<std::string()>& place);

/// @throws Mixes unless the rows of a collection lie in this dimension, one after another
void require_rows(const State& state, std::size_t dim, const std::string& output);

}  // namespace tensoa::pytorch::rows
