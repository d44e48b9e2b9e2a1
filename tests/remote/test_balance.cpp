// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// How calls are shared between servers of different speed, in virtual time: no thread, no clock.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "service/servers.hpp"

namespace tensoa {
namespace {

using remote::Endpoint;
using remote::Server;
using remote::Servers;
using remote::Transport;

/// A server of the simulation.
struct Simulated {
  double seconds = 1;      ///< of a call
  bool is_serial = false;  ///< one call after another; else all at the same time
};

/// The share of each server of 10 000 calls, of which `in_flight` are open at any time: the next begins when one ends.
std::vector<double> shares_of(const std::vector<Simulated>& simulated, std::size_t in_flight) {
  constexpr std::size_t kCalls = 10'000;
  const auto servers = std::make_shared<Servers>(
      Transport::shared(), [](const Endpoint&) { return std::shared_ptr<remote::Connection>(); });
  std::vector<Endpoint> endpoints;
  for (std::size_t i = 0; i < simulated.size(); ++i) {
    endpoints.push_back({std::to_string(i), "name:1"});
  }
  servers->update(endpoints);

  using Answer = std::tuple<double, std::size_t, Server*>;  // when, number of the call, who
  std::priority_queue<Answer, std::vector<Answer>, std::greater<>> answers;
  std::vector<double> is_free_at(simulated.size());
  std::vector<std::size_t> calls(simulated.size());
  double now = 0;
  for (std::size_t call = 0; call < kCalls; ++call) {
    if (call >= in_flight) {
      now = std::get<0>(answers.top());
      servers->release(*std::get<2>(answers.top()), remote::Outcome::kAnswered);
      answers.pop();
    }
    Server& server = *servers->take(nullptr, {});
    const std::size_t i = std::stoul(server.address);
    ++calls[i];
    const double start = simulated[i].is_serial ? std::max(now, is_free_at[i]) : now;
    is_free_at[i] = start + simulated[i].seconds;
    answers.emplace(is_free_at[i], call, &server);
  }
  std::vector<double> shares(calls.size());
  std::ranges::transform(calls, shares.begin(), [](std::size_t count) {
    return static_cast<double>(count) / static_cast<double>(kCalls);
  });
  return shares;
}

/// Within 5 % of what is expected.
auto near(const std::vector<double>& expected) {
  std::vector<testing::Matcher<double>> all;
  all.reserve(expected.size());
  for (const double share : expected) all.push_back(testing::DoubleNear(share, 0.05 * share));
  return testing::ElementsAreArray(all);
}

class Balance : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Of, Balance, testing::Bool(), [](const auto& is_serial) {
  return is_serial.param ? "ServersThatTakeOneCallAtATime" : "ServersThatTakeAllCallsAtOnce";
});

TEST_P(Balance, EqualServersGetEqualShares) {
  const Simulated one{1, GetParam()};
  EXPECT_THAT(shares_of({one, one, one}, 48), near({1. / 3, 1. / 3, 1. / 3}));
}

TEST_P(Balance, AServerThatIsThreeTimesSlowerGetsAThirdOfWhatTheOthersGet) {
  const Simulated fast{1, GetParam()};
  const Simulated slow{3, GetParam()};
  EXPECT_THAT(shares_of({fast, slow, fast}, 48), near({3. / 7, 1. / 7, 3. / 7}));
}

TEST_P(Balance, SharesAreInverseToTheTimesOfAllServers) {
  const auto share = [](double seconds) { return 1 / seconds / (1 + 1. / 2 + 1. / 5 + 1. / 10); };
  std::vector<Simulated> servers;
  std::vector<double> expected;
  for (const double seconds : {1., 2., 5., 10.}) {
    servers.push_back({seconds, GetParam()});
    expected.push_back(share(seconds));
  }
  EXPECT_THAT(shares_of(servers, 64), near(expected));
}

TEST(BalanceOfFewCalls, AServerThatStallsGetsOneInFlight) {
  const Simulated fast{1};
  const Simulated stalled{1e9};
  const std::vector<double> shares = shares_of({fast, stalled, fast}, 3);
  EXPECT_LE(shares[1], 2. / 10'000);
}

}  // namespace
}  // namespace tensoa
