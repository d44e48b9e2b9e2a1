// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

// Operators on tensors that have sizes and no numbers, those of the device "meta": they take no memory, and next to no
// time, however large the tensors are.

namespace tensoa::pytorch::rows {

using Stack = std::vector<c10::IValue>;

/// Tensors of more elements have no numbers.
inline constexpr std::int64_t kMostNumbers = 1 << 18;

/// The tensors in all values.
std::vector<at::Tensor> tensors_of(const Stack& values);

/// The value with another tensor for each tensor in it: itself, or those in a list.
c10::IValue mapped(const c10::IValue& value,
                   const std::function<at::Tensor(const at::Tensor&)>& map);

/// A tensor of the same sizes, strides and dtype on the device "meta"; itself, where it is one.
at::Tensor without_numbers(const at::Tensor& tensor);

/// Runs an operator, with each view as torch.reshape gives it: tensors are row-major where the model is run
/// (Argument::is_row_major).
/// @param device for what the operator makes
Stack run_on(const c10::OperatorHandle& op, Stack arguments, c10::Device device);

/// The results of an operator without their numbers; an argument that the operator writes and returns is itself.
/// @return nothing where torch cannot tell the sizes without the numbers
std::optional<Stack> results_by_sizes(const c10::OperatorHandle& op, const Stack& arguments);

/// The same of an operator that only runs on numbers: it runs on zeros with two and with three rows instead of
/// kPrimes, and the sizes of the results grow from these on as they grew between the two.
/// @throws Unknown where that is too large, too; what torch throws
Stack results_by_few_rows(const c10::OperatorHandle& op, const Stack& arguments);

}  // namespace tensoa::pytorch::rows
