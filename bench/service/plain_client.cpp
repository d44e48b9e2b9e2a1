// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The library libtensoa_bench_grpc.so.

#include "bench/service/plain_client.hpp"

#include <grpc/grpc.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace tensoa::bench {
namespace {

constexpr const char* kInfer = "/inference.GRPCInferenceService/ModelInfer";
constexpr std::size_t kPiece = std::size_t{1} << 20;  // of a message that gRPC serialises

/// One call; the queue returns it.
struct Call {
  Call(grpc::GenericStub& stub, const grpc::ByteBuffer& request, grpc::CompletionQueue& queue) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    reader = stub.PrepareUnaryCall(&context, kInfer, request, &queue);
    reader->StartCall();
    reader->Finish(&reply, &status, this);
  }

  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  grpc::ByteBuffer reply;
  grpc::Status status;
  std::promise<void> done;
};

void require(const grpc::Status& status) {
  if (!status.ok())
    throw std::runtime_error("the server refused a call: " + status.error_message());
}

Call* next(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool is_ok = false;
  return queue.Next(&tag, &is_ok) ? static_cast<Call*>(tag) : nullptr;
}

class GrpcClient final : public PlainClient {
 public:
  explicit GrpcClient(const std::string& server) : stub_(channel(server)) {}
  ~GrpcClient() override {
    queue_.Shutdown();
    other_queue_.Shutdown();
    if (thread_.joinable()) thread_.join();
    while (next(queue_) != nullptr) {
    }
  }
  GrpcClient(const GrpcClient&) = delete;
  GrpcClient& operator=(const GrpcClient&) = delete;

  void infer(std::string_view header, std::span<const float> column,
             std::span<float> answer) override {
    // The field of the message.
    const std::string raw(reinterpret_cast<const char*>(column.data()), column.size_bytes());
    std::vector<grpc::Slice> pieces;
    pieces.emplace_back(header.data(), header.size());
    for (std::size_t at = 0; at < raw.size(); at += kPiece) {
      pieces.emplace_back(raw.data() + at, std::min(kPiece, raw.size() - at));
    }
    grpc::ByteBuffer request(pieces.data(), pieces.size());
    pieces.clear();
    Call call(stub_, request, queue_);
    request.Clear();
    next(queue_);
    require(call.status);
    read(call.reply, answer);
  }

  void prepare(std::string_view message) override {
    const grpc::Slice slice(message.data(), message.size());
    request_ = grpc::ByteBuffer(&slice, 1);
  }

  void echo() override {
    Call call(stub_, request_, queue_);
    next(queue_);
    require(call.status);
  }

  void echo_by_thread() override {
    if (!thread_.joinable()) {
      thread_ = std::thread([this] {
        while (Call* const call = next(other_queue_)) call->done.set_value();
      });
    }
    Call call(stub_, request_, other_queue_);
    call.done.get_future().get();
    require(call.status);
  }

  void saturate(std::size_t calls, std::size_t in_flight) override {
    std::atomic<std::size_t> started = std::min(calls, in_flight);
    std::atomic<std::size_t> failed = 0;
    grpc::CompletionQueue queue;
    std::atomic<std::size_t> over = 0;
    const auto work = [&] {
      while (const std::unique_ptr<Call> call{next(queue)}) {
        if (!call->status.ok()) ++failed;
        if (started.fetch_add(1) < calls) new Call(stub_, request_, queue);
        if (++over == calls) queue.Shutdown();
      }
    };
    for (std::size_t i = 0, first = started; i < first; ++i) new Call(stub_, request_, queue);
    std::thread other(work);
    work();
    other.join();
    if (failed > 0) throw std::runtime_error(std::to_string(failed) + " prebuilt requests failed");
  }

 private:
  static std::shared_ptr<grpc::Channel> channel(const std::string& server) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    return grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
  }

  /// The raw contents are the end of the message.
  static void read(const grpc::ByteBuffer& reply, std::span<float> answer) {
    std::vector<grpc::Slice> pieces;
    if (!reply.Dump(&pieces).ok() || reply.Length() < answer.size_bytes()) {
      throw std::runtime_error("a reply is too short");
    }
    std::size_t skip = reply.Length() - answer.size_bytes();
    std::string raw;
    raw.reserve(answer.size_bytes());
    for (const grpc::Slice& piece : pieces) {
      const std::size_t from = std::min(skip, piece.size());
      skip -= from;
      raw.append(reinterpret_cast<const char*>(piece.begin()) + from, piece.size() - from);
    }
    std::memcpy(answer.data(), raw.data(), raw.size());
  }

  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
  grpc::CompletionQueue other_queue_;
  std::thread thread_;
  grpc::ByteBuffer request_;
};

}  // namespace
}  // namespace tensoa::bench

extern "C" __attribute__((visibility("default"))) tensoa::bench::PlainClient*
tensoa_make_plain_client(const char* server) {
  static const bool kStarted = (grpc_init(), true);
  static_cast<void>(kStarted);
  return new tensoa::bench::GrpcClient(server);
}
