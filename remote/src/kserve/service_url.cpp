// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "kserve/service_url.hpp"

#include <algorithm>
#include <string_view>

#include "tensoa/core/error.hpp"

namespace tensoa::remote {
namespace {

constexpr std::string_view kCustomaryPort = ":8001";

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

[[noreturn]] void throw_wrong(const ModelLocation& location, const std::string& what) {
  throw LoadError("model " + location.text() + ": " + what +
                  "; expected grpc://HOST:PORT[,HOST:PORT...]/MODEL[/VERSION]");
}

/// With the customary port where the URL has none; "[::1]:8001" has its address in brackets.
std::string with_port(const ModelLocation& location, std::string_view server) {
  const std::size_t colon = server.rfind(':');
  const bool is_bare = colon == std::string_view::npos || server.back() == ']';
  const std::string_view host = is_bare ? server : server.substr(0, colon);
  if (host.empty()) throw_wrong(location, "got a server without a host");
  if (is_bare) return std::string(server).append(kCustomaryPort);
  const std::string_view port = server.substr(colon + 1);
  if (!is_number(port) || port.size() > 5 || std::stoi(std::string(port)) > 65535) {
    throw_wrong(location, "got the port \"" + std::string(port) + '"');
  }
  return std::string(server);
}

}  // namespace

ServiceUrl parse_url(const ModelLocation& location) {
  ServiceUrl url;
  url.is_encrypted = location.scheme() == "grpcs";
  std::string_view rest = location.text();
  rest.remove_prefix(location.scheme().size() + std::string_view("://").size());
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) throw_wrong(location, "got no model");
  std::string_view servers = rest.substr(0, slash);
  rest.remove_prefix(slash + 1);
  for (;;) {
    const std::size_t comma = servers.find(',');
    url.servers.push_back(with_port(location, servers.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    servers.remove_prefix(comma + 1);
  }
  const std::size_t end = rest.find('/');
  url.model = rest.substr(0, end);
  if (url.model.empty()) throw_wrong(location, "got no model");
  if (end == std::string_view::npos) return url;
  url.version = rest.substr(end + 1);
  if (!url.version.empty() && !is_number(url.version)) {
    throw_wrong(location, "got the version \"" + url.version + '"');
  }
  return url;
}

}  // namespace tensoa::remote
