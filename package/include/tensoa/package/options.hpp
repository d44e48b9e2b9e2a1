// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tensoa::package {

/// How a package is loaded: `Model<> model("network.pt2", package::Options{.cuda_graphs = true})`.
struct Options {
  static constexpr std::string_view kOptionsOf = "packages (package::Options)";

  /// Launches the kernels of a call together, as a CUDA graph: less time on the host for calls of many
  /// small kernels (docs/ahead_of_time.md). The CPU has no graphs and ignores it.
  ///
  /// A fused program keeps one graph for each queue and sets the addresses and rows of each call in it.
  /// One of TorchInductor is captured by Model::warm_up alone, for exactly its queue and numbers of
  /// rows; call it again for others. Calls on that queue with one of these numbers of rows replay,
  /// through memory of the graph's own (one copy for each range of columns in and out, in the
  /// CopyReport); all other calls run as without graphs. Whether that works is found out when the
  /// package is made: a package without this result for the GPU's architecture is a LoadError.
  bool cuda_graphs = false;
};

}  // namespace tensoa::package
