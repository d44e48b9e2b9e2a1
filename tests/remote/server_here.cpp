// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "device_server.hpp"
#include "transport_double.hpp"

/// The server is in this process, over simulated GPUs, where all processes are one.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  static tensoa::test::DeviceServer server;
  tensoa::test::set_answers([](const std::string& method, const std::string& request) {
    return server(method, request);
  });
  return RUN_ALL_TESTS();
}
