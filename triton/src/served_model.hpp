// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "tensoa/engine/model.hpp"
#include "tensoa/triton/wire.hpp"
#include "triton_api.hpp"

namespace tensoa::triton {

/// A version of a Triton model: its file, how its blocks are sent, and the model, which is loaded on a device
/// with the first instance there. Immutable.
/// *Threads*: safe, shared by all instances.
class ServedModel {
 public:
  /// Finds the file, adds what is missing to the configuration of `model`, and compares the two.
  /// @throws LoadError, ApiError
  explicit ServedModel(TRITONBACKEND_Model* model);

  const std::string& checksum() const noexcept { return checksum_; }
  const Wire& wire() const noexcept { return wire_; }
  const detail::AnyModel& model() const noexcept { return model_; }

 private:
  std::filesystem::path file_;
  std::string checksum_;
  Wire wire_;
  detail::AnyModel model_;
};

/// A JSON message as text. @throws ApiError
std::string text_of(TRITONSERVER_Message* message);

}  // namespace tensoa::triton
