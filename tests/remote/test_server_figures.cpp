// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/remote/server_figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "fake_server.hpp"
#include "protobuf/encoder.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

using namespace std::chrono_literals;
using remote::InferenceCounts;
using remote::Options;
using remote::ServerFigures;
using remote::protobuf::Encoder;
using test::FakeReply;
using test::FakeServer;
using testing::HasSubstr;
using testing::SizeIs;

std::string duration(std::uint64_t count, std::uint64_t nanoseconds) {
  Encoder message;
  message.number(1, count);
  message.number(2, nanoseconds);
  return message.take();
}

/// Of one version, as Triton sends it.
std::string statistics(std::uint64_t requests) {
  Encoder times;
  times.bytes(1, duration(requests, 900 * requests));
  times.bytes(2, duration(3, 5));
  times.bytes(3, duration(requests, 100 * requests));
  times.bytes(4, duration(requests, 10 * requests));
  times.bytes(5, duration(requests, 20 * requests));
  times.bytes(6, duration(requests, 30 * requests));
  Encoder model;
  model.text(1, "m");
  model.text(2, "1");
  model.number(4, 16 * requests);
  model.number(5, requests / 2);
  model.bytes(6, times.take());
  return model.take();
}

FakeServer::Handler with_statistics(const FakeReply& reply) {
  return [reply](const std::string& method, const std::string&) {
    if (method == remote::kModelStatistics) return reply;
    return FakeReply{.message = std::string("\x08\x01", 2)};
  };
}

std::string url_of(const std::string& servers) { return "grpc://" + servers + "/m"; }

TEST(ServerFigures, AddUpTheVersionsOfAModel) {
  Encoder reply;
  reply.bytes(1, statistics(10));
  reply.bytes(1, statistics(20));
  const FakeServer server(with_statistics({.message = reply.take()}));
  const std::vector<ServerFigures> all = remote::server_figures(url_of(server.address()));
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_TRUE(all[0].is_ready) << all[0].error;
  EXPECT_EQ(all[0].server, server.address());
  EXPECT_GT(all[0].round_trip, 0ns);
  ASSERT_TRUE(all[0].counts);
  EXPECT_EQ(*all[0].counts, (InferenceCounts{.requests = 30,
                                             .failures = 6,
                                             .rows = 480,
                                             .executions = 15,
                                             .queue = 3000ns,
                                             .compute_input = 300ns,
                                             .compute = 600ns,
                                             .compute_output = 900ns}));
  const std::string text = remote::prometheus_text(all);
  EXPECT_THAT(text, HasSubstr("tensoa_server_requests_total{model=\"" + url_of(server.address()) +
                              "\",server=\"" + server.address() + "\"} 30\n"));
  EXPECT_THAT(text, HasSubstr("tensoa_server_queue_seconds_total"));
}

TEST(ServerFigures, AreNoneWhereAServerHasNoStatistics) {
  const FakeServer server(with_statistics({.status = {.code = 12, .message = "no such method"}}));
  const auto figures = remote::server_figures(url_of(server.address())).at(0);
  EXPECT_TRUE(figures.is_ready);
  EXPECT_FALSE(figures.counts);
  EXPECT_THAT(figures.error, HasSubstr("no statistics: UNIMPLEMENTED (12), no such method"));
  EXPECT_THAT(remote::prometheus_text({&figures, 1}), Not(HasSubstr("requests_total{")));
}

TEST(ServerFigures, SayWhichServerDoesNotAnswer) {
  const FakeServer server(with_statistics({.message = ""}));
  const auto all = remote::server_figures(url_of(server.address() + ",127.0.0.1:1"),
                                          Options{.attempt_deadline = 60s});
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_TRUE(all[0].is_ready);
  EXPECT_FALSE(all[1].is_ready);
  EXPECT_THAT(all[1].error, HasSubstr("UNAVAILABLE (14)"));
  EXPECT_THROW(remote::server_figures("grpc://"), LoadError);
}

TEST(ServerFigures, RefuseAReplyThatIsNotOne) {
  const FakeServer server(with_statistics({.message = "\x0A\x7F"}));
  const auto figures = remote::server_figures(url_of(server.address())).at(0);
  EXPECT_FALSE(figures.counts);
  EXPECT_THAT(figures.error, HasSubstr("no statistics"));
}

TEST(InferenceCounts, AreSubtractedUnlessTheServerWasRestarted) {
  const InferenceCounts before{.requests = 10, .rows = 100, .executions = 5, .queue = 50ns};
  const InferenceCounts now{.requests = 14, .rows = 180, .executions = 7, .queue = 90ns};
  EXPECT_EQ(now - before,
            (InferenceCounts{.requests = 4, .rows = 80, .executions = 2, .queue = 40ns}));
  EXPECT_EQ(before - now, before);
}

TEST(InferenceCounts, SplitTheLatencyOfAClient) {
  const InferenceCounts counts{.requests = 4,
                               .queue = 400ns,
                               .compute_input = 40ns,
                               .compute = 80ns,
                               .compute_output = 120ns};
  const auto split = remote::split(counts, 1000ns);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->queue, 100ns);
  EXPECT_EQ(split->compute, 60ns);
  EXPECT_EQ(split->rest, 840ns);
  EXPECT_EQ(remote::split(counts, 10ns)->rest, 0ns);
  EXPECT_FALSE(remote::split({}, 10ns));
}

}  // namespace
}  // namespace tensoa
