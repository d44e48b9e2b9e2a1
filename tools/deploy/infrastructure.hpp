// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "deploy/model_folder.hpp"

namespace tensoa::tools {

/// A gRPC port of a server.
struct Endpoint {
  std::string host;  ///< a name or an address
  int port = 0;
};

/// Reads "HOST:PORT" or "[ADDRESS]:PORT". @throws InputError
Endpoint parse_endpoint(const std::string& text);

/// Returns the configuration of an Envoy that spreads gRPC calls over Triton servers: the one with the fewest calls in
/// flight gets the next. Begins with kDeployMark.
std::string envoy_yaml(const std::vector<Endpoint>& servers);

/// Returns the files of a Helm chart: Triton servers with this model repository, scaled by their load.
std::vector<NewFile> helm_chart(const std::string& name);

}  // namespace tensoa::tools
