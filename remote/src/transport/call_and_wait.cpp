// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <future>

#include "transport/transport.hpp"

namespace tensoa::remote {

Answer call_and_wait(Connection& connection, const char* method, const std::string& message,
                     Clock::time_point deadline) {
  auto payload = std::make_shared<Payload>();
  payload->append(message);
  const auto promise = std::make_shared<std::promise<Answer>>();
  std::future<Answer> answer = promise->get_future();
  connection.call(method, std::move(payload), deadline,
                  [promise](CallStatus status, std::span<const std::span<const std::byte>> reply) {
                    Answer given{std::move(status), {}};
                    for (const std::span<const std::byte> piece : reply) {
                      given.reply.append(reinterpret_cast<const char*>(piece.data()), piece.size());
                    }
                    promise->set_value(std::move(given));
                  });
  return answer.get();
}

}  // namespace tensoa::remote
