// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "service/counters.hpp"
#include "service/served_model.hpp"
#include "shared/registrations.hpp"
#include "transport/transport.hpp"

namespace tensoa::remote {

/// Where a server is.
struct Endpoint {
  std::string address;  ///< "host:port", connected to
  std::string name;     ///< "host:port" of the URL: what certificates are for, and proxies route by

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// One server of a model: an address. Behind it may be several, which a proxy chooses from.
struct Server {
  std::string address;
  std::shared_ptr<Connection> connection;  ///< there while a call or a probe uses it
  Counters counters;
  Registrations registrations;

  // Of Servers, under its mutex. Others read standing_of().
  std::shared_ptr<const ServedModel> model = {};    ///< it has said last; nullptr: it has not said
  std::shared_ptr<const ServedModel> doubted = {};  ///< it had, and then denied at `denied_at`
  Clock::time_point denied_at = {};
  int denials = 0;                                    ///< since then
  std::shared_ptr<const ServedModel> warned_of = {};  ///< it has, instead of the right one
  int outstanding = 0;
  bool is_suspect = false;     ///< failed, and no probe has succeeded since
  bool is_probing = false;     ///< a probe is running, or will
  bool is_gone = false;        ///< the URL does not lead to it any more
  Clock::duration pause = {};  ///< before the next probe; grows until a call has succeeded
};

/// How a server stands to the model of a call, from best to worst.
enum class Standing : std::uint8_t {
  kHasIt,    ///< it works, and has it
  kNotSaid,  ///< it is new; or it had the model a moment ago and denies it now, as an address does behind which models are updated
  kHasAnother,  ///< it works, with another model
  kFails,  ///< it does not answer, or refuses, or answers wrongly, and no probe has succeeded since
};

/// Of a server that is not gone. Under the mutex of Servers: for_each().
Standing standing_of(const Server& server, const ServedModel* model);

/// How a server was left after take().
enum class Outcome : std::uint8_t {
  kAnswered,  ///< it answered rightly
  kFailed,    ///< it did not answer, or refused, or answered wrongly
  kUnused,    ///< it was not asked, or what it said is nothing about it
};

/// The result of a probe.
enum class Probed : std::uint8_t {
  kFails,
  kWorks,
  kHasAnother,  ///< it works, with another model than the calls are for: asked again, in case that changes
};

/// The servers of a model: of those that have it, the one with the fewest calls in flight gets the next. One that failed, in
/// whatever way, gets none until a probe has succeeded, unless there is no other; it is probed less and less often until a call
/// succeeds. So a server that fails fast, where others compute, gets few calls, and not most of them. One that has denied the model
/// a moment ago gets calls where no other has it: some of them may reach a server that has it still.
/// *Lifetime* of a Server: that of this; a server that is gone stays, for its counters and its return, without a connection.
/// *Threads*: safe.
class Servers : public std::enable_shared_from_this<Servers> {
 public:
  /// Asks a server which model it has and whether it works, by an inference, and says so once, from any thread.
  using Probe = std::function<void(Server&, std::function<void(Probed)>)>;

  /// @throws LoadError
  using Connect = std::function<std::shared_ptr<Connection>(const Endpoint&)>;

  Servers(std::shared_ptr<Transport> transport, Connect connect)
      : transport_(std::move(transport)), connect_(std::move(connect)) {}

  /// Before the first call. @param probe without owning this
  void set_probe(Probe probe) { probe_ = std::move(probe); }

  /// These are the servers from now on, at least one. Others get no calls; those that they have are completed. One thread
  /// at a time. @throws LoadError where one cannot be connected; nothing has changed then
  void update(std::span<const Endpoint> endpoints);

  /// The server for the next attempt of a call, which counts until release(); nullptr where none is left.
  /// @param model that the server must have
  /// @param tried by this call: taken only where there is no other
  /// @param refused by these: never taken; where there are any, nor are those that were tried
  Server* take(const ServedModel* model, std::span<Server* const> tried,
               std::span<Server* const> refused = {});

  /// After an attempt. @param answered_as the model that an answer was of: a server that had denied it has it still
  void release(Server& server, Outcome outcome,
               std::shared_ptr<const ServedModel> answered_as = nullptr);

  /// Stores the model that a server has reported. @param has_another than the calls are for
  /// @return whether that is worth a warning: it has another, and no warning has said so since it last worked with the right one
  bool set_model(Server& server, std::shared_ptr<const ServedModel> model, bool has_another);

  /// A server has said that it does not have the model that it had, and not what it has.
  void deny(Server& server, const ServedModel* model);

  std::shared_ptr<const ServedModel> model_of(const Server& server) const {
    const std::lock_guard lock(mutex_);
    return server.model;
  }

  /// nullptr where the server is gone and nothing uses it.
  std::shared_ptr<Connection> connection_of(const Server& server) const {
    const std::lock_guard lock(mutex_);
    return server.connection;
  }

  /// Calls `visit(server)` with each of all(), under the mutex.
  template <class Visit>
  void for_each(const Visit& visit) const {
    const std::lock_guard lock(mutex_);
    for (Server* const server : live_) visit(*server);
  }

  /// The best standing of all(); kFails where there are none.
  /// @param refused by these: they have the model
  Standing best_standing(const ServedModel* model, std::span<Server* const> refused = {}) const;

  /// Probes the server now if nothing is known of it.
  void look_at(Server& server);

  /// Sends the server no calls until a probe has succeeded.
  void suspect(Server& server);

  bool is_suspect(const Server& server) const {
    const std::lock_guard lock(mutex_);
    return server.is_suspect;
  }

  bool is_gone(const Server& server) const {
    const std::lock_guard lock(mutex_);
    return server.is_gone;
  }

  /// Without those that are gone.
  std::vector<Server*> all() const;

  /// The addresses and connections of all().
  std::vector<std::pair<std::string, std::shared_ptr<Connection>>> connections() const;

  /// With those that are gone.
  std::vector<Server*> all_ever() const;

 private:
  void probe_later(Server& server);
  void probed(Server& server, Probed found);

  /// The connection of a server that is gone and that nothing uses, to be freed without the mutex.
  static std::shared_ptr<Connection> take_unused(Server& server);

  std::shared_ptr<Transport> transport_;
  Connect connect_;
  Probe probe_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Server>> servers_;  ///< all that there ever were
  std::vector<Server*> live_;
  std::size_t turn_ = 0;  ///< so that equals take turns
};

}  // namespace tensoa::remote
