// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The library libtensoa_grpc.so, the only one that includes gRPC. It is loaded when the first model of a server is: it and its 50
// libraries take 24 ms to load, which other programs need not pay. gRPC is inside, with hidden symbols, so that another gRPC in the
// process does not meet it.

#include <grpc/grpc.h>
#include <grpcpp/alarm.h>
#include <grpcpp/channel.h>
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
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "tensoa/core/error.hpp"
#include "tensoa/core/printable.hpp"
#include "tensoa/core/read_file.hpp"
#include "transport/header_text.hpp"
#include "transport/transport.hpp"

namespace tensoa::remote {
namespace {

constexpr int kThreads = 2;

/// One thing that a completion queue returns; deletes itself or goes on.
class Completed {
 public:
  virtual ~Completed() = default;
  /// @param is_ok not for an alarm that was cancelled
  virtual void proceed(bool is_ok) = 0;
};

/// A completion queue that one thread waits at: each further one in Next() would be woken whenever a socket can be read or written.
class WaitedFor {
 public:
  /// Waits for the next thing and does it. @return false after the end of the queue
  bool proceed() {
    void* tag = nullptr;
    bool is_ok = false;
    {
      const std::lock_guard lock(turn_);
      if (!queue_.Next(&tag, &is_ok)) return false;
    }
    static_cast<Completed*>(tag)->proceed(is_ok);
    return true;
  }

  grpc::CompletionQueue& queue() noexcept { return queue_; }

 private:
  std::mutex turn_;  ///< held while a thread waits
  grpc::CompletionQueue queue_;
};

/// The queue that all calls of the process complete on, and its threads.
class Threads {
 public:
  Threads() {
    for (std::thread& thread : threads_) {
      thread = std::thread([queue = queue_] {
        while (queue->proceed()) {
        }
      });
    }
  }
  ~Threads() {
    queue()->Shutdown();
    for (std::thread& thread : threads_) {
      // The last owner may be a completion: its thread ends by itself.
      if (thread.get_id() == std::this_thread::get_id()) {
        thread.detach();
      } else {
        thread.join();
      }
    }
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  grpc::CompletionQueue* queue() const noexcept { return &queue_->queue(); }

 private:
  std::shared_ptr<WaitedFor> queue_ = std::make_shared<WaitedFor>();
  std::array<std::thread, kThreads> threads_;
};

class Posted;

/// The delayed functions of a transport, so that they do not outlive it. *Threads*: safe.
class Delayed {
 public:
  void add(Posted* posted, const std::function<void()>& start) {
    const std::lock_guard lock(mutex_);
    all_.insert(posted);
    start();
  }
  void remove(Posted* posted) {
    const std::lock_guard lock(mutex_);
    all_.erase(posted);
  }
  void cancel();

 private:
  std::mutex mutex_;
  std::set<Posted*> all_;
};

/// Calls a function in a completion thread.
class Posted final : public Completed {
 public:
  /// @param delayed nullptr: it is not cancelled
  Posted(const std::shared_ptr<Threads>& threads, std::shared_ptr<Delayed> delayed,
         Clock::duration delay, std::function<void()> function)
      : threads_(threads), delayed_(std::move(delayed)), function_(std::move(function)) {
    const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(delay).count();
    const auto start = [&] {
      alarm_.Set(threads->queue(),
                 gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                              gpr_time_from_micros(microseconds, GPR_TIMESPAN)),
                 this);
    };
    if (delayed_ == nullptr) {
      start();
    } else {
      delayed_->add(this, start);
    }
  }

  void proceed(bool is_ok) override {
    const std::unique_ptr<Posted> self(this);
    if (delayed_ != nullptr) delayed_->remove(this);
    if (is_ok) function_();
  }

  void cancel() { alarm_.Cancel(); }

 private:
  std::shared_ptr<Threads> threads_;  // first, so freed last
  std::shared_ptr<Delayed> delayed_;
  std::function<void()> function_;
  grpc::Alarm alarm_;
};

void Delayed::cancel() {
  const std::lock_guard lock(mutex_);
  for (Posted* posted : all_) posted->cancel();
}

/// One call. gRPC may read the payload for some time after the call is over (a deadline passed while a frame
/// was being written), so it is done when both are.
class Call final : public Completed {
 public:
  Call(std::shared_ptr<Threads> threads, std::shared_ptr<const Payload> payload,
       Connection::Done done)
      : threads_(std::move(threads)), payload_(std::move(payload)), done_(std::move(done)) {}

