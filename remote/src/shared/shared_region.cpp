// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "shared/shared_region.hpp"

#include <chrono>
#include <future>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "kserve/messages.hpp"

namespace tensoa::remote {
namespace {

constexpr Clock::duration kUnregisterDeadline = std::chrono::seconds(1);

}  // namespace

std::string SharedRegion::random_name() {
  std::random_device random;
  std::string name(kRegionPrefix);
  for (int i = 0; i < 4; ++i) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    auto bits = random();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4U) name += kDigits[bits & 15U];
  }
  return name;
}

void SharedRegion::note_registered(const std::string& server,
                                   std::shared_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  registered_[server] = std::move(connection);
}

void SharedRegion::unregister() {
  std::map<std::string, std::shared_ptr<Connection>> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(registered_);
  }
  const auto message = std::make_shared<Payload>();
  message->append(encode_unregister(name_));
  std::vector<std::future<void>> ends;
  const Clock::time_point deadline = Clock::now() + kUnregisterDeadline;
  for (const auto& [server, connection] : all) {
    const auto end = std::make_shared<std::promise<void>>();
    ends.push_back(end->get_future());
    connection->call(protocol_.unregister_method, message, deadline,
                     [end](const CallStatus&, auto) { end->set_value(); });
  }
  for (const std::future<void>& end : ends) end.wait();
}

}  // namespace tensoa::remote
