// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "fake_server.hpp"
#include "shared_tensors.hpp"
#include "tensoa/core/imported_memory.hpp"

namespace tensoa::test {

/// A server of the model "double", float32 [1, 2, n] to twice that, that takes CUDA shared memory as Triton does. Used by one
/// thread.
///
/// The method "test" tells it what to do: "refuse" registrations, "forget" regions, write to the outputs and "fail" as with
/// INVALID_ARGUMENT, or "stall" (once, DEADLINE_EXCEEDED), be "full" (once,
/// RESOURCE_EXHAUSTED), have outputs of float64, "wide", or be another version whose outputs are float32, "narrow", and "reset". It replies with what it did since the last reset:
/// "registered 1 unregistered 0 by_region 2 by_wire 0", of tensors.
class DeviceServer {
 public:
  FakeReply operator()(const std::string& method, const std::string& request);

 private:
  FakeReply test(const std::string& what);
  FakeReply register_region(const std::string& request);
  FakeReply infer(const std::string& request);
  std::string output_type() const;

  std::map<std::string, ImportedMemory> regions_;
  std::map<std::string, int> done_;
  std::string mode_;
};

}  // namespace tensoa::test
