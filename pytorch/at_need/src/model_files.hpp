// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

#include "tensoa/engine/location.hpp"
#include "tensoa/package/file_kind.hpp"

/// @file
/// Which files need torch, said without it: EngineLoader::accepts of their loaders.

namespace tensoa::pytorch {

inline constexpr const char* kTorchScript = "TorchScript";
inline constexpr const char* kTorchExport = "torch.export";

/// Also a broken file that is called like one.
inline bool is_torchscript(const ModelLocation& location) {
  if (!location.is_file()) return false;
  constexpr std::array kEndings{".pt", ".pth", ".ts"};
  const package::FileKind kind = package::kind_of_file(location.path());
  return kind == package::FileKind::kTorchScript ||
         (kind == package::FileKind::kUnknown &&
          std::ranges::find(kEndings, location.path().extension()) != kEndings.end());
}

inline bool is_exported_program(const ModelLocation& location) {
  return location.is_file() &&
         package::kind_of_file(location.path()) == package::FileKind::kExportedProgram;
}

}  // namespace tensoa::pytorch
