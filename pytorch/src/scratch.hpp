// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tensoa/core/queue.hpp"
#include "tensoa/core/tensor_view.hpp"

namespace tensoa::pytorch {

/// Memory for the copies that one call makes of its inputs. Only grows.
class Scratch {
 public:
  /// A packed tensor of the shape and dtype of `like`, in the memory of place `i`. Its contents are
  /// whatever was there; it is valid until the next `take` of the same place.
  at::Tensor take(std::size_t i, const TensorView& like);

 private:
  std::vector<at::Tensor> buffers_;  ///< bytes
};

/// The scratch memory of an engine: what calls on one queue used is used again by the next calls on
/// that queue, which come after them in its order. Calls that run at the same time (on the CPU) have
/// scratch memory each.
/// *Threads*: safe.
class ScratchPool {
 public:
  /// Scratch memory for one call, given back at the end. Taken out when it is first used, so that
  /// calls that copy nothing never lock.
  class Loan {
   public:
    Loan(ScratchPool& pool, const Queue& queue) : pool_(pool), key_(queue.native_handle()) {}
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

    Scratch& get();

   private:
    ScratchPool& pool_;
    void* key_;
    std::unique_ptr<Scratch> scratch_;
  };

 private:
  std::mutex mutex_;
  std::multimap<void*, std::unique_ptr<Scratch>> idle_;  ///< by the stream; nullptr is the CPU
};

}  // namespace tensoa::pytorch
