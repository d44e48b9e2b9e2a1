// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// A model of a server that is not there: gRPC is found, loaded, and says so.

#include <chrono>
#include <cstdio>
#include <tensoa/engine/model.hpp>
#include <tensoa/remote/engines.hpp>
#include <tensoa/remote/options.hpp>
#include <tensoa/remote/service_error.hpp>

int main() {
  tensoa::remote::register_engines();
  try {
    tensoa::remote::Options options;
    options.load_deadline = std::chrono::milliseconds(200);
    tensoa::Model<>("grpc://127.0.0.1:1/model", options).deploy(tensoa::Device::cpu());
  } catch (const tensoa::remote::ServiceError& error) {
    std::puts(error.what());
    constexpr int kUnavailable = 14;
    return error.code() == kUnavailable ? 0 : 1;
  }
  return 1;
}
