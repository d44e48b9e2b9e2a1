// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/soa/memory_plan.hpp"
#include "tensoa/soa/view.hpp"

namespace tensoa {

/// Owns the columns of a layout in one allocation, on the host or on a device.
///
///     PortableCollection<Hit> hits(n_hits, Device::cpu());
///     auto v = hits.view();
///     v.x[i] = 1.f;
///
/// Ownership: the collection owns the memory; views, records and bound tensors borrow it and must
/// not outlive it. Moving a collection keeps the memory where it is. Move-only: copies of the data
/// are asked for with `copy`. The memory is not initialised.
/// *Threads*: as for any object, one writer or many readers.
template <template <template <class> class> class Layout, DeviceLike D = Device>
class PortableCollection {
 public:
  /// Room for `capacity` rows on `device`; size() is the capacity. Pitches come from the capacity.
  /// @throws ConfigError for a negative or absurd capacity; DeviceError when the device is missing
  /// or full.
  template <std::integral Capacity>
  PortableCollection(Capacity capacity, const D& device)
      : size_(checked(capacity)),
        capacity_(size_),
        buffer_(DeviceTraits<D>::get(device), MemoryPlan<Layout>(capacity_).bytes) {}

  PortableCollection(PortableCollection&& other) noexcept
      : size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)),
        buffer_(std::move(other.buffer_)) {}
  PortableCollection& operator=(PortableCollection&& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    buffer_ = std::move(other.buffer_);
    return *this;
  }
  ~PortableCollection() = default;
  PortableCollection(const PortableCollection&) = delete;
  PortableCollection& operator=(const PortableCollection&) = delete;

  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  Device device() const noexcept { return buffer_.device(); }

  /// Bytes of the allocation, padding included.
  std::size_t bytes() const noexcept { return buffer_.size(); }

  /// Start of the allocation, kAlignment-aligned.
  std::byte* data() noexcept { return buffer_.data(); }
  const std::byte* data() const noexcept { return buffer_.data(); }

  /// Exposes `size` rows from now on: O(1), rows keep their contents and addresses, nothing is
  /// initialised. Views made before keep the old size. @throws ConfigError when size > capacity().
  void resize(std::size_t size) {
    if (size > capacity_) {
      throw ConfigError("PortableCollection::resize: " + std::to_string(size) +
                        " rows do not fit the capacity of " + std::to_string(capacity_) +
                        "; make a larger collection");
    }
    size_ = size;
  }

  /// The columns, writable. O(1).
  View<Layout> view() noexcept { return make_view<View<Layout>, Column>(); }

  /// The columns as const. O(1).
  ConstView<Layout> const_view() const noexcept {
    return make_view<ConstView<Layout>, ConstColumn>();
  }

 private:
  template <std::integral Capacity>
  static std::size_t checked(Capacity capacity) {
    constexpr std::size_t kMost = std::size_t{1}
                                  << 48U;  // rows; keeps every product of the plan below 2^63
    if (!std::in_range<std::size_t>(capacity) || static_cast<std::size_t>(capacity) > kMost) {
      throw ConfigError("PortableCollection: a capacity of " + std::to_string(capacity) +
                        " rows is impossible; expected 0 to 2^48");
    }
    return static_cast<std::size_t>(capacity);
  }

  template <class SomeView, template <class> class Policy>
  SomeView make_view() const noexcept {
    const MemoryPlan<Layout> plan(capacity_);
    const auto place = [&]<class Field>(detail::Tag<Field>, std::size_t field) {
      Policy<Field> column{};
      column.data_ =
          reinterpret_cast<decltype(column.data_)>(buffer_.data() + plan.offset_of[field]);
      if constexpr (requires { column.pitch_; }) {
        column.pitch_ = pitch_of(kFieldInfo<Layout>[field].element_size(), capacity_);
      }
      return column;
    };
    return detail::apply_fields<kFieldCount<Layout>>(Layout<detail::Tag>{}, [&](auto... tag) {
      std::size_t field = 0;
      return SomeView{Layout<Policy>{place(tag, field++)...}, size_, capacity_, buffer_.device(),
                      buffer_.lease()};
    });
  }

  std::size_t size_;
  std::size_t capacity_;
  Buffer buffer_;
};

/// Copies the rows of `from` into `to`, in the order of `queue`; `to` takes the size of `from`.
///
/// Collections of one capacity are copied as one block of memory, others plane by plane.
/// @param queue belongs to the CUDA device that takes part, if any
/// @return bytes enqueued
/// *Stream order*: both collections must stay alive, and `from` unchanged, until the queue has got
/// there.
/// @throws ConfigError when `from` has more rows than `to` has room for; DeviceError
template <template <template <class> class> class Layout, DeviceLike D, DeviceLike E>
std::size_t copy(const Queue& queue, const PortableCollection<Layout, D>& from,
                 PortableCollection<Layout, E>& to) {
  to.resize(from.size());
  if (from.capacity() == to.capacity()) {
    copy_bytes(queue, to.data(), to.device(), from.data(), from.device(), from.bytes());
    return from.bytes();
  }
  const MemoryPlan<Layout> from_plan(from.capacity());
  const MemoryPlan<Layout> to_plan(to.capacity());
  std::size_t copied = 0;
  for (std::size_t field = 0; field < kFieldCount<Layout>; ++field) {
    const FieldInfo& info = kFieldInfo<Layout>[field];
    const std::size_t size = info.element_size();
    const std::size_t rows = info.kind == ColumnKind::kScalar ? 1 : from.size();
    for (std::size_t plane = 0; plane < info.planes(); ++plane) {
      copy_bytes(
          queue,
          to.data() + to_plan.offset_of[field] + plane * pitch_of(size, to.capacity()) * size,
          to.device(),
          from.data() + from_plan.offset_of[field] + plane * pitch_of(size, from.capacity()) * size,
          from.device(), rows * size);
      copied += rows * size;
    }
  }
  return copied;
}

}  // namespace tensoa
