// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include "service.hpp"
#include "tensoa/engine/location.hpp"

namespace tensoa::python {

void register_service() {}

ModelOptions service_options(const std::string& model, nb::dict& service) {
  if (ModelLocation(model).is_url()) {
    throw ConfigError("model " + model +
                      ": this tensoa was built without models of servers; use a build of CMake "
                      "with TENSOA_REMOTE");
  }
  for (const auto& [name, value] : service) {
    const auto text = nb::cast<std::string>(name);
    throw nb::type_error(
        ("tensoa.Model: got the keyword " + text + ", expected device or columns").c_str());
  }
  return {};
}

bool set_service_error(const Error& /*error*/) { return false; }

}  // namespace tensoa::python
