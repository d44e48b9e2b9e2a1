// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "row_dependence/without_numbers.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "row_dependence/rules.hpp"

namespace tensoa::pytorch::rows {
namespace {

/// Elements of all tensors with few rows that one operator gets.
constexpr std::int64_t kMostZeros = 1 << 24;

/// One for each of kPrimes.
using Counts = std::array<std::int64_t, kPrimes.size()>;

/// A tensor of the arguments, and what an operator gets in its place.
using Given = std::vector<std::pair<at::Tensor, at::Tensor>>;

/// Puts arguments that the operator returned where their substitutes are.
at::Tensor original(const at::Tensor& result, const Given& given) {
  const auto found =
      std::ranges::find_if(given, [&](const auto& one) { return one.second.is_same(result); });
  return found == given.end() ? at::Tensor() : found->first;
}

std::int64_t at_place(const std::vector<std::int64_t>& list, std::size_t place) {
  return list.size() == 1 ? list[0] : list[place];
}

/// Of aten::convolution and its kin, the arguments of which begin alike. torch has the sizes in Python alone.
at::Tensor convolution(const Stack& arguments) {
  const at::Tensor input = arguments[0].toTensor();
  const at::Tensor weight = arguments[1].toTensor();
  const auto stride = arguments[3].toIntVector();
  const auto padding = arguments[4].toIntVector();
  const auto dilation = arguments[5].toIntVector();
  const bool is_transposed = arguments[6].toBool();
  const auto output_padding = arguments[7].toIntVector();
  const std::int64_t groups = arguments[8].toInt();
  std::vector<std::int64_t> sizes{input.size(0),
                                  is_transposed ? weight.size(1) * groups : weight.size(0)};
  for (std::int64_t dim = 2; dim < input.dim(); ++dim) {
    const auto place = static_cast<std::size_t>(dim - 2);
    const std::int64_t kernel = at_place(dilation, place) * (weight.size(dim) - 1) + 1;
    const std::int64_t step = at_place(stride, place);
    const std::int64_t both_paddings = 2 * at_place(padding, place);
    sizes.push_back(is_transposed ? (input.size(dim) - 1) * step - both_paddings + kernel +
                                        at_place(output_padding, place)
                                  : (input.size(dim) + both_paddings - kernel) / step + 1);
  }
  return at::empty(sizes, input.options().device(c10::kMeta));
}

/// An operator that runs on zeros.
class FewRows {
 public:
  FewRows(const c10::OperatorHandle& op, const Stack& arguments) : op_(op), arguments_(arguments) {}

  Stack results() {
    Counts few;
    few.fill(kFew);
    const Stack fewer = run(few);
    std::vector<std::pair<std::int64_t, std::vector<at::Tensor>>> more;  // and what each row counts
    const Counts all = used_;
    for (std::size_t i = 0; i < kPrimes.size(); ++i) {
      if (all[i] == 0) continue;
      Counts one_more = few;
      ++one_more[i];
      more.emplace_back(kPrimes[i] - kFew, tensors_of(run(one_more)));
    }
    std::size_t place = 0;
    Stack results;
    for (const c10::IValue& value : fewer) {
      results.push_back(mapped(value, [&](const at::Tensor& one) {
        const std::size_t number = place++;
        for (const auto& [rows, others] : more) {
          if (number >= others.size() || others[number].dim() != one.dim()) {
            throw Unknown("gives another number of tensors or dimensions for other rows");
          }
        }
        if (at::Tensor own = original(one, given_); own.defined()) return own;
        std::vector<std::int64_t> sizes = one.sizes().vec();
        for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
          const std::int64_t of_few = sizes[dim];
          for (const auto& [rows, others] : more) {
            sizes[dim] += rows * (others[number].size(static_cast<std::int64_t>(dim)) - of_few);
          }
        }
        return at::empty(sizes, one.options().device(c10::kMeta));
      }));
    }
    return results;
  }

 private:
  static constexpr std::int64_t kFew = 2;  // operators may treat one as none

  std::int64_t with_few(std::int64_t size, const Counts& rows) {
    for (std::size_t i = 0; i < kPrimes.size(); ++i) {
      if (size == 0 || size % kPrimes[i] != 0) continue;
      size = size / kPrimes[i] * rows[i];
      used_[i] = 1;
    }
    return size;
  }

