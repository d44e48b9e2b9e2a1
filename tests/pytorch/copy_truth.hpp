// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <string>

#include "tensoa/core/queue.hpp"

/// @file
/// The bytes that a call really moves, measured without the engine.

namespace tensoa {

struct MemoryRange {
  const std::byte* data;
  std::size_t bytes;
};

/// The memory operations of the calling thread.
struct Seen {
  std::size_t from_columns = 0;    ///< bytes copied out of the columns to other memory
  std::size_t to_columns = 0;      ///< bytes written into the columns
  std::size_t inside_model = 0;    ///< bytes of the columns that the model's own code copies
  std::size_t large_blocks = 0;    ///< bytes of host allocations of at least `large`
  std::size_t allocations = 0;     ///< number of host allocations, outside torch's operators
  std::size_t locks = 0;           ///< number of mutexes locked, outside torch's operators
  std::set<const void*> in_place;  ///< addresses in the columns that were read without a copy
  std::string story;               ///< one line for each event, for messages
};

/// Runs `call` and looks on, at three places:
/// - torch's operators (at::RecordFunction). What one reads and writes comes from the addresses of
///   its tensors and from its schema, not from a list of operators that copy; what inner operators
///   write counts once (a clone is an empty tensor and a copy_).
/// - strided_copy, pad_rows, memcpy and memmove of at least `large` bytes outside operators: this program
///   has its own.
/// - malloc, its relatives and with them operator new: this program has its own.
/// - pthread_mutex_lock and its relatives, and with them those of the standard library.
/// A loop written by hand into memory that was there before goes unseen; that the model reads at
/// the address of the columns (`in_place`) is the proof against it.
/// @param columns all memory of the caller's that takes part, host or device
Seen watch(std::span<const MemoryRange> columns, std::size_t large,
           const std::function<void()>& call);

/// The work that a call enqueues on a CUDA queue.
struct SeenOnQueue {
  std::size_t copied = 0;       ///< bytes, of copy nodes and of torch's copy kernels
  std::size_t allocations = 0;  ///< nodes that allocate or free
  std::string story;            ///< one line for each node, for messages
};

/// Runs `call` twice, so that torch's allocator has its blocks, then captures it into a CUDA graph
/// and lists the nodes. The queue is torch's current stream meanwhile.
/// @param element_size of the elements that kernels copy: a kernel tells their number only
/// @throws DeviceError when the call cannot be captured
SeenOnQueue watch_queue(const Queue& queue, std::size_t element_size,
                        const std::function<void()>& call);

}  // namespace tensoa
