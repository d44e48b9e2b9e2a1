// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "service/served_model.hpp"
#include "tensoa/package/inspect.hpp"

namespace tensoa::remote {

/// Descriptions of a model by servers, for `tensoa inspect` and `tensoa infer`. tensoa's back-end names its columns. Others do not:
/// those of the tensor "x" are called "x.0", "x.1" and so on, a single one "x", and all tensors have equal numbers of
/// rows; where that is wrong, or a tensor does not have rows of columns, a binding file says what is right.
package::ModelDescription describe_model(const ServedModel& model);

}  // namespace tensoa::remote
