// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Whatever happens to a connection, each call is completed: servers and networks that are none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "calls.hpp"
#include "fake_server.hpp"
#include "kserve/messages.hpp"
#include "one_attempt.hpp"
#include "tcp_peers.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/remote/options.hpp"
#include "tensoa/remote/service_error.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using namespace std::chrono_literals;
using remote::Options;
using remote::ServiceError;
using test::answer_same;
using test::FakeReply;
using test::FakeServer;
using test::Network;
using test::TcpServer;
using testing::AllOf;
using testing::HasSubstr;

/// As the other side was, with bytes that it had not read, or without.
const testing::Matcher<std::string> kClosed =
    testing::AnyOf(HasSubstr("Socket closed"), HasSubstr("Connection reset by peer"));

/// The longest wait of a test; a call that is lost would wait for ever.
constexpr auto kForever = 60s;

constexpr std::size_t kFew = 10;
constexpr std::size_t kMoreThanSocketsHold = std::size_t{8} << 20U;  // rows of 4 bytes

class LostConnections : public testing::Test {
 protected:
  void SetUp() override { remote::register_engines(); }

  static Model<> model(const std::string& address, const Options& options) {
    return Model<>("grpc://" + address + "/same", options);
  }

  /// Starts a call of `rows` rows.
  std::future<Result<CopyReport>> submit(const Model<>& model, std::size_t rows) {
    in_.emplace(rows, Device::cpu());
    out_.emplace(rows, Device::cpu());
    for (std::size_t i = 0; i < rows; ++i) in_->view().x[i] = 1;
    const auto promise = std::make_shared<std::promise<Result<CopyReport>>>();
    model.submit(Queue(Device::cpu()), model.plan(test::metadata_of(*in_, *out_)),
                 [promise](Result<CopyReport> result) { promise->set_value(std::move(result)); });
    return promise->get_future();
  }

  /// The failure of a call, which must come.
  static ServiceError failure_of(std::future<Result<CopyReport>> result) {
    if (result.wait_for(kForever) != std::future_status::ready) {
      throw std::runtime_error("the call was never completed");
    }
    return test::failure_of([&] { result.get().value(); });
  }

  /// The failure of loading a model.
  static ServiceError failure_to_load(const std::string& address, const Options& options) {
    return test::failure_of([&] { model(address, options).deploy(Device::cpu()); });
  }

  std::optional<PortableCollection<test::OneColumn>> in_;
  std::optional<PortableCollection<test::OneColumn>> out_;
};

TEST_F(LostConnections, ToWhatIsNotAGrpcServerAreErrorsOfLoading) {
  const Options quick{.attempt_deadline = 200ms, .load_deadline = 500ms};
  const auto expect_failure = [&](const TcpServer& server,
                                  const testing::Matcher<std::string>& why) {
    EXPECT_TRUE(failure_to_load(server.address(), quick).may_retry());
    const ServiceError error = test::failure_of_one_attempt("grpc://" + server.address() + "/m");
    EXPECT_EQ(error.code(), 14);
    EXPECT_TRUE(error.may_retry());
    EXPECT_THAT(error.what(), AllOf(HasSubstr("server " + server.address()), why,
                                    HasSubstr("check host and port")));
  };
  expect_failure(TcpServer([](int) {}), kClosed);
  expect_failure(TcpServer([](int socket) {
                   test::send_all(socket,
                                  "HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\n\r\nno\n");
                 }),
                 HasSubstr("http1.x server"));
  const auto is_silent = [](int socket) {
    for (char byte = 0; recv(socket, &byte, 1, 0) > 0;) {
    }
  };
  expect_failure(TcpServer(is_silent), HasSubstr("before receiving SETTINGS"));
}

TEST_F(LostConnections, InTheMiddleOfACallAreRepeatedElsewhereOrReported) {
  std::optional<Network> network;
  const FakeServer server([&](const std::string& method, const std::string& request) {
    if (method == remote::kModelInfer) network->cut();
    return answer_same(method, request);
  });
  network.emplace(server.address());
  const Model<> alone = model(network->address(), {.deadline = kForever,
                                                   .attempt_deadline = kForever,
                                                   .load_deadline = kForever,
                                                   .retry = {.attempts = 3}});
  const ServiceError error = failure_of(submit(alone, 10));
  EXPECT_EQ(error.code(), 14);
  EXPECT_EQ(error.server(), network->address());
  EXPECT_THAT(error.what(), AllOf(kClosed, HasSubstr("; 3 attempts"), HasSubstr("fallback")));
  const FakeServer other(answer_same);
  const Model<> with_other = model(network->address() + ',' + other.address(),
                                   {.deadline = kForever, .attempt_deadline = kForever});
  for (int call = 0; call < 4; ++call) EXPECT_TRUE(submit(with_other, 10).get());
}

TEST_F(LostConnections, OfANetworkThatHoldsAllEndAtTheDeadline) {
  const FakeServer server(answer_same);
  Network network(server.address());
  const Model<> model = this->model(
      network.address(), {.deadline = 1s, .attempt_deadline = 300ms, .load_deadline = kForever});
  model.deploy(Device::cpu());
  network.hold();
  for (const std::size_t rows : {kFew, kMoreThanSocketsHold}) {
    const ServiceError error = failure_of(submit(model, rows));
    EXPECT_EQ(error.code(), 4) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("remote::Options::deadline"));
  }
}

/// gRPC keeps some of the request until the call is freed, also after it is over.
TEST_F(LostConnections, WhileARequestIsSentEndTheCall) {
  const FakeServer server(answer_same);
  Network network(server.address());
  const Model<> model = this->model(network.address(), {.deadline = kForever,
                                                        .attempt_deadline = kForever,
                                                        .load_deadline = kForever,
                                                        .retry = {.attempts = 1}});
  EXPECT_TRUE(submit(model, kFew).get());
  network.hold();
  std::future<Result<CopyReport>> result = submit(model, kMoreThanSocketsHold);
  network.wait_until_held();
  network.cut();
  EXPECT_EQ(failure_of(std::move(result)).code(), 14);
}

TEST_F(LostConnections, OfAModelThatGoesEndItsCalls) {
  const FakeServer server(answer_same);
  Network network(server.address());
  std::future<Result<CopyReport>> held;
  {
    const Model<> model =
        this->model(network.address(), {.deadline = 500ms, .attempt_deadline = 200ms});
    model.deploy(Device::cpu());
    network.hold();
    held = submit(model, kFew);
  }
  EXPECT_EQ(held.wait_for(0s), std::future_status::ready) << "the model waits for its calls";
  EXPECT_EQ(failure_of(std::move(held)).code(), 4);
}

TEST_F(LostConnections, AreNotWhatATooLargeReplyIs) {
  std::atomic<int> asked = 0;
  const FakeServer server([&](const std::string& method, const std::string& request) {
    if (method != remote::kModelInfer) return answer_same(method, request);
    ++asked;
    return FakeReply{.message = std::string(5000, 'x')};
  });
  const ServiceError error =
      failure_of(submit(model(server.address(), {.message_limit = 1000}), kFew));
  EXPECT_EQ(error.code(), 8);
  EXPECT_FALSE(error.may_retry());
  EXPECT_EQ(asked, 1);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("larger than max (5000 vs. 1000)"),
                                  HasSubstr("send fewer rows at a time")));
}

}  // namespace
}  // namespace tensoa
