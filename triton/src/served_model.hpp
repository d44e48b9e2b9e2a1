// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <tuple>

#include "tensoa/engine/any_model.hpp"
#include "tensoa/triton/wire.hpp"
#include "triton_api.hpp"

namespace tensoa::triton {

/// A version of a Triton model: its file, what clients learn of it, how its blocks are sent, and the model, which is loaded on a
/// device with the first instance there. Immutable.
/// *Threads*: safe, shared by all instances.
class ServedModel {
 public:
  /// Finds the file, adds what is missing to the configuration of `model`, and compares the two.
  /// @throws LoadError, ApiError
  explicit ServedModel(TRITONBACKEND_Model* model);

  const std::string& checksum() const noexcept { return checksum_; }

  /// As JSON: tensoa/package/published.hpp.
  const std::string& published() const noexcept { return published_; }
  /// @throws LoadError where the file is not that of checksum() any more: what was loaded from it may be another model
  void require_unchanged() const;

  const Wire& wire() const noexcept { return wire_; }
  const AnyModel& model() const noexcept { return model_; }

 private:
  /// Properties that change with the file: its place on the disk, its bytes and when they were written.
  using Stamp = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::int64_t, std::int64_t>;
  static Stamp stamp_of(const std::filesystem::path& file);

  std::filesystem::path file_;
  Stamp stamp_;
  std::string checksum_;
  Wire wire_;
  std::string published_;
  AnyModel model_;
};

/// A JSON message as text. @throws ApiError
std::string text_of(TRITONSERVER_Message* message);

}  // namespace tensoa::triton
