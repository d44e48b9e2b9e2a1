// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/engine/model_options.hpp"

// What the run time needs from remote/: a seam. service.cpp or without_service.cpp is linked.

namespace tensoa::python {

namespace nb = nanobind;

/// Makes models of servers known.
void register_service();

/// How the servers of a model are reached; of a file nothing. Paths in `service` become absolute: other processes may have it.
/// @param service keywords of `function`, which are remote::Options with times in seconds; None and empty paths are not given
/// @param others that `function` has, for messages
/// @throws ConfigError for values that are wrong, for any of a file, and for a URL in a build without servers; Python's TypeError
/// for other keywords
ModelOptions service_options(const std::string& model, nb::dict& service,
                             const std::string& function, std::vector<std::string> others);

/// The same of servers that have this model file, where nothing was said of that.
ModelOptions with_checksum(const ModelOptions& options, const std::string& checksum);

/// Sets Python's error to tensoa.ServiceError where `error` is one. @return whether it is
bool set_service_error(const Error& error, const std::string& message);

/// Whether the build has models of servers.
bool has_service() noexcept;

}  // namespace tensoa::python
