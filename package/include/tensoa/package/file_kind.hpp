// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tensoa::package {

/// The kind of a model file, by its content: several formats are zip archives, and three end in .pt2.
enum class FileKind : std::uint8_t {
  kPackage,          ///< ours, by tensoa compile
  kTorchScript,      ///< torch.jit.save
  kExportedProgram,  ///< torch.export.save
  kAotInductor,      ///< torch._inductor.aoti_compile_and_package
  kTorchSave,        ///< torch.save: a state_dict, or a pickled module
  kOnnx,             ///< a model of ONNX
  kOther,            ///< another format that why_no_package names
  kUnknown,          ///< another archive, another format, or cut off
};

/// Reads the directory of the archive, or the beginning of another file, nothing else. kUnknown for what is not a file.
FileKind kind_of_file(const std::filesystem::path& path) noexcept;

/// The kind of a file, or of a folder of TensorFlow, that is not a package, and how to make one of it; nothing where it is
/// one, or unknown.
std::optional<std::string> why_no_package(const std::filesystem::path& path);

}  // namespace tensoa::package
