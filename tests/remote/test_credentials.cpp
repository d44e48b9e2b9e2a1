// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Certificates and tokens that are over, against servers in this process. tests/service/ has real ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>

#include "calls.hpp"
#include "fake_server.hpp"
#include "service/status.hpp"
#include "support/temporary_folder.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/remote/options.hpp"
#include "tensoa/remote/service_error.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using namespace std::chrono_literals;
using remote::CallStatus;
using remote::Options;
using remote::ServiceError;
using test::FakeServer;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// For 127.0.0.1, until 2126.
constexpr const char* kValid = R"(-----BEGIN CERTIFICATE-----
MIIBUzCB+qADAgECAhQdDBJ2Bi+e25YIAqsBtf4ynuLvUjAKBggqhkjOPQQDAjAW
MRQwEgYDVQQDDAt0ZW5zb2EgdGVzdDAgFw0yNjAxMDEwMDAwMDBaGA8yMTI2MDEw
MTAwMDAwMFowFjEUMBIGA1UEAwwLdGVuc29hIHRlc3QwWTATBgcqhkjOPQIBBggq
hkjOPQMBBwNCAATT0D1u0MMhH51m2RaqIqhm21pgOOGUhk7D9La+GZUMvdqCy7sx
RwpojVPNMDh1nOuZ7yNIA9b7OtxRupyWs82OoyQwIjAPBgNVHRMBAf8EBTADAQH/
MA8GA1UdEQQIMAaHBH8AAAEwCgYIKoZIzj0EAwIDSAAwRQIgXEC7syKGFtB9YPXU
Jansza9qQa68t9VD3wScrC19i0UCIQDrcWoTEJkXp8lW8muDEq+3xoyom6NRWfns
qrUKWZScDg==
-----END CERTIFICATE-----
)";

/// The same, until 2021.
constexpr const char* kExpired = R"(-----BEGIN CERTIFICATE-----
MIIBUTCB+KADAgECAhRjdT/9j0YvrACHQ+MY2uAY2CdRxjAKBggqhkjOPQQDAjAW
MRQwEgYDVQQDDAt0ZW5zb2EgdGVzdDAeFw0yMDAxMDEwMDAwMDBaFw0yMTAxMDEw
MDAwMDBaMBYxFDASBgNVBAMMC3RlbnNvYSB0ZXN0MFkwEwYHKoZIzj0CAQYIKoZI
zj0DAQcDQgAE09A9btDDIR+dZtkWqiKoZttaYDjhlIZOw/S2vhmVDL3agsu7MUcK
aI1TzTA4dZzrme8jSAPW+zrcUbqclrPNjqMkMCIwDwYDVR0TAQH/BAUwAwEB/zAP
BgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0gAMEUCIQDF8UD4y4HLv6xcoCvu
t9ZM1s9Og2DECIp0ie0RI5conQIgR22F5xb53qCPPQpzQfOQqguAf6oBb9ChuX1I
fuWnr3I=
-----END CERTIFICATE-----
)";

/// Of both.
constexpr const char* kKeyOfBoth = R"(-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgDxpbDHkUoKD7GLhD
YTHm3RJ08MIZRwHZppMa+nS3zv+hRANCAATT0D1u0MMhH51m2RaqIqhm21pgOOGU
hk7D9La+GZUMvdqCy7sxRwpojVPNMDh1nOuZ7yNIA9b7OtxRupyWs82O
-----END PRIVATE KEY-----
)";

class Credentials : public testing::Test {
 protected:
  void SetUp() override { remote::register_engines(); }

  std::string file(const std::string& name, const std::string& contents) {
    std::string path = folder_.path() / name;
    std::ofstream(path) << contents;
    return path;
  }

  /// Calls the model with three rows.
  void call(const Model<>& model) {
    model.forward(Queue(Device::cpu()), model.plan(test::metadata_of(in_, out_)));
  }

  ServiceError failure_of(const Model<>& model) {
    return test::failure_of([&] { call(model); });
  }

  test::TemporaryFolder folder_;
  PortableCollection<test::OneColumn> in_{3, Device::cpu()};
  PortableCollection<test::OneColumn> out_{3, Device::cpu()};
};

TEST_F(Credentials, ACertificateThatHasExpiredIsRefusedImmediately) {
  const FakeServer server(test::answer_same, "127.0.0.1:0", kExpired, kKeyOfBoth);
  const Model<> model("grpcs://" + server.address() + "/same",
                      Options{.load_deadline = 600s, .ca_file = file("authority.pem", kExpired)});
  const ServiceError error = failure_of(model);
  EXPECT_EQ(error.code(), 14);
  EXPECT_EQ(error.server(), server.address());
  EXPECT_FALSE(error.may_retry());
  EXPECT_THAT(error.what(), AllOf(HasSubstr("certificate verify failed"), HasSubstr("has expired"),
                                  HasSubstr("openssl s_client")));
}

