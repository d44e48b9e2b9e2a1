// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "tensoa/forest/readers.hpp"

namespace tensoa::forest {

/// How a tree file is loaded: `Model<> model("model.json", forest::Options{.margin = true})`.
struct Options {
  static constexpr std::string_view kOptionsOf = "tree files (forest::Options)";

  /// Sums of leaves instead of answers: no sigmoid, no softmax.
  bool margin = false;

  /// The trees that are read.
  ReadOptions trees = {};
};

/// Makes trees known to Model, on the CPU and NVIDIA GPUs: tree files of XGBoost (JSON, UBJSON, the binary form of before
/// 3.1) and LightGBM (text) as they are, and packages that `tensoa compile` made of these and other formats.
///
/// A tree file reads the columns of all input blocks: by the names of its features where it has names that were
/// not made up (f0, Column_0), else, and for Match::kByOrder, in order, a vector as its parts. Any dtype, any stride, Repack too: nothing is
/// copied. It writes one float32 or float64 column for each output, in order. Ragged forms are a BindingError.
/// Answers are written block by block while later rows are read, so an output column may be an input column, but
/// must not otherwise share memory with one.
///
/// Calling it twice is harmless; `#include <tensoa/tensoa.hpp>` calls it.
void register_engines();

}  // namespace tensoa::forest
