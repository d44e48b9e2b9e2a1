// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "tensoa/core/error.hpp"
#include "tensoa/engine/model_options.hpp"

// What the run time asks of remote/: a seam. service.cpp or without_service.cpp is linked.

namespace tensoa::python {

namespace nb = nanobind;

/// Makes models of servers known.
void register_service();

/// How the servers of a model are reached; of a file nothing. Paths in `service` become absolute: other processes may have it.
/// @param service keywords of tensoa.Model, which are remote::Options with times in seconds
/// @throws ConfigError for values that are wrong, for any of a file, and for a URL in a build without servers; Python's TypeError
/// for other keywords
ModelOptions service_options(const std::string& model, nb::dict& service);

/// Sets Python's error to tensoa.ServiceError where `error` is one. @return whether it is
bool set_service_error(const Error& error);

}  // namespace tensoa::python
