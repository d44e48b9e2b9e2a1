// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "server_options.hpp"

#include "command.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/read_file.hpp"

namespace tensoa::tools {
namespace {

constexpr const char* kGroup = "Models on servers";

/// In lower case, because names of HTTP/2 are.
std::string header_name(std::string name) {
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

std::string header_value(std::string value) {
  if (!value.starts_with('@')) return value;
  try {
    value = read_file(value.substr(1));
  } catch (const InputError& error) {
    throw InputError(std::string("--header: ") + error.what());
  }
  while (!value.empty() && (value.back() == '\n' || value.back() == '\r')) value.pop_back();
  return value;
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
  constexpr double kDay = 86'400;  // in seconds
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
      .add_option("--deadline", options.deadline,
                  "Limit for a call with all its attempts, each at most 0.4 of it, and for finding "
                  "the model at the start (default: 10)")
      ->type_name("SECONDS")
      ->check(cli::number_between(0.001, kDay))
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
    std::string value = header_value(header.substr(equals + 1));
    headers.emplace_back(std::move(name), std::move(value));
  }
  return headers;
}

}  // namespace tensoa::tools