  /// Weights that are not written share one zero.
  at::Tensor zeros(const at::Tensor& tensor, const Counts& rows, bool is_written) {
    std::vector<std::int64_t> sizes;
    std::int64_t elements = 1;
    for (const std::int64_t size : tensor.sizes()) {
      sizes.push_back(with_few(size, rows));
      elements *= sizes.back();
    }
    const at::TensorOptions options = tensor.options().device(c10::kCPU);
    if (!is_written && elements > kMostNumbers && sizes == tensor.sizes().vec()) {
      return at::zeros(std::vector<std::int64_t>(sizes.size(), 1), options).expand(sizes);
    }
    elements_ += elements;
    if (elements_ > kMostZeros) throw Unknown("is too large to follow");
    at::Tensor made = at::zeros(sizes, options);
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
      made.unsafeGetTensorImpl()->set_wrapped_number(true);
    }
    return made;
  }

  Stack run(const Counts& rows) {
    given_.clear();
    elements_ = 0;
    Stack stack;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const c10::IValue& value = arguments_[i];
      if (value.isInt()) {
        stack.emplace_back(with_few(value.toInt(), rows));
      } else if (value.isIntList()) {
        std::vector<std::int64_t> sizes = value.toIntVector();
        for (std::int64_t& size : sizes) size = with_few(size, rows);
        stack.emplace_back(std::move(sizes));
      } else {
        const auto* alias = op_.schema().arguments()[i].alias_info();
        const bool is_written = alias != nullptr && alias->isWrite();
        stack.push_back(mapped(value, [&](const at::Tensor& one) {
          given_.emplace_back(one, zeros(one, rows, is_written));
          return given_.back().second;
        }));
      }
    }
    return run_on(op_, std::move(stack), c10::kCPU);
  }

  const c10::OperatorHandle& op_;
  const Stack& arguments_;
  Counts used_{};  ///< not 0: there are rows of it
  Given given_;    ///< to the last call
  std::int64_t elements_ = 0;
};

}  // namespace

std::vector<at::Tensor> tensors_of(const Stack& values) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : values) {
    each_tensor(value, [&](const at::Tensor& one) { tensors.push_back(one); });
  }
  return tensors;
}

c10::IValue mapped(const c10::IValue& value,
                   const std::function<at::Tensor(const at::Tensor&)>& map) {
  if (value.isTensor()) return value.toTensor().defined() ? map(value.toTensor()) : value;
  if (!value.isList()) return value;
  const c10::List<c10::IValue> list = value.toList();
  if (tensors_of({value}).empty()) return value;
  c10::impl::GenericList made(list.elementType());
  for (const c10::IValue& one : value.toListRef()) made.push_back(mapped(one, map));
  return made;
}

at::Tensor without_numbers(const at::Tensor& tensor) {
  if (tensor.is_meta()) return tensor;
  at::Tensor made =
      at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(c10::kMeta));
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    made.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return made;
}

Stack run_on(const c10::OperatorHandle& op, Stack arguments, c10::Device device) {
  const c10::FunctionSchema& schema = op.schema();
  if (schema.name() == "aten::view" && arguments[1].isIntList()) {
    return {arguments[0].toTensor().reshape(arguments[1].toIntVector())};
  }
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    if (schema.arguments()[i].name() == "device") arguments[i] = device;
  }
  op.callBoxed(arguments);
  return arguments;
}

std::optional<Stack> results_by_sizes(const c10::OperatorHandle& op, const Stack& arguments) {
  Given given;
  Stack stack;
  for (const c10::IValue& value : arguments) {
    stack.push_back(mapped(value, [&](const at::Tensor& one) {
      given.emplace_back(one, without_numbers(one));
      return given.back().second;
    }));
  }
  const std::string& name = op.schema().name();
  if (name == "aten::convolution" || name == "aten::_convolution") {
    return Stack{convolution(stack)};
  }
  try {
    stack = run_on(op, std::move(stack), c10::kMeta);
  } catch (const c10::Error&) {
    return {};
  }
  for (c10::IValue& value : stack) {
    value = mapped(value, [&](const at::Tensor& one) {
      const at::Tensor own = original(one, given);
      return own.defined() ? own : one;
    });
  }
  return stack;
}

Stack results_by_few_rows(const c10::OperatorHandle& op, const Stack& arguments) {
  return FewRows(op, arguments).results();
}

}  // namespace tensoa::pytorch::rows