  void start(grpc::GenericStub& stub, const char* method, Clock::time_point deadline,
             const std::vector<std::pair<std::string, std::string>>& headers) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now());
    context_->set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                        gpr_time_from_nanos(left.count(), GPR_TIMESPAN)));
    for (const auto& [key, value] : headers) context_->AddMetadata(key, value);
    {
      const grpc::ByteBuffer request = make_request();
      reader_ = stub.PrepareUnaryCall(&*context_, method, request, threads_->queue());
    }
    reader_->StartCall();
    reader_->Finish(&reply_, &status_, this);
  }

  void proceed(bool /*is_ok*/) override {
    // And with them what gRPC keeps of the request: the stream of a connection that was lost while it wrote
    // holds some of it for as long as the call lives.
    reader_.reset();
    context_.reset();
    if (is_last()) finish();
  }

 private:
  grpc::ByteBuffer make_request() {
    std::vector<grpc::Slice> slices;
    slices.reserve(payload_->parts().size());
    for (const Payload::Part& part : payload_->parts()) {
      if (part.borrowed == nullptr) {
        slices.emplace_back(payload_->own().data() + part.offset, part.size);
        continue;
      }
      left_.fetch_add(1);
      // gRPC takes it without const, and only reads.
      slices.emplace_back(const_cast<std::byte*>(part.borrowed), part.size, &Call::release, this);
    }
    return {slices.data(), slices.size()};
  }

  /// gRPC reads a part of the payload no more. Called in any of its threads, with its locks held.
  static void release(void* call) {
    auto* const self = static_cast<Call*>(call);
    if (self->is_last()) {
      new Posted(self->threads_, nullptr, Clock::duration::zero(), [self] { self->finish(); });
    }
  }

  bool is_last() noexcept { return left_.fetch_sub(1) == 1; }

  void finish() {
    const std::unique_ptr<Call> self(this);
    std::vector<grpc::Slice> slices;
    if (status_.ok() && !reply_.Dump(&slices).ok()) {
      status_ =
          grpc::Status(grpc::StatusCode::INTERNAL, "the reply is compressed in an unknown way");
    }
    std::vector<std::span<const std::byte>> pieces;
    pieces.reserve(slices.size());
    for (const grpc::Slice& slice : slices) {
      pieces.emplace_back(reinterpret_cast<const std::byte*>(slice.begin()), slice.size());
    }
    done_({static_cast<int>(status_.error_code()), printable(status_.error_message())}, pieces);
  }

  std::shared_ptr<Threads> threads_;  // first, so freed last
  std::shared_ptr<const Payload> payload_;
  Connection::Done done_;
  std::atomic<std::size_t> left_ = 1;  ///< borrowed parts, and the end of the call
  std::optional<grpc::ClientContext> context_{std::in_place};
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader_;
  grpc::ByteBuffer reply_;
  grpc::Status status_;
};

/// @throws LoadError
std::string read_secret(const std::string& file, const char* what) {
  try {
    return read_file(file);
  } catch (const InputError& error) {
    throw LoadError(std::string(what) + ' ' + error.what());
  }
}

/// A token in a file, which another program renews.
class TokenFile {
 public:
  /// @throws LoadError
  explicit TokenFile(std::string file) : file_(std::move(file)) { read(); }

  /// "Bearer …", or empty.
  std::string authorization() {
    const std::lock_guard lock(mutex_);
    if (Clock::now() > next_look_) {
      try {
        read();
      } catch (const LoadError&) {  // the last one may still do
      }
    }
    return token_.empty() ? std::string() : "Bearer " + token_;
  }

  /// A server has refused the token: the next call looks whether there is a new one.
  void look_soon() {
    const std::lock_guard lock(mutex_);
    next_look_ = {};
  }

 private:
  void read() {
    next_look_ = Clock::now() + std::chrono::seconds(10);
    std::string token = read_secret(file_, "the token file");
    while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.pop_back();
    if (!is_header_value(token)) {
      throw LoadError("the token file " + file_ +
                      ": has characters beyond a line of ASCII, expected a token");
    }
    token_ = std::move(token);
  }

