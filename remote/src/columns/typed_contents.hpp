// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "protobuf/decoder.hpp"
#include "tensoa/core/dtype.hpp"

namespace tensoa::remote {

/// The numbers of an InferTensorContents as elements of `dtype`: some servers reply so instead of in raw bytes.
/// @param elements the number that is expected
/// @throws protobuf::DecodeError for another number, or a type that has no such form (float16)
std::vector<std::byte> raw_of(protobuf::Bytes typed, DType dtype, std::size_t elements);

}  // namespace tensoa::remote
