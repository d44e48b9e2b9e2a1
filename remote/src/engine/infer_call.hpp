// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "service/service.hpp"
#include "shared/device_columns.hpp"
#include "tensoa/engine/engine.hpp"

namespace tensoa::remote {

/// Runs the call in this process where the service does not: called once at most, completes the call.
using RunLocally = std::function<void(Completion completion)>;

/// Sends the columns of `binding` to the servers until one has answered, and writes
/// the answer to the columns. Returns when the first request is on its way.
/// @param plan of the binding, or nullptr
/// @param device nullptr where the columns are in host memory
/// @param fallback empty: no fallback
/// @param completion called once, by a completion thread, or here where nothing can be sent
/// @throws nothing; BindingError and others go to `completion`
void infer(const std::shared_ptr<Service>& service, const Binding& binding,
           std::shared_ptr<const KeptPlan> plan, std::unique_ptr<DeviceColumns> device,
           RunLocally fallback, Completion completion);

}  // namespace tensoa::remote
