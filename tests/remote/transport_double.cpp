// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "transport_double.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "transport/transport.hpp"

namespace tensoa {
namespace test {
namespace {

FakeServer::Handler& answers() {
  static FakeServer::Handler the_answers;
  return the_answers;
}

}  // namespace

void set_answers(FakeServer::Handler handler) { answers() = std::move(handler); }

}  // namespace test

namespace remote {
namespace {

/// One thread that runs functions when they are due.
class OneThread {
 public:
  OneThread() : thread_([this] { run(); }) {}
  ~OneThread() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

  void add(Clock::duration delay, std::function<void()> function) {
    {
      const std::lock_guard lock(mutex_);
      due_.emplace(Clock::now() + delay, std::move(function));
    }
    changed_.notify_all();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (is_over_) return;
      if (due_.empty()) {
        changed_.wait(lock);
      } else if (due_.begin()->first > Clock::now()) {
        changed_.wait_until(lock, due_.begin()->first);
      } else {
        auto function = std::move(due_.begin()->second);
        due_.erase(due_.begin());
        lock.unlock();
        function();
        function = {};
        lock.lock();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<Clock::time_point, std::function<void()>> due_;
  bool is_over_ = false;
  std::thread thread_;
};

class ConnectionDouble final : public Connection {
 public:
  explicit ConnectionDouble(OneThread& thread) : thread_(thread) {}

  void call(const char* method, std::shared_ptr<const Payload> payload,
            Clock::time_point /*deadline*/, Done done) override {
    thread_.add(
        {}, [method = std::string(method), payload = std::move(payload), done = std::move(done)] {
          std::string request;
          for (const Payload::Part& part : payload->parts()) {
            const char* const data = part.borrowed == nullptr
                                         ? payload->own().data() + part.offset
                                         : reinterpret_cast<const char*>(part.borrowed);
            request.append(data, part.size);
          }
          if (!test::answers()) return done({14, "no server"}, {});
          const test::FakeReply reply = test::answers()(method, request);
          const std::array pieces{std::as_bytes(std::span(reply.message))};
          done(reply.status, pieces);
        });
  }

 private:
  OneThread& thread_;
};

/// Its thread lives as long as the process: what it calls may hold the last reference to the transport.
class TransportDouble final : public Transport {
 public:
  explicit TransportDouble(OneThread& thread) : thread_(thread) {}

  std::shared_ptr<Connection> connect(const std::string& /*server*/, const std::string& /*name*/,
                                      const Credentials& /*credentials*/,
                                      const ConnectionLimits& /*limits*/) override {
    return std::make_shared<ConnectionDouble>(thread_);
  }
  void after(Clock::duration delay, std::function<void()> function) override {
    thread_.add(delay, std::move(function));
  }

 private:
  OneThread& thread_;
};

}  // namespace

std::shared_ptr<Transport> Transport::shared() {
  test::answers();  // made before the thread that calls them, and so destroyed after it
  static OneThread thread;
  static const auto kTransport = std::make_shared<TransportDouble>(thread);
  return kTransport;
}

}  // namespace remote
}  // namespace tensoa
