// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa/core/impl/cpp20.hpp"  // first

#include <atomic>
#include <cstdint>

namespace tensoa {

namespace detail {

/// Counts what happens to the memory of one owner after another. Reused, never freed.
struct LeaseSlot {
  std::atomic<std::uint64_t> generation{1};  ///< goes up when an owner ends or renews its lease
  std::atomic<std::uint64_t> first{1};       ///< generation that the present owner began with
};

}  // namespace detail

/// Liveness token: reports whether the underlying allocation still exists, and still has the rows
/// that it had. A view carries the token of its collection; a call on columns of a collection that
/// was destroyed, or resized, is then an error, not a wild read or rows of before.
///
/// A trivially copyable value of 16 bytes; a check is one load, in all builds. It stores the
/// generation counter of a slot ("generational index" in entity-component systems).
/// *Threads*: safe. The answer holds only as long as no other thread destroys the collection:
/// destroying one while another thread uses it remains a race.
class Lease {
 public:
  /// Of memory that the library does not own: always live.
  constexpr Lease() noexcept = default;

  /// Whether the memory has not been freed. Moving its owner does not end a lease.
  bool is_live() const noexcept {
    return slot_ == nullptr || slot_->first.load(std::memory_order_acquire) <= generation_;
  }

  /// Whether it is live, and its owner has not renewed it (LeaseOwner::renew).
  bool is_current() const noexcept {
    return slot_ == nullptr || slot_->generation.load(std::memory_order_acquire) == generation_;
  }

  /// Whether the library allocated the memory, and so placed the columns in it.
  bool is_owned() const noexcept { return is_owned_; }

  /// Whether both are of the same memory.
  friend bool operator==(const Lease& one, const Lease& other) noexcept {
    return one.slot_ == other.slot_ &&
           (one.generation_ == other.generation_ || (one.is_live() && other.is_live()));
  }

 private:
  friend class LeaseOwner;

  const detail::LeaseSlot* slot_ = nullptr;
  std::uint64_t generation_ : 63 = 0;
  std::uint64_t is_owned_ : 1 = 0;
};

/// A member of each owner of memory; the leases end when it is destroyed. Move-only.
/// *Threads*: making and ending take a mutex.
class LeaseOwner {
 public:
  /// Owns nothing; its lease is always live.
  LeaseOwner() noexcept = default;

  /// Owns a lease that lives until this object, or the one it was moved to, is gone: of memory that
  /// the library allocated.
  static LeaseOwner make();

  /// The same for memory that the caller allocated and that lives as long as this object.
  static LeaseOwner make_foreign();

  ~LeaseOwner() { end(); }
  LeaseOwner(LeaseOwner&& other) noexcept;
  LeaseOwner& operator=(LeaseOwner&& other) noexcept;
  LeaseOwner(const LeaseOwner&) = delete;
  LeaseOwner& operator=(const LeaseOwner&) = delete;

  Lease lease() const noexcept { return lease_; }

  /// The lease from now on. Those given out before stay live, but are not current any more.
  /// *Threads*: one atomic addition, no mutex; as for any object, no other thread uses this owner.
  Lease renew() noexcept;

 private:
  void end() noexcept;

  Lease lease_;
};

}  // namespace tensoa
