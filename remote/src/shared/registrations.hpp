// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "shared/shared_region.hpp"
#include "transport/transport.hpp"

namespace tensoa::remote {

/// Which regions of shared memory a server has.
/// *Threads*: safe.
class Registrations {
 public:
  /// Whether the caller is to register the region now, and to tell the end: no other caller is doing so, and
  /// the server has not refused it for some time.
  bool begin(const SharedRegion& region);

  /// Records the server's reply to the registration. @return whether it is the first refusal, to be reported once
  bool end(const SharedRegion& region, const CallStatus& status);

  /// Whether requests may refer to the region.
  bool has(const SharedRegion& region) const;

  /// A request that refers to the region succeeded.
  void confirm(const SharedRegion& region);

  /// The server has no such region, or may have been restarted: it is registered again. One that loses
  /// it again and again is several servers behind one address, and counts as one that refuses.
  void lose(const SharedRegion& region);

 private:
  struct Entry {
    bool is_registered = false;
    bool is_pending = false;
    int losses = 0;
    Clock::time_point next = {};  ///< not before
  };

  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  bool is_reported_ = false;
};

/// Whether a server refuses a request because of the shared memory in it.
bool concerns_shared_memory(const CallStatus& status);

}  // namespace tensoa::remote
