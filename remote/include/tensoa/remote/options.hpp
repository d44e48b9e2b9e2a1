// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tensoa::remote {

/// How often, and how soon, a call is sent again after a failure that may pass (docs/service.md has the list).
/// All attempts are within Options::deadline.
struct Retry {
  int attempts = 10;                          ///< of one call, at least 1
  std::chrono::milliseconds first_pause{10};  ///< before the second attempt; doubles, with jitter
  std::chrono::milliseconds longest_pause{1000};

  /// Failures, less one for every ten successes, from which on no call is repeated: a service that is
  /// overloaded gets no additional load (gRPC's retry throttling, gRFC A6). More than the calls in flight,
  /// which all fail when a server goes.
  int budget = 500;
};

/// The treatment of calls when no server has the loaded model any more: the end of an update. While some servers still have
/// it, calls go to these. A server that has denied it is asked again for a second or more, as an address may lead to several servers.
enum class OnNewVersion : std::uint8_t {
  kStay,  ///< Answers of another model are refused: the fallback runs, where there is one, else calls fail.
  kFail,    ///< Calls fail, also where there is a fallback.
  kFollow,  ///< Calls go on with the new model, and a warning (log()) is written, where all servers that work agree on it, and its names,
  ///< dtypes, shapes, order of columns and independence of rows allow the plan; else they fail. The fallback, which is the old model,
  ///< does not run any more.
};

/// How a model of a service is used:
///
///     Model<> model("grpc://a:8001,b:8001/network", remote::Options{.fallback = "network.pt2"});
///
/// With OnNewVersion::kFollow the answers of one run may be of several models, each with a warning: the provenance of a result must say
/// so. Nothing else here changes an answer.
struct Options {
  static constexpr std::string_view kOptionsOf = "services (remote::Options)";

  /// From the call (`submit`) to its completion, with all attempts, without the fallback. Work
  /// that the queue of a call has before counts: where it takes longer, nothing is sent, and the call fails (or falls
  /// back) when the queue gets there. Times above a year are a year: `milliseconds::max()` is none.
  std::chrono::milliseconds deadline{10'000};

  /// Of one attempt: a server that answers later is given up, another is tried.
  std::chrono::milliseconds attempt_deadline{4'000};

  /// For the metadata of the model, when it is loaded: servers that differ then, or are away, are asked again for so long.
  std::chrono::milliseconds load_deadline{10'000};

  Retry retry = {};

  /// Each address that a host name of the URL has is a separate server (Kubernetes' headless services, round robin
  /// in DNS); looked up again so often: new addresses join, those that vanished get no more calls. 0: once.
  std::chrono::milliseconds lookup_period{30'000};

  /// A model file that runs where no server answers, on the device of the call: the file that the servers
  /// have. Loaded with the model. Empty: such a call fails.
  std::string fallback = {};

  /// Where the fallback runs: calls the function that it is given once, soon, as a task of a scheduler. Where it
  /// throws, or drops the function, the call fails. Empty: a completion thread of this process runs it, and completes
  /// no other call meanwhile.
  std::function<void(std::function<void()>)> run_fallback = {};

  /// SHA-256 of the model file that the servers must have, 64 hexadecimal digits; of `fallback` where it is a package. Empty: the
  /// file that all servers have when the model is loaded. Only servers with tensoa's back-end report their models; others are
  /// compared by platform, version, names, dtypes and shapes, and cannot be loaded with a checksum of your own.
  std::string checksum = {};

  OnNewVersion on_new_version = OnNewVersion::kStay;

  /// The most bytes of a request, and of a reply.
  std::size_t message_limit = (std::size_t{1} << 31) - 1;

  /// For grpcs://. Empty: the certificates of the system.
  std::string ca_file = {};
  std::string certificate_file = {};  ///< of the client, with key_file: mutual TLS
  std::string key_file = {};

  /// Holds a token that each call sends as "authorization: Bearer TOKEN"; read again when it changes, and when a server
  /// has refused it.
  std::string token_file = {};

  /// Sent with each call; names in lower case. Values never appear in messages.
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// Returns what users of a program call a member of Options, such as "deadline"; empty where they cannot set it.
using OptionNames = std::string (*)(std::string_view member);

/// Sets how all messages name members of Options that may help, such as "--deadline". Messages leave out those that users cannot set.
/// @param names nullptr: "remote::Options::deadline", as before the first call
/// @return those before
/// *Threads*: any; `names` is called by any
OptionNames set_option_names(OptionNames names) noexcept;

}  // namespace tensoa::remote
