// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/function_schema.h>

#include <string_view>

// Effects of operators on memory: their schemas, and lists of what schemas do not say (decision 0020).

namespace tensoa::pytorch {

/// An operator that writes arguments without saying so, unless `condition` is the constant false.
struct HiddenWrite {
  std::string_view name;
  std::string_view arguments[2];
  std::string_view condition = {};
};

/// The effects of an operator on the memory of its arguments.
struct OperatorEffects {
  explicit OperatorEffects(const c10::FunctionSchema& schema);

  bool is_known;      ///< to the dispatcher; else it is of TorchScript alone
  bool shares;        ///< results may lie in any argument
  bool shares_first;  ///< … in the first one
  bool writes_all;    ///< its name says that it writes, its schema not what
  bool
      rebinds;  ///< a tensor lies in the memory of another argument afterwards: under all of its names
  const HiddenWrite* hidden = nullptr;
};

bool is_annotated_write(const c10::Argument& argument);

/// Whether `hidden` says that the argument of this name is written.
bool is_hidden_write(const HiddenWrite& hidden, std::string_view argument);

/// Whether a result with the annotation `result` may lie in an argument with `argument`.
bool may_alias(const c10::AliasInfo* result, const c10::AliasInfo* argument);

}  // namespace tensoa::pytorch
