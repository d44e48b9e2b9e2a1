// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <caffe2/serialize/inline_container.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "tensoa/engine/describe.hpp"

namespace tensoa::pytorch {

/// The JSON extra/tensoa.json of a package. @throws std::exception when there is none, and for one that
/// is nested so deeply that later uses of it, which recurse, would overflow the stack
nlohmann::json manifest_of(caffe2::serialize::PyTorchStreamReader& archive);

/// For each input block the first input collection that always has as many rows as its own: its own,
/// but where the manifest says otherwise ("lengths"). @throws std::exception for a wrong manifest
std::vector<std::size_t> collections_in(const nlohmann::json& manifest,
                                        const BindingDescription& binding);

}  // namespace tensoa::pytorch
