// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include "service.hpp"
#include "tensoa/core/nearest_name.hpp"
#include "tensoa/engine/location.hpp"

namespace tensoa::python {

void register_service() {}

ModelOptions service_options(const std::string& model, nb::dict& service,
                             const std::string& function, std::vector<std::string> others) {
  if (ModelLocation(model).is_url()) {
    throw ConfigError(
        "model " + model +
        ": this tensoa was built without models of servers; use a build of CMake with "
        "TENSOA_REMOTE");
  }
  for (const auto& [name, value] : service) {
    if (value.is_none()) continue;
    const std::string expected = others.empty() ? "no keywords" : "one of " + listed(others);
    throw nb::type_error((function + ": got the keyword " + nb::cast<std::string>(name) +
                          ", expected " + expected +
                          "; this tensoa was built without models of servers")
                             .c_str());
  }
  service = nb::dict();
  return {};
}

ModelOptions with_checksum(const ModelOptions& options, const std::string& /*checksum*/) {
  return options;
}

bool set_service_error(const Error& /*error*/, const std::string& /*message*/) { return false; }

bool has_service() noexcept { return false; }

}  // namespace tensoa::python
