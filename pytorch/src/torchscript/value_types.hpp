// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/jit_type.h>

// The types that a value in TorchScript may have, or contain.

namespace tensoa::pytorch {

/// Numbers, strings and the like, which have no second name through which they could be written.
bool is_plain(const c10::Type& type);

/// An object to which members can be added through any of its names: a list, a dict, an instance of a
/// class.
bool holds_container(const c10::Type& type);

bool holds_tensor(const c10::Type& type);

/// An object of a class: packed parameters may lie in the tensors that they were made of, and no schema
/// says so.
bool holds_object(const c10::Type& type);

}  // namespace tensoa::pytorch
