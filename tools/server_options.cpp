// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "server_options.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "tensoa/core/error.hpp"
#include "tensoa/core/printable.hpp"

namespace tensoa::tools {
namespace {

constexpr const char* kGroup = "Models on servers";

/// gRPC takes these only: in lower case, because names of HTTP/2 are.
std::string header_name(std::string name) {
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const bool is_right = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
  if (is_right && !name.starts_with("grpc-") && !name.ends_with("-bin")) return name;
  throw ConfigError("--header: got the name \"" + name +
                    "\", expected letters, digits, '-', '_' and '.', and neither grpc-… nor "
                    "…-bin, which are gRPC's own");
}

std::string header_value(const std::string& name, std::string value) {
  if (value.starts_with('@')) {
    const std::string file = value.substr(1);
    std::ifstream stream(file, std::ios::binary);
    std::error_code ignored;
    if (!stream || std::filesystem::is_directory(file, ignored)) {
      throw InputError("--header: " + file + ": cannot be read");
    }
    value.assign(std::istreambuf_iterator<char>(stream), {});
    while (!value.empty() && (value.back() == '\n' || value.back() == '\r')) value.pop_back();
  }
  if (printable(value) == value) return value;
  throw ConfigError("--header: the value of \"" + name +
                    "\" has control characters or several lines; expected one line of text");
}

/// Not CLI::Range, for which a NaN is in every range.
std::string is_time(const std::string& text) {
  constexpr double kShortest = 0.001;
  constexpr double kDay = 86'400;
  double seconds = 0;
  const bool is_right =
      CLI::detail::lexical_cast(text, seconds) && seconds >= kShortest && seconds <= kDay;
  return is_right ? "" : "got " + text + ", expected seconds, 0.001 to 86400";
}

}  // namespace

std::string ServerOptions::first_given() const {
  if (!ca.empty()) return "--ca";
  if (!certificate.empty()) return "--cert";
  if (!key.empty()) return "--key";
  if (!token.empty()) return "--token";
  if (!headers.empty()) return "--header";
  if (deadline) return "--deadline";
  return fallback.empty() ? "" : "--fallback";
}

void add_server_options(CLI::App& command, ServerOptions& options) {
  command
      .add_option("--ca", options.ca,
                  "grpcs://: PEM file of the authorities that sign servers (default: the system's)")
      ->check(CLI::ExistingFile)
      ->group(kGroup);
  CLI::Option* certificate =
      command.add_option("--cert", options.certificate, "grpcs://: PEM file of your certificate")
          ->check(CLI::ExistingFile)
          ->group(kGroup);
  CLI::Option* key = command.add_option("--key", options.key, "grpcs://: PEM file of its key")
                         ->check(CLI::ExistingFile)
                         ->group(kGroup);
  certificate->needs(key);
  key->needs(certificate);
  command
      .add_option("--token", options.token,
                  "grpcs://: file with a bearer token, read again when it changes; a file, because "
                  "all users of a machine see its command lines")
      ->check(CLI::ExistingFile)
      ->group(kGroup);
  command
      .add_option("--header", options.headers,
                  "Sent with each call, for a secret NAME=@FILE; again for another one")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all()
      ->group(kGroup);
  command
      .add_option(
          "--deadline", options.deadline,
          "Of a call with all its attempts, of which each may take 0.4 of it, and of finding "
          "the model at the start (default: 10)")
      ->type_name("SECONDS")
      ->check(is_time)
      ->group(kGroup);
}

void add_fallback_option(CLI::App& command, ServerOptions& options) {
  command
      .add_option("--fallback", options.fallback,
                  "The model file that runs where no server answers")
      ->check(CLI::ExistingFile)
      ->group(kGroup);
}

std::vector<std::pair<std::string, std::string>> headers_of(const ServerOptions& options) {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const std::string& header : options.headers) {
    const auto equals = header.find('=');
    if (equals == std::string::npos) {
      throw ConfigError(
          "--header: got a text without '=', expected NAME=VALUE, or NAME=@FILE where the value is "
          "the text of a file");
    }
    std::string name = header_name(header.substr(0, equals));
    std::string value = header_value(name, header.substr(equals + 1));
    headers.emplace_back(std::move(name), std::move(value));
  }
  return headers;
}

}  // namespace tensoa::tools