  std::string file_;
  std::mutex mutex_;
  std::string token_;
  Clock::time_point next_look_;
};

std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const Credentials& credentials) {
  if (!credentials.is_encrypted) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  if (!credentials.ca_file.empty()) {
    options.pem_root_certs = read_secret(credentials.ca_file, "the certificates");
  }
  if (!credentials.certificate_file.empty()) {
    options.pem_cert_chain = read_secret(credentials.certificate_file, "the client's certificate");
    options.pem_private_key = read_secret(credentials.key_file, "the client's key");
  }
  return grpc::SslCredentials(options);
}

class GrpcConnection final : public Connection {
 public:
  GrpcConnection(std::shared_ptr<Threads> threads, const std::string& server,
                 const std::string& name, const Credentials& credentials,
                 const ConnectionLimits& limits)
      : threads_(std::move(threads)),
        headers_(credentials.headers),
        token_(credentials.token_file.empty()
                   ? nullptr
                   : std::make_shared<TokenFile>(credentials.token_file)),
        stub_(grpc::CreateCustomChannel(server, channel_credentials(credentials),
                                        arguments(name == server ? std::string() : name, limits))) {
  }

  void call(const char* method, std::shared_ptr<const Payload> payload, Clock::time_point deadline,
            Done done) override {
    auto headers = headers_;
    if (token_ != nullptr) {
      if (std::string authorization = token_->authorization(); !authorization.empty()) {
        headers.emplace_back("authorization", std::move(authorization));
      }
      done = [token = token_, done = std::move(done)](const CallStatus& status, auto reply) {
        if (status.code == grpc::StatusCode::UNAUTHENTICATED) token->look_soon();
        done(status, reply);
      };
    }
    (new Call(threads_, std::move(payload), std::move(done)))
        ->start(stub_, method, deadline, headers);
  }

 private:
  static grpc::ChannelArguments arguments(const std::string& name, const ConnectionLimits& limits) {
    grpc::ChannelArguments arguments;
    // ":authority" of the calls, and the name that TLS requests and checks.
    if (!name.empty()) {
      arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, name);
      arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // decided by the name, see is_proxied()
    }
    constexpr std::size_t kMost = std::numeric_limits<int>::max();
    arguments.SetMaxReceiveMessageSize(static_cast<int>(std::min(limits.message_limit, kMost)));
    arguments.SetMaxSendMessageSize(-1);
    // gRPC's own retries keep a copy of the request, and stop at 256 KiB.
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    // A connection for each Connection, so that balancing and credentials are ours.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
    // A server that vanished without closing is found out by pings, while calls are open only. While a write
    // is stuck no ping is sent, and no call that has bytes in it ends: then TCP gives up (TCP_USER_TIMEOUT),
    // after the same time.
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(limits.patience.count()));
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    return arguments;
  }

  std::shared_ptr<Threads> threads_;
  std::vector<std::pair<std::string, std::string>> headers_;
  std::shared_ptr<TokenFile> token_;  ///< nullptr: none
  grpc::GenericStub stub_;
};

class GrpcTransport final : public Transport {
 public:
  GrpcTransport() = default;
  ~GrpcTransport() override { delayed_->cancel(); }
  GrpcTransport(const GrpcTransport&) = delete;
  GrpcTransport& operator=(const GrpcTransport&) = delete;

  std::shared_ptr<Connection> connect(const std::string& server, const std::string& name,
                                      const Credentials& credentials,
                                      const ConnectionLimits& limits) override {
    return std::make_shared<GrpcConnection>(threads_, server, name, credentials, limits);
  }

  void after(Clock::duration delay, std::function<void()> function) override {
    new Posted(threads_, delayed_, delay, std::move(function));
  }

 private:
  std::shared_ptr<Threads> threads_ = std::make_shared<Threads>();
  std::shared_ptr<Delayed> delayed_ = std::make_shared<Delayed>();
};

}  // namespace
}  // namespace tensoa::remote

/// The symbol that transport.cpp looks for in this library, which exports nothing else.
extern "C" __attribute__((visibility("default"))) tensoa::remote::Transport*
tensoa_make_grpc_transport() {
  // Kept: when its last user ends, gRPC stops its threads in another thread that cannot be joined.
  static const bool kStarted = (grpc_init(), true);
  static_cast<void>(kStarted);
  return new tensoa::remote::GrpcTransport;
}
