// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory_resource>

#include "tensoa/core/error.hpp"

namespace tensoa::test {

/// Host memory that counts what is taken and given back, and can be full.
class CountingResource final : public std::pmr::memory_resource {
 public:
  std::size_t taken = 0;  ///< bytes
  std::size_t given_back = 0;
  bool is_full = false;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (is_full) throw DeviceFullError("the resource is full");
    taken += bytes;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override {
    given_back += bytes;
    std::pmr::new_delete_resource()->deallocate(data, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace tensoa::test
