// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "deploy/model_folder.hpp"

namespace tensoa::tools {

/// The parts of a model that are served, and how.
struct TritonModelCall {
  std::string model;  ///< path of a package, tree file, TorchScript or ONNX file
  std::string name;   ///< of the Triton model
  std::uint64_t version = 1;
  std::string version_policy = "all";  ///< or "latest", or versions: "1,3"
  std::string binding;                 ///< path of a binding (`tensoa describe`); empty: none
  bool is_python = false;  ///< the back-end `python`, instead of the one that the file suits
};

/// The versions that the server gives of a model, in ascending order.
/// @param kept versions that are there already
/// @throws InputError where `version_policy` is none, or names a version that is not there
std::vector<std::uint64_t> served_versions(const TritonModelCall& call,
                                           const std::vector<std::uint64_t>& kept);

/// Triton has one configuration for all versions of a model.
/// @param files of the model @param before its config.pbtxt until now
/// @throws InputError where its tensors are others, and other versions than `call.version` are served
void require_same_tensors(const TritonModelCall& call, const std::vector<NewFile>& files,
                          const std::filesystem::path& before,
                          const std::vector<std::uint64_t>& served);

/// Returns the files of a Triton model: config.pbtxt, which begins with kDeployMark, VERSION/model.pt2 or its like, and
/// of the python variant VERSION/model.py.
/// @throws InputError, LoadError where the file cannot be served that way, or does not state enough
std::vector<NewFile> triton_model(const TritonModelCall& call);

}  // namespace tensoa::tools
