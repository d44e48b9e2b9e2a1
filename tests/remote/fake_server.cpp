// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "fake_server.hpp"

#include <grpc/grpc.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <stdexcept>
#include <utility>

#include "protobuf/encoder.hpp"

/// The leak checker dies on the thread-local variables of a library that was loaded at run time.
extern "C" const char* __lsan_default_options();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_options() { return "use_tls=0"; }

/// So it does not see what OpenSSL keeps for each thread of gRPC that is there at the end.
extern "C" const char* __lsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions() { return "leak:libcrypto.so"; }

namespace tensoa::test {
namespace {

std::string bytes_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) throw std::runtime_error("a request cannot be read");
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

class OneCall final : public grpc::ServerGenericBidiReactor {
 public:
  OneCall(FakeServer::Handler handler, std::string method)
      : handler_(std::move(handler)), method_(std::move(method)) {
    StartRead(&request_);
  }

  void OnReadDone(bool is_ok) override {
    if (!is_ok) return Finish({grpc::StatusCode::CANCELLED, "the request did not arrive"});
    reply_ = handler_(method_, bytes_of(request_));
    answer();
  }

  void OnDone() override { delete this; }

 private:
  void answer() {
    if (!reply_.status.is_ok()) {
      return Finish({static_cast<grpc::StatusCode>(reply_.status.code), reply_.status.message});
    }
    // In pieces that end anywhere, as a network makes them.
    std::vector<grpc::Slice> slices;
    for (std::size_t at = 0; at < reply_.message.size(); at += 13) {
      slices.emplace_back(reply_.message.substr(at, 13));
    }
    answer_ = grpc::ByteBuffer(slices.data(), slices.size());
    StartWriteAndFinish(&answer_, {}, grpc::Status::OK);
  }

  FakeServer::Handler handler_;
  std::string method_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer answer_;
  FakeReply reply_;
};

class Service final : public grpc::CallbackGenericService {
 public:
  Service(FakeServer::Handler handler, FakeServer::Admit admit)
      : handler_(std::move(handler)), admit_(std::move(admit)) {}

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* call) override {
    if (!admit_) return new OneCall(handler_, call->method());
    const auto found = call->client_metadata().find("authorization");
    const remote::CallStatus status =
        admit_(found == call->client_metadata().end()
                   ? ""
                   : std::string(found->second.data(), found->second.size()));
    if (status.is_ok()) return new OneCall(handler_, call->method());
    return new OneCall([status](const auto&, const auto&) { return FakeReply{.status = status}; },
                       call->method());
  }

 private:
  FakeServer::Handler handler_;
  FakeServer::Admit admit_;
};

}  // namespace

struct FakeServer::Running {
  Running(Handler handler, Admit admit) : service(std::move(handler), std::move(admit)) {}
  Service service;
  std::unique_ptr<grpc::Server> server;
};

FakeServer::FakeServer(Handler handler, const std::string& address, const std::string& certificate,
                       const std::string& key, Admit admit)
    : running_(std::make_unique<Running>(std::move(handler), std::move(admit))) {
  static const bool kStarted = (grpc_init(), true);  // kept: gRPC stops in a separate thread
  static_cast<void>(kStarted);
  grpc::ServerBuilder builder;
  int port = 0;
  auto credentials = grpc::InsecureServerCredentials();
  if (!certificate.empty()) {
    grpc::SslServerCredentialsOptions options;
    options.pem_key_cert_pairs.push_back({key, certificate});
    credentials = grpc::SslServerCredentials(options);
  }
  builder.AddListeningPort(address, credentials, &port);
  builder.RegisterCallbackGenericService(&running_->service);
  builder.SetMaxReceiveMessageSize(-1);
  running_->server = builder.BuildAndStart();
  if (running_->server == nullptr) throw std::runtime_error("no server on " + address);
  address_ = "127.0.0.1:" + std::to_string(port);
}

FakeServer::~FakeServer() { running_->server->Shutdown(std::chrono::system_clock::now()); }

}  // namespace tensoa::test
