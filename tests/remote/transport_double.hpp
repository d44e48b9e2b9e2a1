// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "fake_server.hpp"

namespace tensoa::test {

/// Answers the calls of all transports from now on, whatever the address: a program that links transport_double.cpp
/// has no gRPC. Called by one thread. Empty: no server answers.
void set_answers(FakeServer::Handler handler);

}  // namespace tensoa::test
