// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <memory_resource>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/core/strided_copy.hpp"
#include "tensoa/soa/memory_plan.hpp"
#include "tensoa/soa/view.hpp"

namespace tensoa {

/// Returns a view over all rows of memory that is laid out as that of a collection.
/// @param data MemoryPlan<Layout>(capacity).bytes bytes of `device`, kAlignment-aligned
/// @param lease of the memory, where its owner ends one
/// *Lifetime*: the memory must outlive the view.
template <template <template <class> class> class Layout>
View<Layout> view_at(std::byte* data, std::size_t capacity, Device device,
                     Lease lease = {}) noexcept {
  const MemoryPlan<Layout> plan(capacity);
  std::size_t field = 0;
  const auto place = [&]<class C>(C column) {
    column.data_ = reinterpret_cast<decltype(column.data_)>(data + plan.offset_of[field]);
    if constexpr (requires { column.pitch_; }) {
      column.pitch_ = pitch_of(kFieldInfo<Layout>[field].element_size(), capacity);
    }
    ++field;
    return column;
  };
  return {detail::map_columns(Layout<Column>{}, place), capacity, capacity, device, lease};
}

namespace detail {

/// @throws ConfigError when `capacity` is negative or more than a collection of `Layout` can have
template <template <template <class> class> class Layout, std::integral Capacity>
std::size_t checked_capacity(Capacity capacity, const std::string& of = "PortableCollection") {
  constexpr std::size_t kMost = MemoryPlan<Layout>::kMaxCapacity;
  if (!std::in_range<std::size_t>(capacity) || static_cast<std::size_t>(capacity) > kMost) {
    throw ConfigError(of + ": a capacity of " + std::to_string(capacity) +
                      " rows is impossible; expected 0 to " + std::to_string(kMost));
  }
  return static_cast<std::size_t>(capacity);
}

/// @throws ConfigError
inline void check_resize(std::size_t size, std::size_t capacity,
                         const std::string& of = "PortableCollection::resize") {
  if (size > capacity) {
    throw ConfigError(of + ": " + std::to_string(size) + " rows do not fit the capacity of " +
                      std::to_string(capacity) + "; make a larger collection");
  }
}

/// The same columns as const; they differ in type only.
template <template <template <class> class> class Layout>
ConstView<Layout> as_const(const View<Layout>& view) noexcept {
  static_assert(sizeof(Layout<ConstColumn>) == sizeof(Layout<Column>));
  return {std::bit_cast<Layout<ConstColumn>>(view.columns()), view.size_, view.capacity_,
          view.device_, view.lease_};
}

/// @param bytes of the allocation of one side of a copy
/// @throws ConfigError
inline void require_memory(std::size_t bytes, const std::string& side) {
  if (bytes == 0) {
    throw ConfigError("copy: the collection that it goes " + side +
                      " has no memory; it was moved from. Assign another to it before");
  }
}

/// One side of a copy.
template <class Byte>
struct Placed {
  Byte* data;
  std::size_t capacity;
  Device device;
};

/// The planes of a field, as a tensor [planes, rows].
template <template <template <class> class> class Layout, class Byte>
TensorView planes_of(const Placed<Byte>& placed, std::size_t field, std::size_t rows) {
  const FieldInfo& info = kFieldInfo<Layout>[field];
  TensorView planes{.data = const_cast<std::byte*>(placed.data) +
                            MemoryPlan<Layout>(placed.capacity).offset_of[field],
                    .dtype = info.dtype,
                    .device = placed.device,
                    .rank = 2};
  planes.size_of_dim = {static_cast<std::int64_t>(info.planes()),
                        static_cast<std::int64_t>(info.is_scalar() ? 1 : rows)};
  planes.stride_of_dim = {static_cast<std::int64_t>(pitch_of(info.element_size(), placed.capacity)),
                          1};
  return planes;
}

/// Copies `rows` rows field by field. @return bytes enqueued
template <template <template <class> class> class Layout>
std::size_t copy_planes(const Queue& queue, const Placed<const std::byte>& from,
                        const Placed<std::byte>& to, std::size_t rows) {
  return strided_copies(queue, kFieldCount<Layout>, [&](std::size_t field) {
    return TensorCopy{planes_of<Layout>(to, field, rows), planes_of<Layout>(from, field, rows)};
  });
}

}  // namespace detail

/// Owns the columns of a layout in one allocation, on the host or on a device.
///
///     PortableCollection<Hit> hits(n_hits, Device::cpu());
///     auto v = hits.view();
///     v.x[i] = 1.f;
///
/// Ownership: the collection owns the memory; views, records and bound tensors borrow it and must
/// not outlive it. Moving a collection keeps the memory where it is; what is left has no rows, and
/// its views have null columns. Move-only: `copy` makes copies of the data. The memory
/// is not initialised.
/// *Threads*: as for any object, one writer or many readers.
template <template <template <class> class> class Layout, DeviceLike D = Device>
class PortableCollection {
 public:
  /// Room for `capacity` rows on `device`; size() is the capacity. Pitches come from the capacity.
  /// @throws ConfigError for a negative or absurd capacity; DeviceError when the device is missing
  /// or full.
  template <std::integral Capacity>
  PortableCollection(Capacity capacity, const D& device)
      : PortableCollection(DeviceTraits<D>::get(device),
                           detail::checked_capacity<Layout>(capacity)) {}

