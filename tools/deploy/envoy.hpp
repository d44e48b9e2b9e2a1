// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tensoa::tools {

/// The gRPC port of a server, or of an Envoy.
struct Endpoint {
  std::string host;  ///< a name or an address
  int port = 0;
};

/// "HOST:PORT" or "[ADDRESS]:PORT".
std::string to_string(const Endpoint& endpoint);

/// Reads a server of --envoy, "HOST:PORT" or "[ADDRESS]:PORT". @throws InputError
Endpoint parse_endpoint(const std::string& text);

/// Reads --listen, "ADDRESS", "ADDRESS:PORT" or "[ADDRESS]:PORT"; 0 where there is no port. An address and not a name, which
/// might be of several interfaces. @throws InputError
Endpoint parse_listen(const std::string& text);

/// Whether an address is that of the host itself, which others do not reach.
bool is_loopback(const std::string& address);

/// Returns the configuration of an Envoy that spreads gRPC calls over Triton servers: the one with the fewest calls in
/// flight gets the next. Begins with kDeployMark.
std::string envoy_yaml(const std::vector<Endpoint>& servers, const Endpoint& listen);

}  // namespace tensoa::tools
