// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deploy/model_folder.hpp"

namespace tensoa::tools {

/// What of a model is served, and how.
struct TritonModelCall {
  std::string model;  ///< path of a package, tree file, TorchScript or ONNX file
  std::string name;   ///< of the Triton model
  std::uint64_t version = 1;
  std::string binding;     ///< path of a binding (`tensoa describe`); empty: none
  bool is_python = false;  ///< the back-end `python`, instead of the one that the file suits
};

/// Returns the files of a Triton model: config.pbtxt, which begins with kDeployMark, VERSION/model.pt2 or its like, and
/// of the python variant VERSION/model.py.
/// @throws InputError, LoadError where the file cannot be served that way, or does not say enough
std::vector<NewFile> triton_model(const TritonModelCall& call);

}  // namespace tensoa::tools
