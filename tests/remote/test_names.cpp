// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Host names with several addresses, each of which is a server. A test says what addresses a name has.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/infer_call.hpp"
#include "fake_server.hpp"
#include "service/lookup.hpp"
#include "service/servers.hpp"
#include "service/service.hpp"
#include "support/temporary_folder.hpp"
#include "tensoa/engine/model_metadata.hpp"
#include "tensoa/remote/options.hpp"
#include "tensoa/remote/service_error.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using namespace std::chrono_literals;
using remote::Connection;
using remote::Endpoint;
using remote::Options;
using remote::Server;
using remote::Servers;
using remote::Service;
using remote::Transport;
using test::FakeReply;
using test::FakeServer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

constexpr auto kLongest = 30s;

template <template <class> class F>
struct Column {
  F<float> x;
};

/// A model that gives what it gets.
FakeReply say_what_it_is(const std::string& method, const std::string& request) {
  if (method == remote::kModelReady) return {.message = std::string("\x08\x01", 2)};
  if (method == remote::kModelInfer) {
    const test::SeenRequest seen = test::parse_request(request);
    return {.message = test::infer_reply({{"y", "FP32", seen.inputs.at(0).sizes}}, seen.raw)};
  }
  return {.message = test::metadata_reply("m", "", {{"x", "FP32", {-1}}}, {{"y", "FP32", {-1}}})};
}

/// The addresses of names, and how often they were looked up.
class Book {
 public:
  void set(const std::string& host, std::vector<std::string> addresses) {
    const std::lock_guard lock(mutex_);
    hosts_[host] = std::move(addresses);
  }

  remote::Lookup lookup() {
    return [this](const std::shared_ptr<Transport>&, const std::string& host, const auto& done) {
      std::vector<std::string> addresses;
      {
        const std::lock_guard lock(mutex_);
        addresses = hosts_[host];
        ++looks_;
      }
      changed_.notify_all();
      done(std::move(addresses));
    };
  }

  /// Until what is set now has been used: a look begins when the one before has ended.
  bool wait_until_used() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLongest, [&, looks = looks_] { return looks_ >= looks + 2; });
  }

  int looks() {
    const std::lock_guard lock(mutex_);
    return looks_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<std::string>> hosts_;
  int looks_ = 0;
};

std::vector<std::string> addresses_of(const Servers& servers) {
  std::vector<std::string> addresses;
  std::ranges::transform(servers.all(), std::back_inserter(addresses), &Server::address);
  return addresses;
}

/// A connection to nothing.
class NoConnection final : public Connection {
 public:
  void call(const char*, std::shared_ptr<const remote::Payload>, remote::Clock::time_point,
            Done) override {}
};

class ChangingServers : public testing::Test {
 protected:
  void set(const std::vector<std::string>& addresses) {
    std::vector<Endpoint> endpoints;
    endpoints.reserve(addresses.size());
    for (const std::string& address : addresses) endpoints.push_back({address, "name:1"});
    servers_->update(endpoints);
  }

  std::string next() {
    Server& server = *servers_->take(nullptr, {});
    servers_->release(server, remote::Outcome::kAnswered);
    return server.address;
  }

  int connected_ = 0;
  std::shared_ptr<Servers> servers_ =
      std::make_shared<Servers>(Transport::shared(), [this](const Endpoint& endpoint) {
        EXPECT_EQ(endpoint.name, "name:1");
        if (endpoint.address == "bad") throw LoadError("cannot be connected");
        ++connected_;
        return std::make_shared<NoConnection>();
      });
};

TEST_F(ChangingServers, JoinAndGetCalls) {
  set({"a"});
  set({"a", "b", "c"});
  EXPECT_EQ(connected_, 3);
  EXPECT_THAT((std::vector{next(), next(), next()}), UnorderedElementsAre("a", "b", "c"));
}

