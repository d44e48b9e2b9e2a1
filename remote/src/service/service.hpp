// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kserve/messages.hpp"
#include "kserve/service_url.hpp"
#include "service/lookup.hpp"
#include "service/retry_budget.hpp"
#include "service/servers.hpp"
#include "service/status.hpp"
#include "tensoa/core/result.hpp"
#include "tensoa/remote/options.hpp"
#include "tensoa/remote/service_error.hpp"

namespace tensoa::remote {

/// A model on its servers: what all its calls share.
/// *Threads*: safe.
class Service : public std::enable_shared_from_this<Service> {
 public:
  /// Connects to no server yet. @throws LoadError for a URL or credentials that cannot be used
  static std::shared_ptr<Service> make(const ModelLocation& location, const Options& options,
                                       Lookup lookup = system_lookup());

  /// Looks the names of the URL up, once, and waits for it. Until a name was found it is a server, whose addresses are gRPC's.
  /// @param is_repeated again each Options::lookup_period, from the end of this look on
  void look_up(Clock::time_point deadline, bool is_repeated = false);

  /// Asks the servers for the model until one has answered or Options::load_deadline has passed. Looks names up, now and
  /// each Options::lookup_period from now on.
  /// @throws LoadError where a server answers that there is no such model; ServiceError where none answers
  void load();

  /// After load() has failed: goes on in the background, until a server answers.
  void probe_until_loaded();

  /// None until a server has answered.
  std::shared_ptr<const ModelMetadataReply> metadata() const;

  /// The URL.
  const std::string& location() const noexcept { return location_; }

  const Options& options() const noexcept { return options_; }
  const ServiceUrl& url() const noexcept { return url_; }

  /// "model grpc://…: ", the beginning of messages.
  const std::string& subject() const noexcept { return subject_; }

  Transport& transport() const noexcept { return *transport_; }
  Servers& servers() const noexcept { return *servers_; }
  RetryBudget& budget() noexcept { return budget_; }

  /// SHA-256 of the package that the servers must have; empty: any.
  const std::string& checksum() const noexcept { return checksum_; }
  void set_checksum(std::string checksum) { checksum_ = std::move(checksum); }

  /// @param server of the last attempt @param attempts of the call
  ServiceError error(const CallStatus& status, const Server& server, int attempts) const;

  /// Of a reply or request that is wrong; the code says as which failure it counts.
  ServiceError error(const std::string& what, int code, const std::string& server) const;

  /// Calls that are not completed; the owner of the service waits for them.
  void begin_call();
  void end_call();
  void wait_for_calls();

 private:
  /// A server of the URL, and the addresses that its name had when it was last found.
  struct Name {
    std::string host;
    std::string port;  ///< with its colon
    std::vector<std::string> addresses = {};
  };
  class Round;

  Service(const ModelLocation& location, const Options& options, Lookup lookup);

  void look_up(std::function<void()> done);
  void look_up_again();
  void end_round() noexcept;
  void use_addresses();

  void probe(Server& server, std::function<void(bool works)> done);
  void probe_metadata(Server& server, std::function<void(bool works)> done);
  void probe_inference(Server& server, std::function<void(bool works)> done);
  Result<ModelMetadataReply> checked_metadata(std::span<const protobuf::Piece> reply,
                                              const Server& server) const;

  std::string location_;
  Options options_;
  ServiceUrl url_;
  std::string subject_;
  std::string checksum_;
  Lookup lookup_;
  std::shared_ptr<Transport> transport_;
  std::shared_ptr<Servers> servers_;
  RetryBudget budget_;

  mutable std::mutex mutex_;
  std::shared_ptr<const ModelMetadataReply> metadata_;
  std::vector<Name> names_;
  bool probes_until_loaded_ = false;
  std::condition_variable is_idle_;
  int calls_ = 0;
};

}  // namespace tensoa::remote
