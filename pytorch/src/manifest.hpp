// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <caffe2/serialize/inline_container.h>

#include <nlohmann/json.hpp>

namespace tensoa::pytorch {

/// The JSON extra/tensoa.json of a package. @throws std::exception when there is none, and for one that
/// is nested so deeply that later uses of it, which recurse, would overflow the stack
nlohmann::json manifest_of(caffe2::serialize::PyTorchStreamReader& archive);

}  // namespace tensoa::pytorch