TEST_F(ChangingServers, ThatAreGoneGetNoCallsAndKeepTheirConnectionForThoseInFlight) {
  set({"a"});
  Server& a = *servers_->take(nullptr, {});
  const std::weak_ptr<Connection> connection = a.connection;
  set({"b"});
  EXPECT_THAT(addresses_of(*servers_), ElementsAre("b"));
  for (int call = 0; call < 5; ++call) EXPECT_EQ(next(), "b");
  EXPECT_FALSE(connection.expired());
  servers_->release(a, remote::Outcome::kFailed);
  EXPECT_TRUE(connection.expired());
  EXPECT_FALSE(servers_->is_suspect(a)) << "it is not probed";
}

TEST_F(ChangingServers, ThatReturnAreTheSame) {
  set({"a", "b"});
  Server* const a = servers_->all().front();
  a->counters.note_failure(14);
  set({"b"});
  EXPECT_EQ(a->connection, nullptr);
  set({"b", "a"});
  EXPECT_NE(a->connection, nullptr);
  EXPECT_EQ(servers_->all().back(), a);
  EXPECT_EQ(a->counters.figures().requests, 1U);
}

TEST_F(ChangingServers, StayWhereOneCannotBeConnected) {
  set({"a"});
  EXPECT_THROW(set({"b", "bad"}), LoadError);
  EXPECT_THAT(addresses_of(*servers_), ElementsAre("a"));
}

class Names : public testing::Test {
 protected:
  std::shared_ptr<Service> service(const std::string& url, const Options& options = {}) {
    return Service::make(ModelLocation(url), options, book_.lookup());
  }

  Book book_;
};

TEST_F(Names, EachAddressIsAServer) {
  std::atomic<int> asked_first = 0;
  std::atomic<int> asked_second = 0;
  const FakeServer first([&](const std::string& method, const std::string& request) {
    ++asked_first;
    return say_what_it_is(method, request);
  });
  const std::string port = first.address().substr(first.address().find(':'));
  const FakeServer second(
      [&](const std::string& method, const std::string& request) {
        ++asked_second;
        return say_what_it_is(method, request);
      },
      "127.0.0.2" + port);
  book_.set("farm.test", {"127.0.0.1", "127.0.0.2"});
  const auto service = this->service("grpc://farm.test" + port + ",127.0.0.1" + port + "/m");
  EXPECT_THAT(addresses_of(service->servers()),
              ElementsAre("farm.test" + port, "127.0.0.1" + port));
  service->load();
  EXPECT_THAT(addresses_of(service->servers()), ElementsAre("127.0.0.1" + port, "127.0.0.2" + port))
      << "each once";
  for (int call = 0; call < 10; ++call) {
    Server& server = *service->servers().take(service->model().get(), {});
    EXPECT_TRUE(
        call_and_wait(*server.connection, remote::kModelReady, "", remote::Clock::now() + kLongest)
            .status.is_ok());
    service->servers().release(server, remote::Outcome::kAnswered);
  }
  EXPECT_GE(asked_first, 5);
  EXPECT_GE(asked_second, 5);
}

TEST_F(Names, AreLookedUpAgainAndKeepWhatTheyHadWhereTheyAreNotKnown) {
  const FakeServer server(say_what_it_is);
  const std::string port = server.address().substr(server.address().find(':'));
  book_.set("farm.test", {"127.0.0.1", "127.0.0.2"});
  const auto service =
      this->service("grpc://farm.test" + port + "/m", Options{.lookup_period = 1ms});
  service->load();
  book_.set("farm.test", {"127.0.0.1", "127.0.0.3"});
  ASSERT_TRUE(book_.wait_until_used());
  EXPECT_THAT(addresses_of(service->servers()),
              UnorderedElementsAre("127.0.0.1" + port, "127.0.0.3" + port));
  book_.set("farm.test", {});
  ASSERT_TRUE(book_.wait_until_used());
  EXPECT_THAT(addresses_of(service->servers()),
              UnorderedElementsAre("127.0.0.1" + port, "127.0.0.3" + port));
  book_.set("farm.test", {"127.0.0.1"});
  ASSERT_TRUE(book_.wait_until_used());
  EXPECT_THAT(addresses_of(service->servers()), ElementsAre("127.0.0.1" + port));
}

