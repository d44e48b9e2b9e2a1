// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "service/counters.hpp"
#include "shared/registrations.hpp"
#include "transport/transport.hpp"

namespace tensoa::remote {

/// One server of a model.
struct Server {
  std::string address;
  std::shared_ptr<Connection> connection;
  Counters counters;
  Registrations registrations;

  // Of Servers, under its mutex.
  int outstanding = 0;
  bool is_suspect = false;     ///< failed, and no probe has succeeded since
  Clock::duration pause = {};  ///< before the next probe
};

/// The servers of a model: the one with the fewest calls in flight gets the next. One that failed gets none
/// until a probe has succeeded, unless there is no other.
/// *Threads*: safe.
class Servers : public std::enable_shared_from_this<Servers> {
 public:
  /// Asks a server whether it works, by an inference, and says so once, from any thread.
  using Probe = std::function<void(Server&, std::function<void(bool works)>)>;

  Servers(std::shared_ptr<Transport> transport, std::vector<std::unique_ptr<Server>> servers)
      : transport_(std::move(transport)), servers_(std::move(servers)) {}

  /// Before the first call. @param probe without owning this
  void set_probe(Probe probe) { probe_ = std::move(probe); }

  /// The server for the next attempt of a call, which counts until release().
  /// @param tried by this call: taken only where there is no other
  Server& take(std::span<Server* const> tried);

  /// After an attempt. @param is_failed the server did not answer
  void release(Server& server, bool is_failed);

  /// Sends the server no calls until a probe has succeeded.
  void suspect(Server& server);

  bool is_suspect(const Server& server) const {
    const std::lock_guard lock(mutex_);
    return server.is_suspect;
  }

  std::span<const std::unique_ptr<Server>> all() const noexcept { return servers_; }

 private:
  void probe_later(Server& server);
  void probed(Server& server, bool works);

  std::shared_ptr<Transport> transport_;
  std::vector<std::unique_ptr<Server>> servers_;
  Probe probe_;
  mutable std::mutex mutex_;
  std::size_t turn_ = 0;  ///< so that equals take turns
};

}  // namespace tensoa::remote
