// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kserve/messages.hpp"
#include "transport/transport.hpp"

namespace tensoa::test {

/// The reply of a fake server.
struct FakeReply {
  remote::CallStatus status = {};
  std::string message = {};
};

/// A gRPC server in this process, on a free port of 127.0.0.1, whose handler gets the bytes of each request.
class FakeServer {
 public:
  using Handler = std::function<FakeReply(const std::string& method, const std::string& request)>;

  /// Who may call: the answer to a call with this "authorization" unless it is OK.
  using Admit = std::function<remote::CallStatus(const std::string& authorization)>;

  /// @param address "127.0.0.1:0": a free port
  /// @param certificate, key in PEM, for TLS; empty: none
  /// @param admit empty: everyone
  explicit FakeServer(Handler handler, const std::string& address = "127.0.0.1:0",
                      const std::string& certificate = {}, const std::string& key = {},
                      Admit admit = {});
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  /// "127.0.0.1:12345".
  const std::string& address() const noexcept { return address_; }

 private:
  struct Running;
  std::unique_ptr<Running> running_;
  std::string address_;
};

/// A ModelMetadata reply. Tensors: {name, datatype, sizes}.
std::string metadata_reply(const std::string& model, const std::string& platform,
                           const std::vector<remote::WireTensor>& inputs,
                           const std::vector<remote::WireTensor>& outputs);

/// A ModelInfer reply with raw contents.
std::string infer_reply(const std::vector<remote::WireTensor>& outputs,
                        const std::vector<std::string>& raw);

/// Whether the request has a parameter of this key.
bool has_parameter(const std::string& request, const std::string& key);

/// A ModelInfer request, as a server sees it.
struct SeenRequest {
  std::string model;
  std::string version;
  std::vector<std::string> parameters;  ///< encoded
  std::vector<remote::WireTensor> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> raw;
};

SeenRequest parse_request(const std::string& message);

/// The handler of a server with one model, whose column "y" is its column "x".
FakeReply answer_same(const std::string& method, const std::string& request);

}  // namespace tensoa::test