/// A deployment whose pods all have new addresses: calls wait until the new ones have said which model they have.
TEST_F(Names, WhoseAddressesAreAllReplacedLoseNoCall) {
  const FakeServer first(say_what_it_is);
  const std::string port = first.address().substr(first.address().find(':'));
  const FakeServer second(say_what_it_is, "127.0.0.2" + port);
  const FakeServer third(say_what_it_is, "127.0.0.3" + port);
  const FakeServer fourth(say_what_it_is, "127.0.0.4" + port);
  book_.set("farm.test", {"127.0.0.1", "127.0.0.2"});
  const auto service =
      this->service("grpc://farm.test" + port + "/m", Options{.lookup_period = 1ms});
  service->load();
  PortableCollection<Column> in(8, Device::cpu());
  PortableCollection<Column> out(8, Device::cpu());
  SoAMetadata<Column> inputs(8);
  inputs.append_block("x", in.view().records().x());
  SoAMetadata<Column> outputs(8);
  outputs.append_block("y", out.view().records().x());
  const ModelMetadata metadata(inputs, outputs);
  const auto call = [&] {
    std::promise<Result<CopyReport>> done;
    remote::infer(service, metadata.binding(), nullptr, nullptr, {},
                  [&](Result<CopyReport> result) { done.set_value(std::move(result)); });
    const Result<CopyReport> result = done.get_future().get();
    return result ? "" : std::string(result.message());
  };
  for (int round = 0; round < 10; ++round) {
    book_.set("farm.test", round % 2 == 0 ? std::vector<std::string>{"127.0.0.3", "127.0.0.4"}
                                          : std::vector<std::string>{"127.0.0.1", "127.0.0.2"});
    ASSERT_TRUE(book_.wait_until_used());
    for (int i = 0; i < 5; ++i) ASSERT_EQ(call(), "");
  }
}

TEST_F(Names, AreLookedUpOnceWhereThePeriodIsZeroAndAddressesNever) {
  const FakeServer server(say_what_it_is);
  const std::string port = server.address().substr(server.address().find(':'));
  book_.set("farm.test", {"127.0.0.1", "127.0.0.1"});
  const Options once{.lookup_period = 0ms};
  service("grpc://farm.test" + port + "/m", once)->load();
  EXPECT_EQ(book_.looks(), 1);
  service("grpc://127.0.0.1" + port + "/m", Options{.lookup_period = 1ms})->load();
  EXPECT_EQ(book_.looks(), 1);
  EXPECT_THAT([&] { service("grpc://farm.test/m", Options{.lookup_period = -1ms}); },
              ThrowsMessage<LoadError>(HasSubstr("lookup_period below 0")));
}

TEST_F(Names, WithOneAddressAreServersThemselves) {
  book_.set("farm.test", {"127.0.0.1"});
  const auto farm = service("grpc://farm.test:1/m");
  farm->look_up(remote::Clock::now() + kLongest);
  EXPECT_EQ(book_.looks(), 1);
  EXPECT_THAT(addresses_of(farm->servers()), ElementsAre("farm.test:1"));
}

TEST_F(Names, BehindAProxyAreLeftToIt) {
  setenv("grpc_proxy", "http://127.0.0.1:1", 1);
  setenv("no_grpc_proxy", "elsewhere,.INSIDE", 1);
  EXPECT_TRUE(remote::is_proxied("farm.test"));
  EXPECT_FALSE(remote::is_proxied("farm.inside"));
  const auto farm = service("grpc://farm.test/m");
  farm->look_up(remote::Clock::now() + kLongest);
  EXPECT_EQ(book_.looks(), 0);
  book_.set("farm.inside", {"127.0.0.1", "127.0.0.2"});
  const auto inside = service("grpc://farm.inside/m");
  inside->look_up(remote::Clock::now() + kLongest);
  EXPECT_THAT(addresses_of(inside->servers()), ElementsAre("127.0.0.1:8001", "127.0.0.2:8001"));
  unsetenv("grpc_proxy");
  unsetenv("no_grpc_proxy");
}

