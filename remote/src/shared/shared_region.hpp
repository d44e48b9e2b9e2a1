// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "transport/transport.hpp"

namespace tensoa::remote {

/// How servers are given a region of one kind.
struct SharingProtocol {
  const char* register_method;
  const char* unregister_method;
  const char* name;    ///< "system shared memory": for messages
  const char* advice;  ///< what to do where a server refuses
};

/// Memory that servers on this host read and write.
/// *Threads*: safe.
class SharedRegion {
 public:
  virtual ~SharedRegion() = default;
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  /// Its name for servers: no other process, and no other host, has that name.
  const std::string& name() const noexcept { return name_; }

  const SharingProtocol& protocol() const noexcept { return protocol_; }

  /// The message that registers it.
  virtual std::string registration() const = 0;

  /// Remembers where the region is registered.
  void note_registered(const std::string& server, std::shared_ptr<Connection> connection);

  /// Unregisters it everywhere, and waits for 1 s at most.
  void unregister();

 protected:
  explicit SharedRegion(const SharingProtocol& protocol) : protocol_(protocol) {}

  /// 128 random bits.
  static std::string random_name();

  std::string name_ = random_name();

 private:
  const SharingProtocol& protocol_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Connection>> registered_;
};

/// The beginning of all names.
inline constexpr std::string_view kRegionPrefix = "tensoa-";

}  // namespace tensoa::remote
