// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "seams/torch_seam.hpp"
#include "tensoa/core/device.hpp"
#include "tensoa/core/memory_budget.hpp"
#include "tensoa/engine/model_options.hpp"

namespace tensoa::tools {

struct RuntimeCall {
  std::string device = "auto";
  std::size_t rows = 1000;
  std::string binding;  ///< file; empty: the package's own, or that of an edge scorer
};

/// Memory and time of a model, loaded and run in this process.
struct RuntimeFigures {
  Device device;
  std::string inputs;  ///< "1000 rows"
  MemoryOfCall memory;
  std::size_t process_peak = 0;  ///< bytes of main memory that the process had at most
  std::size_t threads_before = 0;
  std::size_t threads_after = 0;
};

/// Loads the model and runs it twice: to warm it up, and to measure. The package's columns, or those of
/// the binding, are filled with made-up numbers (cli::GeneratedColumns); an output collection has the
/// number of rows of the input collection at the same place. An edge scorer runs on one generated event.
/// @throws as Model; InputError for a binding that cannot be read
/// @param options of the model
RuntimeFigures runtime_figures(const std::string& file, const ModelOptions& options,
                               const RuntimeCall& call);

/// Returns the bytes of main memory that this process had at most.
std::size_t peak_of_this_process();

}  // namespace tensoa::tools
