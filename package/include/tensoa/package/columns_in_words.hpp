// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tensoa/engine/describe.hpp"
#include "tensoa/package/inspect.hpp"

/// @file
/// Columns as people type them, for a model that does not store its own: TorchScript and programs of torch.export. The words
/// are those of `tensoa compile`.

namespace tensoa::package {

/// Returns the columns that are side by side in blocks of these words. A word of an input:
///
///     features=pt,eta,phi                a block [n, 3] of float32 columns
///     charge=charge:int32                of columns of another dtype
///     x=r,phi,z@hits                     blocks of one collection, here "hits", have the same number of rows
///     edge_index.T=from,to:int64@edges   [2, n], as edge lists are
///     field=field@call                   one number for each call
///
/// and of an output: `score`, a block [n] or [n, 1] called as its column, or `scores=signal,background:float64@hits`; without a
/// collection it has the number of rows of the first input that has rows.
/// @throws ConfigError that shows such a word
BindingDescription columns_in_words(const std::vector<std::string>& inputs,
                                    const std::vector<std::string>& outputs);

/// The words for a model that does not describe its columns: "columns x=COLUMN,… outputs score=COLUMN,…".
/// @param model as inspect() has it @param option before their names: "--"
std::string words_for(const ModelDescription& model, const std::string& option = {});

}  // namespace tensoa::package
