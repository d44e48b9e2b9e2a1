// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tensoa/engine/location.hpp"

namespace tensoa::remote {

/// The parts of `grpc://host:port[,host:port…]/model[/version]`.
struct ServiceUrl {
  bool is_encrypted = false;         ///< grpcs://
  std::vector<std::string> servers;  ///< "host:port", in order, at least one
  std::string model;
  std::string version;  ///< empty: the server chooses
};

/// @throws LoadError that says what is missing
ServiceUrl parse_url(const ModelLocation& location);

}  // namespace tensoa::remote