  /// The same on the CPU.
  template <std::integral Capacity>
    requires std::same_as<D, Device>
  explicit PortableCollection(Capacity capacity) : PortableCollection(capacity, Device::cpu()) {}

  /// The same in memory of the caller's: an arena that servers on this host share
  /// (remote::SharedMemory), or another resource.
  /// @param memory of `device`; must outlive the collection
  /// @throws ConfigError, DeviceError; what `memory` throws when it is full
  template <std::integral Capacity>
  PortableCollection(Capacity capacity, const D& device, std::pmr::memory_resource& memory)
      : PortableCollection(DeviceTraits<D>::get(device), detail::checked_capacity<Layout>(capacity),
                           memory) {}

  PortableCollection(PortableCollection&& other) noexcept
      : buffer_(std::move(other.buffer_)), view_(std::exchange(other.view_, {})) {}
  PortableCollection& operator=(PortableCollection&& other) noexcept {
    buffer_ = std::move(other.buffer_);
    view_ = std::exchange(other.view_, {});
    return *this;
  }
  ~PortableCollection() = default;
  // Compilers show the line of a deleted function, and its message.
  PortableCollection(const PortableCollection&) = delete;  // copy(queue, from, to) copies rows
  PortableCollection& operator=(const PortableCollection&) = delete;  // copy(queue, from, to)

  std::size_t size() const noexcept { return view_.size_; }
  std::size_t capacity() const noexcept { return view_.capacity_; }
  Device device() const noexcept { return buffer_.device(); }

  /// Bytes of the allocation, padding included.
  std::size_t bytes() const noexcept { return buffer_.size(); }

  /// Start of the allocation, kAlignment-aligned.
  std::byte* data() noexcept { return buffer_.data(); }
  const std::byte* data() const noexcept { return buffer_.data(); }

  /// Exposes `size` rows from now on: O(1), rows keep their contents and addresses, nothing is
  /// initialised. Views made before keep the old size; where it was another, a model refuses them: bind
  /// or rebind `view()` again. @throws ConfigError when size > capacity().
  void resize(std::size_t size) {
    detail::check_resize(size, capacity());
    if (size == view_.size_) return;
    view_.size_ = size;
    view_.lease_ = buffer_.renew_lease();
  }

  /// The columns, writable. A copy of pointers.
  View<Layout> view() noexcept { return view_; }

  /// The columns as const. A copy of pointers.
  ConstView<Layout> const_view() const noexcept { return detail::as_const(view_); }

 private:
  PortableCollection(Device device, std::size_t capacity)
      : buffer_(device, MemoryPlan<Layout>(capacity).bytes),
        view_(view_at<Layout>(buffer_.data(), capacity, device, buffer_.lease())) {}
  PortableCollection(Device device, std::size_t capacity, std::pmr::memory_resource& memory)
      : buffer_(device, MemoryPlan<Layout>(capacity).bytes, memory),
        view_(view_at<Layout>(buffer_.data(), capacity, device, buffer_.lease())) {}

  Buffer buffer_;
  View<Layout> view_;
};

namespace detail {

/// Copies the first `rows` rows, which both have room for. @return bytes enqueued
template <template <template <class> class> class Layout, DeviceLike D, DeviceLike E>
std::size_t copy_rows(const Queue& queue, const PortableCollection<Layout, D>& from,
                      PortableCollection<Layout, E>& to, std::size_t rows) {
  if (from.capacity() == to.capacity()) {
    copy_bytes(queue, to.data(), to.device(), from.data(), from.device(), from.bytes());
    return from.bytes();
  }
  return copy_planes<Layout>(queue, {from.data(), from.capacity(), from.device()},
                             {to.data(), to.capacity(), to.device()}, rows);
}

}  // namespace detail

/// Copies the rows of `from` into `to`, in the order of the queue; `to` gets the size of `from`.
///
/// Collections of one capacity are copied as one block of memory, others plane by plane.
/// @param on a queue, of the CUDA device that takes part, if any
/// @return bytes enqueued
/// *Stream order*: both collections must stay alive, and `from` unchanged, until the queue has got
/// there.
/// @throws ConfigError when `from` has more rows than `to` has room for, or one was moved from;
/// DeviceError. `to` then keeps its size
template <QueueLike Q, template <template <class> class> class Layout, DeviceLike D, DeviceLike E>
std::size_t copy(const Q& on, const PortableCollection<Layout, D>& from,
                 PortableCollection<Layout, E>& to) {
  detail::require_memory(from.bytes(), "from");
  detail::require_memory(to.bytes(), "to");
  detail::check_resize(from.size(), to.capacity());
  const std::size_t copied = detail::copy_rows(QueueTraits<Q>::get(on), from, to, from.size());
  to.resize(from.size());
  return copied;
}

}  // namespace tensoa
