// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "tensoa/engine/engine.hpp"
#include "tensoa/pytorch/options.hpp"

namespace tensoa::pytorch {

/// Loads a TorchScript file for one device. @throws LoadError
std::shared_ptr<const Engine> load_jit_engine(const std::filesystem::path& path, Device device,
                                              const TorchScriptOptions& options);

}  // namespace tensoa::pytorch
