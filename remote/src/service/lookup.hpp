// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/transport.hpp"

namespace tensoa::remote {

/// Finds the addresses of a host, without waiting: "10.0.0.1", "[fd00::1]". Of one family, the one that the system prefers:
/// a host with one address of each is one server.
/// @param done called once, by a completion thread, or here; with none where the host is not known. Not called where the
/// transport ends before
using Lookup =
    std::function<void(const std::shared_ptr<Transport>& transport, const std::string& host,
                       std::function<void(std::vector<std::string> addresses)> done)>;

/// As the system does (/etc/hosts, DNS): getaddrinfo_a of glibc, whose threads wait for the answer.
Lookup system_lookup();

/// Whether a host of a URL is an address: it has no others.
bool is_address(std::string_view host);

/// Whether gRPC connects to the host through a proxy of the environment (grpc_proxy, https_proxy, http_proxy; no_grpc_proxy,
/// no_proxy), which looks the name up itself.
bool is_proxied(std::string_view host);

}  // namespace tensoa::remote
