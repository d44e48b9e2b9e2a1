// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "columns/gather.hpp"

#include <array>
#include <cstdint>

#include "columns/runs.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/core/strided_copy.hpp"

namespace tensoa::remote {
namespace {

/// A shorter stretch is copied: gRPC and the kernel take a few hundred nanoseconds for each piece.
constexpr std::size_t kWorthBorrowing = 2048;

}  // namespace

std::size_t append_elements(Payload& payload, const TensorView& view) {
  const std::size_t bytes = view.bytes();
  if (bytes == 0) return 0;
  const Runs runs(view);
  if (runs.bytes() >= kWorthBorrowing) {
    runs.for_each([&](std::byte* run) { payload.borrow(run, runs.bytes()); });
    return 0;
  }
  TensorView room = view;
  room.data = payload.make_room(bytes);
  room.read_only = false;
  make_row_major(room);
  static const Queue kHost(Device::cpu());
  return strided_copy(kHost, room, view);
}

}  // namespace tensoa::remote