TEST_F(Credentials, OneServerWithAValidCertificateIsEnough) {
  const FakeServer expired(test::answer_same, "127.0.0.1:0", kExpired, kKeyOfBoth);
  const FakeServer valid(test::answer_same, "127.0.0.1:0", kValid, kKeyOfBoth);
  const Model<> model("grpcs://" + expired.address() + ',' + valid.address() + "/same",
                      Options{.ca_file = file("authority.pem", kValid)});
  for (int i = 0; i < 10; ++i) EXPECT_NO_THROW(call(model));
}

TEST_F(Credentials, ATokenThatHasExpiredIsSaidAndTheNewOneIsTaken) {
  std::mutex mutex;
  std::string valid = "Bearer first";
  const auto admit = [&](const std::string& authorization) {
    const std::lock_guard lock(mutex);
    return authorization == valid ? CallStatus{} : CallStatus{16, "the token has expired"};
  };
  const FakeServer server(test::answer_same, "127.0.0.1:0", kValid, kKeyOfBoth, admit);
  const std::string token = file("token", "first\n");
  const Model<> model("grpcs://" + server.address() + "/same",
                      Options{.ca_file = file("authority.pem", kValid), .token_file = token});
  EXPECT_NO_THROW(call(model));
  {
    const std::lock_guard lock(mutex);
    valid = "Bearer second";
  }
  const ServiceError error = failure_of(model);
  EXPECT_EQ(error.code(), 16);
  EXPECT_EQ(error.server(), server.address());
  EXPECT_FALSE(error.may_retry());
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("UNAUTHENTICATED (16), the token has expired"),
                    HasSubstr("remote::Options::token_file"), Not(HasSubstr("first"))));
  file("token", "second\n");
  EXPECT_NO_THROW(call(model));
}

/// The messages of gRPC about connections that TLS ended, with Debian's gRPC 1.51 and as BoringSSL has it.
TEST(AdviceForConnections, NamesWhatIsWrongWithTls) {
  const auto advice = [](const std::string& message) {
    return remote::advice_for({14, "last error: UNKNOWN: ipv4:127.0.0.1:1: " + message});
  };
  for (const char* const message :
       {"Ssl handshake failed: SSL_ERROR_SSL: error:0A000086:SSL routines::certificate verify "
        "failed",
        "error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED"}) {
    EXPECT_THAT(advice(message), HasSubstr("has expired"));
  }
  EXPECT_THAT(advice("Peer name 127.0.0.1 is not in peer certificate"),
              HasSubstr("for another name"));
  EXPECT_THAT(advice("SSL_ERROR_SSL: error:0A00010B:SSL routines::wrong version number"),
              HasSubstr("use grpc://"));
  EXPECT_THAT(advice("Socket closed"), AllOf(HasSubstr("grpcs://"), HasSubstr("certificate_file")));
  EXPECT_THAT(advice("Connection refused"), HasSubstr("check host and port"));
}

/// All that messages advise to.
std::string all_advice() {
  std::string all;
  for (int code = 0; code <= 16; ++code) all += remote::advice_for({code, ""}) + '\n';
  for (const char* const message : {"Socket closed", "certificate verify failed"}) {
    all += remote::advice_for({14, message}) + '\n';
  }
  return all;
}

TEST(AdviceForConnections, NamesOptionsAsUsersOfAProgramKnowThem) {
  EXPECT_THAT(all_advice(), AllOf(HasSubstr("remote::Options::ca_file"),
                                  HasSubstr("more time (remote::Options::deadline), or use more")));
  const auto restore = remote::set_option_names(
      [](std::string_view member) -> std::string { return member == "ca_file" ? "--ca" : ""; });
  EXPECT_EQ(restore, nullptr);
  const std::string advice = all_advice();
  remote::set_option_names(restore);
  EXPECT_THAT(advice, AllOf(HasSubstr("trusted (--ca; without it"), Not(HasSubstr("Options")),
                            Not(HasSubstr("()")), HasSubstr("stalled; use more servers")));
}

TEST(Headers, ThatGrpcDoesNotTakeAreRefusedWithoutTheirValues) {
  remote::register_engines();
  using Header = std::pair<std::string, std::string>;
  for (const Header& header : {Header{"", "secret"},
                               {"x a:", "secret"},
                               {":path", "secret"},
                               {"Key", "secret"},
                               {"grpc-timeout", "secret"},
                               {"key-bin", "secret"},
                               {"key", "secret\n"},
                               {"key", "secret\x7f"},
                               {"key", "secret\xc3\xbc"},
                               {"key", std::string("secret\0", 7)}}) {
    EXPECT_THAT(
        [&] {
          Model<>("grpc://127.0.0.1:1/model", Options{.headers = {header}}).deploy(Device::cpu());
        },
        ThrowsMessage<LoadError>(
            AllOf(HasSubstr("header (remote::Options::headers)"), Not(HasSubstr("secret")))))
        << header.first;
  }
}

}  // namespace
}  // namespace tensoa
