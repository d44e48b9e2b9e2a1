// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "service/service.hpp"
#include "tensoa/engine/engine.hpp"

namespace tensoa::remote {

/// Runs the call in this process where the service does not: called once at most, completes the call.
using RunLocally = std::function<void(Completion completion)>;

/// Sends the columns of `binding`, which are in host memory, to the servers until one has answered, and writes
/// the answer to the columns. Returns when the first request is on its way.
/// @param fallback empty: there is none
/// @param completion called once, by a completion thread, or here where nothing can be sent
/// @throws nothing; BindingError and others go to `completion`
void infer(const std::shared_ptr<Service>& service, const Binding& binding, RunLocally fallback,
           Completion completion);

}  // namespace tensoa::remote
