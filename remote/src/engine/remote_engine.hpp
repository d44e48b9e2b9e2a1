// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tensoa/engine/engine.hpp"
#include "tensoa/engine/location.hpp"
#include "tensoa/remote/options.hpp"

namespace tensoa::remote {

/// @throws LoadError; ServiceError where no server answers and there is no fallback; DeviceError
std::shared_ptr<const Engine> load_remote_engine(const ModelLocation& location, Device device,
                                                 const Options& options);

}  // namespace tensoa::remote
