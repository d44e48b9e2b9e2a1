// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "service/service.hpp"

namespace tensoa::remote {

/// Adds the service to statistics(), for as long as it lives. *Threads*: safe.
void remember(const std::shared_ptr<Service>& service);

}  // namespace tensoa::remote
