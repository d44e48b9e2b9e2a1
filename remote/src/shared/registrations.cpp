// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "shared/registrations.hpp"

#include <chrono>

#include "service/status.hpp"

namespace tensoa::remote {
namespace {

constexpr Clock::duration kAfterRefusal = std::chrono::seconds(60);
constexpr Clock::duration kAfterFailure = std::chrono::seconds(1);
constexpr int kMostLosses = 5;
constexpr int kAlreadyExists = 6;

}  // namespace

bool Registrations::begin(const SharedRegion& region) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[region.name()];
  if (entry.is_registered || entry.is_pending || Clock::now() < entry.next) return false;
  return entry.is_pending = true;
}

bool Registrations::end(const SharedRegion& region, const CallStatus& status) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[region.name()];
  entry.is_pending = false;
  // Another model of this process has registered it: the name is random.
  entry.is_registered = status.is_ok() || status.code == kAlreadyExists;
  if (entry.is_registered) return false;
  const bool is_gone = verdict_of(status) != Verdict::kRefused &&
                       status.message.find("restricted") == std::string::npos;
  entry.next = Clock::now() + (is_gone ? kAfterFailure : kAfterRefusal);
  if (is_gone || is_reported_) return false;
  return is_reported_ = true;
}

bool Registrations::has(const SharedRegion& region) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(region.name());
  return found != entries_.end() && found->second.is_registered;
}

void Registrations::confirm(const SharedRegion& region) {
  const std::lock_guard lock(mutex_);
  entries_[region.name()].losses = 0;
}

void Registrations::lose(const SharedRegion& region) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[region.name()];
  if (!entry.is_registered) return;
  entry.is_registered = false;
  if (++entry.losses >= kMostLosses) {
    entry.losses = 0;
    entry.next = Clock::now() + kAfterRefusal;
  }
}

bool concerns_shared_memory(const CallStatus& status) {
  return !status.is_ok() && status.message.find("shared memory") != std::string::npos;
}

}  // namespace tensoa::remote
