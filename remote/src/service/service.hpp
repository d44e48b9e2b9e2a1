// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "kserve/messages.hpp"
#include "kserve/service_url.hpp"
#include "service/lookup.hpp"
#include "service/retry_budget.hpp"
#include "service/servers.hpp"
#include "service/status.hpp"
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

  /// Resolves the host names of the URL once; blocks until `deadline` at most. A name that is not resolved yet is used as
  /// one server, whose addresses gRPC looks up.
  /// @param is_repeated resolve again every Options::lookup_period, counted from the end of this call
  void look_up(Clock::time_point deadline, bool is_repeated = false);

  /// Asks all servers which model they have, until those that answer agree or Options::load_deadline has passed; a server that is
  /// slower than others is compared when it answers, and gets no call before. Looks names up, now and each
  /// Options::lookup_period from now on.
  /// @throws LoadError where a server answers that there is no such model, or another than options().checksum; ServiceError where
  /// none answers, or they have different models
  void load();

  /// After load() has failed: goes on in the background, until servers answer and agree.
  void probe_until_loaded();

  /// That calls are for; nullptr until servers have answered.
  std::shared_ptr<const ServedModel> model() const;

  /// Asks a server which model it has now. @param done called once, by a completion thread; OK where it has said so
  void ask(Server& server, Clock::time_point deadline, std::function<void(const CallStatus&)> done);

  /// Asks the servers that have not said that they have the model which model they have: what they said may be some seconds old. Those
  /// that fail are asked where there are no others. One round at a time, which calls share.
  /// @param done called once, here or by a completion thread: when all have answered, when one has it, or at the deadline
  void ask_others(Clock::time_point deadline, std::function<void()> done);

  /// The model that calls may go on with where the best standing to `old` is kHasAnother: OnNewVersion::kFollow, and all that work
  /// agree. Else nullptr.
  std::shared_ptr<const ServedModel> successor(const std::shared_ptr<const ServedModel>& old) const;

  /// Calls are for `next` from now on: a successor that a plan fits.
  void follow(const std::shared_ptr<const ServedModel>& old,
              const std::shared_ptr<const ServedModel>& next);

  /// Whether these are all servers with the model.
  bool are_all_with(const ServedModel& model, std::span<Server* const> servers) const;

  /// Whether the fallback is still the model that calls are for.
  bool may_fall_back() const;

  /// Servers have other models than the one that was loaded: what each has.
  ServiceError error_of_models(const ServedModel& expected) const;

  /// No server has said that it has the model, and none another that works.
  ServiceError error_of_silence(const ServedModel& expected) const;

  /// The URL.
  const std::string& location() const noexcept { return location_; }

  const Options& options() const noexcept { return options_; }
  const ServiceUrl& url() const noexcept { return url_; }

  /// "model grpc://…: ", the beginning of messages.
  const std::string& subject() const noexcept { return subject_; }

  Transport& transport() const noexcept { return *transport_; }
  Servers& servers() const noexcept { return *servers_; }
  RetryBudget& budget() noexcept { return budget_; }

  /// Of the fallback: as Options::checksum, but servers that do not state what they have are accepted. Before load().
  void expect_fallback(std::string checksum) { fallback_checksum_ = std::move(checksum); }

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

  class Asking;
  struct Answers;

  void probe(Server& server, std::function<void(Probed)> done);
  void probe_inference(Server& server, std::shared_ptr<const ServedModel> model,
                       std::function<void(Probed)> done);
  Answers ask_all(Clock::time_point deadline);

  /// Calls and forgets what waits for a round: `one`, or all.
  void stop_waiting(const std::shared_ptr<std::function<void()>>& one = nullptr);
  void learn(Server& server, ServedModel said);
  CallStatus wrong_metadata(const ModelMetadataReply& metadata) const;

  /// Of what is expected of a model, where a checksum is known.
  bool is_expected(const ServedModel& model) const;

  /// The model that all servers have that have said so; nullptr: none has, or they differ. @param is_as_expected others do not count
  std::shared_ptr<const ServedModel> agreed(bool is_as_expected) const;

  /// Chooses the model that calls are for, where the servers agree by now. @return whether there is one
  bool settle();

  void warn_of_another(const Server& server, const ServedModel& has,
                       const ServedModel& expected) const;
  ServiceError error_at_load() const;
  std::string models_of_servers() const;

  std::string location_;
  Options options_;
  ServiceUrl url_;
  std::string subject_;
  std::string fallback_checksum_;
  Lookup lookup_;
  std::shared_ptr<Transport> transport_;
  std::shared_ptr<Servers> servers_;
  RetryBudget budget_;

  mutable std::mutex mutex_;
  std::shared_ptr<const ServedModel> model_;
  bool has_followed_ = false;
  std::vector<std::shared_ptr<std::function<void()>>> waiting_;  ///< for a round of ask_others()
  bool is_asking_ = false;                                       ///< there is a round
  Clock::time_point last_round_ = {};                            ///< its end
  std::vector<Name> names_;
  bool probes_until_loaded_ = false;
  std::condition_variable is_idle_;
  int calls_ = 0;
};

}  // namespace tensoa::remote
