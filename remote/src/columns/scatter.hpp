// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protobuf/decoder.hpp"
#include "tensoa/core/tensor_view.hpp"

namespace tensoa::remote {

/// Copies the first `to.bytes()` bytes of `from`, the elements in row-major order, to `to`. The only copy that
/// a reply goes through: pieces end anywhere, also inside an element, and are not aligned.
/// @param to in host memory
/// @param from at least that long; what was copied is taken from it
void scatter(protobuf::Bytes& from, const TensorView& to);

}  // namespace tensoa::remote
