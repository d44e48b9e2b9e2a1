// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tensoa.h"
#include "tensoa/engine/any_model.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/package/plane_call.hpp"

namespace tensoa::c {

/// A plane of a model, by its number.
struct NamedPlane {
  std::string name;
  const package::BlockOfPlanes* block;
};

/// @param what "inputs" or "outputs", for the message @throws ConfigError
const NamedPlane& plane_at(const std::vector<NamedPlane>& planes, std::size_t index,
                           const char* what);

DType dtype_of(tensoa_dtype dtype);

}  // namespace tensoa::c

struct tensoa_model {
  /// @throws LoadError, DeviceError, ConfigError
  tensoa_model(const std::string& path, const std::string& on);
  tensoa_model(const tensoa_model&) = delete;
  tensoa_model& operator=(const tensoa_model&) = delete;

  tensoa::package::ModelDescription description;
  tensoa::Device device;
  tensoa::AnyModel model;
  tensoa::package::PlanesOfModel planes;
  std::vector<tensoa::c::NamedPlane> inputs;
  std::vector<tensoa::c::NamedPlane> outputs;
  std::string json;
};
