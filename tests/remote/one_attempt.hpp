// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "kserve/messages.hpp"
#include "service/service.hpp"
#include "tensoa/remote/service_error.hpp"

namespace tensoa::test {

/// How one question to the first server of a URL fails, in the words of models. Loading asks until a deadline, so what it
/// reports depends on how fast the machine is.
inline remote::ServiceError failure_of_one_attempt(const std::string& url) {
  const auto service = remote::Service::make(ModelLocation(url), {});
  remote::Server& server = *service->servers().all().front();
  const auto answer = call_and_wait(*server.connection, remote::kModelReady, "",
                                    remote::Clock::now() + std::chrono::minutes(1));
  return service->error(answer.status, server, 1);
}

}  // namespace tensoa::test
