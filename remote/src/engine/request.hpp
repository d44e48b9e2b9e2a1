// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "engine/wire_plan.hpp"
#include "service/service.hpp"
#include "shared/sharing.hpp"
#include "tensoa/engine/copy_report.hpp"
#include "transport/payload.hpp"

namespace tensoa::remote {

/// The ModelInfer request of a binding in host memory. Borrows its columns where they are long.
/// @param sharing the blocks that go by shared memory; nullptr: none does
/// @param copies the bytes that are copied are added to it
/// @throws BindingError; ServiceError for a request above Options::message_limit
std::shared_ptr<const Payload> make_request(const Service& service, const KeptPlan& kept,
                                            const Binding& binding, const Sharing* sharing,
                                            CopyReport& copies);

}  // namespace tensoa::remote
