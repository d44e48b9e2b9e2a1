// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tensoa::tools {

/// How servers are reached, on the command line: the same options in every command that takes the URL of a model.
/// Secrets are read from files, because the list of processes shows command lines to all users of a machine.
struct ServerOptions {
  std::string ca;                    ///< path of PEM certificates
  std::string certificate;           ///< likewise, of the client
  std::string key;                   ///< likewise
  std::string token;                 ///< path of a file with a bearer token
  std::vector<std::string> headers;  ///< "NAME=VALUE", or "NAME=@FILE"
  std::optional<double> deadline;    ///< seconds of a call
  std::string fallback;              ///< path of a model file

  /// "--ca", or another option that was given; empty where none was.
  std::string first_given() const;
};

/// Adds --ca, --cert, --key, --token, --header and --deadline.
void add_server_options(CLI::App& command, ServerOptions& options);

/// Adds --fallback, for commands that go on where no server answers.
void add_fallback_option(CLI::App& command, ServerOptions& options);

/// The names, in lower case, and the values of ServerOptions::headers.
/// @throws ConfigError for what is not a NAME=VALUE, InputError for a file that cannot be read; no message has a value
std::vector<std::pair<std::string, std::string>> headers_of(const ServerOptions& options);

}  // namespace tensoa::tools
