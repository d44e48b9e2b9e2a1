// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "exported/json.hpp"
#include "tensoa/package/archive.hpp"

namespace tensoa::pytorch::exported {

/// Write what is read here; for errors.
inline constexpr char kWriters[] = "torch 2.11 to 2.15";

/// The archive that torch.export.save writes: one program as JSON, and its tensors as raw bytes.
class ProgramFile {
 public:
  /// @throws std::runtime_error for another archive, or one of an older torch, whose weights are pickled
  explicit ProgramFile(const std::filesystem::path& path);

  const Json& program() const noexcept { return program_; }
  std::uintmax_t bytes() const noexcept { return bytes_.size(); }

  /// Copies a parameter, buffer or constant to the CPU.
  /// @param name as in the signature of the program: "layers.0.weight"
  /// @throws std::runtime_error where it is missing, pickled, or larger than its file
  at::Tensor tensor(const std::string& name) const;

 private:
  std::string bytes_;
  package::Archive archive_;
  Json program_;
  Json weights_;
  Json constants_;
};

/// @throws std::runtime_error for one that this torch.export does not have
c10::ScalarType scalar_type_of(const Json& number);

}  // namespace tensoa::pytorch::exported