/// For farm.test, until 2126.
constexpr const char* kCertificate = R"(-----BEGIN CERTIFICATE-----
MIIBkzCCATugAwIBAgIUJ0NkgiUto+0cT0iGbYrntlC6llMwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJZmFybS50ZXN0MCAXDTI2MTEyMzEzMDU1NloYDzIxMjYxMDMw
MTMwNTU2WjAUMRIwEAYDVQQDDAlmYXJtLnRlc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARVBAvGCVD8cmFQfy7kCDUojjMupfIZpIPxta4SgN1ybpABnbUJsqk+
i4PG5UPuv8K9R/pLqfdK/ujnhAcwVqzco2kwZzAdBgNVHQ4EFgQUNRfUt7UGYFRV
PUnktcEfDtci4P8wHwYDVR0jBBgwFoAUNRfUt7UGYFRVPUnktcEfDtci4P8wDwYD
VR0TAQH/BAUwAwEB/zAUBgNVHREEDTALgglmYXJtLnRlc3QwCgYIKoZIzj0EAwID
RgAwQwIfYzAoCR0uIrTMW0zK9H0PKecm+plXX7G0Tfl3yhqfwQIgN9cA9yGzyXMO
cccKJo/X9OvMxYx8/YBJG1zsNnFELc0=
-----END CERTIFICATE-----
)";
constexpr const char* kKey = R"(-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgoIS/CGdta5VLgLaF
LyXoPB5KwA1xl6sBMoTmI7Azjb2hRANCAARVBAvGCVD8cmFQfy7kCDUojjMupfIZ
pIPxta4SgN1ybpABnbUJsqk+i4PG5UPuv8K9R/pLqfdK/ujnhAcwVqzc
-----END PRIVATE KEY-----
)";

TEST_F(Names, AreWhatCertificatesAreCheckedFor) {
  const FakeServer server(say_what_it_is, "127.0.0.1:0", kCertificate, kKey);
  const std::string port = server.address().substr(server.address().find(':'));
  const test::TemporaryFolder folder;
  const std::string authority = folder.path() / "authority.pem";
  std::ofstream(authority) << kCertificate;
  const FakeServer second(say_what_it_is, "127.0.0.2" + port, kCertificate, kKey);
  const Options options{
      .attempt_deadline = kLongest, .load_deadline = kLongest, .ca_file = authority};
  book_.set("farm.test", {"127.0.0.1", "127.0.0.2"});
  book_.set("other.test", {"127.0.0.1", "127.0.0.2"});
  EXPECT_NO_THROW(service("grpcs://farm.test" + port + "/m", options)->load());
  EXPECT_THROW(service("grpcs://other.test" + port + "/m", options)->load(), remote::ServiceError);
  EXPECT_THROW(service("grpcs://127.0.0.1" + port + "/m", options)->load(), remote::ServiceError);
}

std::vector<std::string> system_addresses(const std::string& host) {
  const auto found = std::make_shared<std::promise<std::vector<std::string>>>();
  const std::shared_ptr<Transport> transport = Transport::shared();
  remote::system_lookup()(transport, host, [found](std::vector<std::string> addresses) {
    found->set_value(std::move(addresses));
  });
  std::future<std::vector<std::string>> addresses = found->get_future();
  if (addresses.wait_for(kLongest) != std::future_status::ready) return {"no answer"};
  return addresses.get();
}

TEST(SystemLookup, FindsAddressesOfOneFamily) {
  const std::vector<std::string> addresses = system_addresses("localhost");
  ASSERT_THAT(addresses, Not(IsEmpty()));
  for (const std::string& address : addresses) {
    EXPECT_TRUE(remote::is_address(address)) << address;
    EXPECT_EQ(address.front() == '[', addresses.front().front() == '[') << address;
  }
  EXPECT_THAT(system_addresses("127.0.0.3"), ElementsAre("127.0.0.3"));
  EXPECT_THAT(system_addresses("no-such-host.invalid"), IsEmpty());
  EXPECT_FALSE(remote::is_address("localhost"));
  EXPECT_TRUE(remote::is_address("[::1]"));
}

}  // namespace
}  // namespace tensoa
