// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tensoa/core/device.hpp"
#include "tensoa/forest/ensemble.hpp"

namespace tensoa::peers {

/// Another evaluation of the same trees, on one thread of the CPU, as its users call it in C.
struct TreePeer {
  std::string name;

  /// Evaluates `n` rows of a packed row-major matrix.
  std::function<void(const float* rows, std::int64_t n)> run;

  /// The margin of a row of the last call.
  std::function<double(std::size_t row)> answer;
};

/// Shared libraries; an empty path leaves the peer out.
struct TreeLibraries {
  std::filesystem::path xgboost;
  std::filesystem::path lightgbm;
  std::filesystem::path onnxruntime;
  std::filesystem::path fastforest;  ///< fastforest.cpp with its sources
  std::filesystem::path rbdt;        ///< rbdt.cpp with ROOT
};

/// The peers that can evaluate the model: those with a library that find the trees in their format in the folder
/// of `model`, under its name with .json (XGBoost), .txt (LightGBM), .onnx, .dump (FastForest) or .rbdt, code that was
/// generated for these trees (.tl2cgen.so, .lleaves.so), and the plain traversal of `ensemble`.
/// @param matrix of which calls evaluate rows: lleaves takes float64, and gets a copy of it
/// @throws EngineError with what a library says
std::vector<TreePeer> tree_peers(const TreeLibraries& libraries, const std::filesystem::path& model,
                                 const forest::Ensemble& ensemble, std::span<const float> matrix);

/// XGBoost with `device=cuda`.
struct GpuTreePeer {
  /// Evaluates `n` rows of a packed row-major matrix on the device, and waits.
  std::function<void(const float* rows, std::int64_t n)> run;

  /// The margins of the last call, on the device.
  std::function<const float*()> answers;
};

/// @param library a libxgboost.so with CUDA @param model JSON @throws EngineError with what the library says
GpuTreePeer xgboost_on_gpu(const std::filesystem::path& library, const std::filesystem::path& model,
                           std::size_t columns, Device device);

/// Trees followed node by node, row by row, as FastForest does it, but with the direction of missing values: "plain".
/// @return nothing for trees that it has no test for: categories, zeros as missing values, several outputs
std::vector<TreePeer> plain_traversal(const forest::Ensemble& ensemble);

}  // namespace tensoa::peers
