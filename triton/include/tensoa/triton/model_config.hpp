// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tensoa/triton/wire.hpp"

/// @file
/// Configurations of Triton models, config.pbtxt, and the same as JSON.

namespace tensoa::triton {

/// A parameter of a configuration, next to package::kChecksumParameter: the version that has that checksum.
inline constexpr const char* kVersionParameter = "tensoa_version";

/// Returns what the back-end adds to a configuration that does not have it, as JSON: inputs, outputs,
/// max_batch_size, dynamic batching.
/// @param config of the model until then, as JSON
/// @throws LoadError where max_batch_size is below 0
std::string completed_config(const Wire& wire, std::string_view config, const std::string& subject);

/// Compares a configuration with the model that it is for.
/// @param config as JSON
/// @param checksum of the model file; it and `version` are compared where the configuration has them
/// @throws LoadError that names the difference
void require_config(const Wire& wire, std::string_view config, const std::string& checksum,
                    std::uint64_t version, const std::string& subject);

/// Returns the value of a parameter of a configuration; empty where it does not have it.
std::string config_parameter(std::string_view config, const std::string& key);

/// Returns a config.pbtxt for the back-end `tensoa`.
/// @param checksum,version of the model file
std::string config_pbtxt(const Wire& wire, const std::string& name, const std::string& checksum,
                         std::uint64_t version);

}  // namespace tensoa::triton
