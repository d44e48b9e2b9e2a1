// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/lease.hpp"

#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace tensoa {
namespace {

using Slot = detail::LeaseSlot;

constexpr std::uint64_t kGenerations = ~std::uint64_t{0} >> 1U;  // the most that a lease can store

/// Slots live as long as the process, because a lease may be asked at any time; their number is the
/// largest that was in use at the same time.
struct Slots {
  std::mutex mutex;
  std::deque<Slot> all;
  std::vector<Slot*> free;

  static Slots& get() {
    static Slots& slots = *new Slots;  // never destroyed: collections may be static objects
    return slots;
  }
};

}  // namespace

LeaseOwner LeaseOwner::make() {
  LeaseOwner owner = make_foreign();
  owner.lease_.is_owned_ = 1;
  return owner;
}

LeaseOwner LeaseOwner::make_foreign() {
  LeaseOwner owner;
  Slots& slots = Slots::get();
  const std::lock_guard lock(slots.mutex);
  if (slots.free.empty()) {
    slots.free.reserve(slots.all.size() + 1);  // so that giving a slot back cannot fail
    slots.free.push_back(&slots.all.emplace_back());
  }
  owner.lease_.slot_ = slots.free.back();
  owner.lease_.generation_ = slots.free.back()->generation.load() & kGenerations;
  slots.free.pop_back();
  return owner;
}

LeaseOwner::LeaseOwner(LeaseOwner&& other) noexcept
    : lease_(std::exchange(other.lease_, Lease())) {}

LeaseOwner& LeaseOwner::operator=(LeaseOwner&& other) noexcept {
  if (this != &other) {
    end();
    lease_ = std::exchange(other.lease_, Lease());
  }
  return *this;
}

Lease LeaseOwner::renew() noexcept {
  if (lease_.slot_ == nullptr) return lease_;
  auto* slot = const_cast<Slot*>(lease_.slot_);
  lease_.generation_ =
      (slot->generation.fetch_add(1, std::memory_order_acq_rel) + 1) & kGenerations;
  return lease_;
}

void LeaseOwner::end() noexcept {
  if (lease_.slot_ == nullptr) return;
  Slots& slots = Slots::get();
  const std::lock_guard lock(slots.mutex);
  auto* slot = const_cast<Slot*>(lease_.slot_);
  const std::uint64_t next = slot->generation.fetch_add(1, std::memory_order_acq_rel) + 1;
  slot->first.store(next & kGenerations, std::memory_order_release);
  slots.free.push_back(slot);
}

}  // namespace tensoa
