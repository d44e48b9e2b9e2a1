// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// Where the rows of a call lie in the tensors that an operator gives, and whether it reads other rows for one of them.
// The same rules as python/tensoa/row_dependence/rules.py has, over the same operators.json.

namespace tensoa::pytorch::rows {

/// The number of rows of each collection in the calls that are followed: a dimension has rows in it where the prime divides
/// its size.
inline constexpr std::array<std::int64_t, 8> kPrimes{1009, 1013, 1019, 1021,
                                                     1031, 1033, 1039, 1049};

/// An operator reads other rows than the own one.
class Mixes : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An operator, or a use of it, that no rule follows.
class Unknown : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Element i of dimension `dim` belongs to row (i / inner) % rows; there are `outer` times all rows one after another.
struct Rows {
  std::size_t collection = 0;
  std::int64_t dim = 0;
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  bool is_number = false;  ///< the elements are the numbers of the rows, as torch.arange gives them

  std::int64_t size() const { return outer * kPrimes[collection] * inner; }
  friend bool operator==(const Rows&, const Rows&) = default;
};

/// The tensor depends on how many rows there are, and on none of them.
struct Count {
  bool is_plain = false;  ///< it is the number of rows of a collection, times a constant
  friend bool operator==(const Count&, const Count&) = default;
};

/// Of a tensor; the first is the same at every call.
using State = std::variant<std::monostate, Count, Rows>;

/// Whether a number is that of the rows of one collection, times a constant.
bool is_one_count(std::int64_t number);

/// Calls `visit` with each tensor in a value: itself, or those in a list.
void each_tensor(const c10::IValue& value, const std::function<void(const at::Tensor&)>& visit);

/// An operator on tensors without numbers.
class Call {
 public:
  using StateOf = std::function<State(const at::Tensor&)>;
  using WithRows = std::vector<std::pair<at::Tensor, Rows>>;

  /// @param name without namespace, overload, and the _ of those that write their argument
  Call(std::string name, const c10::FunctionSchema& schema, std::span<const c10::IValue> arguments,
       StateOf state, std::vector<at::Tensor> results);

  const std::string& name() const noexcept { return name_; }
  /// Those whose numbers it may read or write.
  const std::vector<at::Tensor>& tensors() const noexcept { return tensors_; }
  /// Those of its arguments in which it changes numbers.
  const std::vector<at::Tensor>& written() const noexcept { return written_; }
  const std::vector<at::Tensor>& results() const noexcept { return results_; }
  State state(const at::Tensor& tensor) const { return state_(tensor); }

  /// The same call, of which only these results count.
  Call with_results(std::vector<at::Tensor> results) const {
    return {name_, schema_, arguments_, state_, std::move(results)};
  }

  /// nullptr where the operator has no such argument, or it is None.
  const c10::IValue* argument(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  at::Tensor tensor(std::string_view name) const;

  /// The tensors that have rows.
  WithRows rows() const;
  std::optional<Rows> rows_of(std::string_view name) const;

 private:
  std::string name_;
  const c10::FunctionSchema& schema_;
  std::span<const c10::IValue> arguments_;
  StateOf state_;
  std::vector<at::Tensor> tensors_;
  std::vector<at::Tensor> written_;
  std::vector<at::Tensor> results_;
};

/// Whether an operator has a rule; those that torch calls pointwise get that of elementwise ones.
bool has_rule(const std::string& name, bool is_pointwise);

/// Whether what the operator writes is how a tensor is seen, not what is in it: transpose_.
bool turns(const std::string& name);

/// Of each result where its rows lie. @throws Mixes, Unknown
std::vector<State> results_of(const Call& call, bool is_pointwise);

}  // namespace tensoa::pytorch::rows
