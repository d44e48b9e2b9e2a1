// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Counts the bytes that are copied from the user's columns when a request is sent: this program takes the place of memcpy and memmove,
// for itself and for the libraries that it loads. Copies by the kernel, and those that the compiler writes inline, are not seen.

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "fake_server.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "transport/transport.hpp"

namespace tensoa {
namespace {

/// The memory that is watched, in all threads.
constinit std::atomic<const std::byte*> watched = nullptr;
constinit std::atomic<std::size_t> watched_bytes = 0;
constinit std::atomic<std::size_t> copied = 0;

void note_copy(const void* from, std::size_t bytes) noexcept {
  const std::byte* const first = watched.load(std::memory_order_relaxed);
  if (first == nullptr || from < first || from >= first + watched_bytes.load()) return;
  copied += bytes;
}

/// The bytes that `call` copies from `data`.
std::size_t bytes_copied_from(const std::byte* data, std::size_t bytes,
                              const std::function<void()>& call) {
  copied = 0;
  watched_bytes = bytes;
  watched = data;
  call();
  watched = nullptr;
  return copied;
}

template <template <class> class F>
struct Hits {
  F<float> x, y, z, t;
};
template <template <class> class F>
struct Scores {
  F<float> a;
};

constexpr std::size_t kBytes = std::size_t{16} << 20;

/// A server of the back-end of tensoa, which has columns as wire format; its answer is zeros.
test::FakeReply answer(const std::string& method, const std::string& request) {
  if (method == remote::kModelMetadata) {
    return {.message = test::metadata_reply("sum", "tensoa", {{"x", "FP32", {-1, 4, -1}}},
                                            {{"y", "FP32", {-1, 1, -1}}})};
  }
  if (method != remote::kModelInfer) return {.message = std::string("\x08\x01", 2)};
  const auto rows = test::parse_request(request).inputs.at(0).sizes.at(2);
  return {.message = test::infer_reply({{"y", "FP32", {1, 1, rows}}},
                                       {std::string(static_cast<std::size_t>(rows) * 4, '\0')})};
}

class Copies : public testing::Test {
 protected:
  /// Bytes copied from the columns by one call with `n` rows.
  std::size_t of_a_call(std::size_t n) {
    remote::register_engines();
    const test::FakeServer server(answer);
    const Model<> model("grpc://" + server.address() + "/sum");
    PortableCollection<Hits> hits(n, Device::cpu());
    PortableCollection<Scores> scores(n, Device::cpu());
    for (std::size_t i = 0; i < n; ++i) hits.view().x[i] = static_cast<float>(i);
    auto in = hits.view().records();
    SoAMetadata<Hits> inputs(n);
    inputs.append_block("x", in.x(), in.y(), in.z(), in.t());
    auto out = scores.view().records();
    SoAMetadata<Scores> outputs(n);
    outputs.append_block("y", out.a());
    const Queue queue(Device::cpu());
    const auto plan = model.plan(ModelMetadata(inputs, outputs));
    CopyReport report;
    const std::size_t bytes =
        bytes_copied_from(hits.data(), hits.bytes(), [&] { report = model.forward(queue, plan); });
    EXPECT_EQ(scores.const_view().a[n - 1], 0);
    reported_ = report.bytes_in;
    return bytes;
  }

  std::size_t reported_ = 0;
};

TEST_F(Copies, ARequestOf16MiBIsSentWithoutACopyInUserSpace) {
  EXPECT_EQ(of_a_call(kBytes / 16), 0U);
  EXPECT_EQ(reported_, 0U);
}

TEST_F(Copies, ShortColumnsAreGatheredAndReported) {
  of_a_call(100);
  EXPECT_EQ(reported_, 1600U);
}

// The controls: a copy is seen, in this program and in libtensoa_grpc.so.

TEST(CopiesControl, ACopyInThisProgramIsCounted) {
  const std::vector<std::byte> from(kBytes);
  std::vector<std::byte> to(kBytes);
  // By a pointer, so that the compiler cannot write it inline.
  void* (*volatile copy)(void*, const void*, std::size_t) = &std::memcpy;
  EXPECT_EQ(bytes_copied_from(from.data(), kBytes, [&] { copy(to.data(), from.data(), kBytes); }),
            kBytes);
}

TEST(CopiesControl, ACopyInTheLibraryOfGrpcIsCounted) {
  const test::FakeServer server(answer);
  const std::shared_ptr<remote::Transport> transport = remote::Transport::shared();
  const auto connection = transport->connect(server.address(), {}, {}, {.message_limit = kBytes});
  // The transport copies a payload's own bytes, and refers to those that are borrowed.
  const auto payload = std::make_shared<remote::Payload>();
  payload->append(std::string(kBytes, '\0'));
  const auto* const own = reinterpret_cast<const std::byte*>(payload->own().data());
  EXPECT_EQ(bytes_copied_from(own, kBytes,
                              [&] {
                                std::promise<void> done;
                                connection->call(remote::kModelReady, payload,
                                                 remote::Clock::now() + std::chrono::seconds(30),
                                                 [&](const remote::CallStatus& status, auto) {
                                                   EXPECT_TRUE(status.is_ok()) << status.message;
                                                   done.set_value();
                                                 });
                                done.get_future().get();
                              }),
            kBytes);
}

}  // namespace
}  // namespace tensoa

// The C library has its own under second names.
extern "C" {

void* real_memmove(void*, const void*, std::size_t, std::size_t) __asm__("__memmove_chk");

void* memcpy(void* to, const void* from, std::size_t bytes) noexcept {
  tensoa::note_copy(from, bytes);
  return real_memmove(to, from, bytes, SIZE_MAX);
}

void* memmove(void* to, const void* from, std::size_t bytes) noexcept {
  tensoa::note_copy(from, bytes);
  return real_memmove(to, from, bytes, SIZE_MAX);
}
}
