// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Real servers with tensoa's back-end whose models are exchanged while they are called, and that are killed, stopped and stalled
// (tests/service/run.py --update). The files are those of make_updates.py. What is not running is skipped in one line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "calls.hpp"
#include "control.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/package/sha256.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/remote/options.hpp"
#include "tensoa/remote/service_error.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using namespace std::chrono_literals;
using remote::OnNewVersion;
using remote::Options;
using remote::ServiceError;
using test::environment;
using test::Event;
using test::Hits;
using test::Scores;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::size_t kRows = 64;
Event event_of(unsigned seed) { return Event::drawn(kRows, seed); }

std::vector<std::uint32_t> bits_of(const Event& event) {
  std::vector<std::uint32_t> all(2 * kRows);
  std::memcpy(all.data(), event.scores.const_view().a.data(), kRows * sizeof(float));
  std::memcpy(all.data() + kRows, event.scores.const_view().b.data(), kRows * sizeof(float));
  return all;
}

class Updated : public testing::Test {
 protected:
  void SetUp() override {
    servers_ = environment("TENSOA_TEST_TRITON");
    control_ = environment("TENSOA_TEST_CONTROL");
    files_ = environment("TENSOA_TEST_UPDATES") + '/';
    if (files_ == "/" || servers_.find(',') == std::string::npos) {
      GTEST_SKIP()
          << "needs TENSOA_TEST_UPDATES and several servers: tests/service/run.py --update";
    }
    remote::register_engines();
    package::register_engines();
    for (int server = 0; server < 3; ++server) serve(server, "first");
    for (int server = 0; server < 3; ++server) wait_for(server, "first");
  }

  std::string address(int server) const {
    std::size_t begin = 0;
    for (; server > 0; --server) begin = servers_.find(',', begin) + 1;
    return servers_.substr(begin, servers_.find(',', begin) - begin);
  }

  std::string url() const { return "grpc://" + servers_ + "/updated.tensoa"; }

  void act(const std::string& command) const {
    EXPECT_EQ(test::control(control_, command), "ok") << command;
  }

  void serve(int server, const std::string& file) const {
    act("triton " + std::to_string(server) + " serve updated.tensoa " + files_ + file + ".pt2");
  }

  std::string checksum_of(const std::string& file) {
    std::string& known = checksums_[file];
    if (known.empty()) {
      std::ifstream stream(files_ + file + ".pt2", std::ios::binary);
      known = package::sha256(std::string{std::istreambuf_iterator<char>(stream), {}});
    }
    return known;
  }

  /// Until the server says that it has the file.
  void wait_for(int server, const std::string& file) {
    const std::string expected = checksum_of(file);
    const auto end = std::chrono::steady_clock::now() + 60s;
    std::string got;
    while (got != expected && std::chrono::steady_clock::now() < end) {
      try {
        got = package::inspect(ModelLocation("grpc://" + address(server) + "/updated.tensoa"))
                  .checksum;
      } catch (const Error& error) {
        got = error.what();
      }
      if (got != expected) std::this_thread::sleep_for(50ms);
    }
    ASSERT_EQ(got, expected) << "server " << server << " does not load " << file;
  }

  void update(int server, const std::string& file) {
    serve(server, file);
    wait_for(server, file);
  }

  std::vector<std::uint32_t> local(const std::string& file, Event& event) {
    const Model<> model(files_ + file + ".pt2");
    model.forward(queue_, model.plan(event.metadata()));
    std::vector<std::uint32_t> bits = bits_of(event);
    event.clear();
    return bits;
  }

  std::string servers_;
  std::string control_;
  std::string files_;
  std::map<std::string, std::string> checksums_;
  Queue queue_{Device::cpu()};
};

TEST_F(Updated, ServersThatDifferAreRefusedAtLoadAndNeverMixed) {
  Event event = event_of(1);
  const auto first = local("first", event);
  update(1, "second");
  const Model<> differs(url(), Options{.load_deadline = 2s});
  EXPECT_THAT([&] { differs.deploy(Device::cpu()); },
              ThrowsMessage<ServiceError>(AllOf(
                  HasSubstr("do not have one model"),
                  HasSubstr(address(1) + " has the file " + checksum_of("second").substr(0, 12)))));
  const Model<> model(url(), Options{.checksum = checksum_of("first")});
  const auto plan = model.plan(event.metadata());
  for (int call = 0; call < 200; ++call) {
    event.clear();
    model.forward(queue_, plan);
    ASSERT_EQ(bits_of(event), first);
  }
}

TEST_F(Updated, ColumnsHaveTheirNamesAndTheirOrder) {
  const package::ModelDescription there = package::inspect(ModelLocation(url()));
  const package::ModelDescription here = package::inspect(files_ + "first.pt2");
  EXPECT_EQ(to_json(*there.binding), to_json(*here.binding));
  EXPECT_EQ(there.checksum, checksum_of("first"));
  Event event = event_of(1);
  auto in = event.hits.view().records();
  SoAMetadata<Hits> inputs(kRows);
  inputs.append_block(Repack{}, "x", in.z(), in.x(), in.y());
  auto out = event.scores.view().records();
  SoAMetadata<Scores> outputs(kRows);
  outputs.append_block("y", out.a(), out.b());
  const Model<> model(url());
  EXPECT_THAT([&] { model.plan(ModelMetadata(inputs, outputs)); },
              ThrowsMessage<BindingError>(HasSubstr("column 0 is z, expected x")));
}

TEST_F(Updated, AllServersAreFollowedOrNot) {
  Event event = event_of(1);
  const auto first = local("first", event);
  const auto second = local("second", event);
  const Model<> follows(url(), Options{.on_new_version = OnNewVersion::kFollow});
  const Model<> stays(url(), Options{.fallback = files_ + "first.pt2"});
  const Model<> fails(url());
  const auto call = [&](const Model<>& model, const Plan<Hits, Scores>& plan) {
    event.clear();
    model.forward(queue_, plan);
    return bits_of(event);
  };
  const auto following = follows.plan(event.metadata());
  const auto staying = stays.plan(event.metadata());
  const auto failing = fails.plan(event.metadata());
  EXPECT_EQ(call(follows, following), first);
  for (int server = 0; server < 3; ++server) update(server, "second");
  EXPECT_EQ(call(follows, following), second);
  EXPECT_EQ(call(stays, staying), first) << "the fallback";
  EXPECT_THROW(call(fails, failing), ServiceError);
  for (int server = 0; server < 3; ++server) update(server, "order");
  EXPECT_THROW(call(follows, following), BindingError);
  for (int server = 0; server < 3; ++server) update(server, "first");
  EXPECT_EQ(call(follows, following), first);
  EXPECT_EQ(call(fails, failing), first);
}

/// Envoy chooses a server for each request, and says the same address for all.
TEST_F(Updated, ServersBehindEnvoyLoseNoCall) {
  const std::string envoy = environment("TENSOA_TEST_ENVOY");
  if (envoy.empty()) GTEST_SKIP() << "needs Envoy: tests/service/run.py --update --envoy";
  Event event = event_of(1);
  const auto first = local("first", event);
  const Model<> model("grpc://" + envoy + "/updated.tensoa");
  const auto plan = model.plan(event.metadata());
  int calls = 0;
  const auto call_while = [&](const std::function<void()>& act) {
    std::atomic<bool> is_over = false;
    std::thread acts([&] {
      act();
      is_over = true;
    });
    int after = 100;
    while (!HasFailure() && (!is_over || after-- > 0)) {
      event.clear();
      EXPECT_NO_THROW(model.forward(queue_, plan));
      EXPECT_EQ(bits_of(event), first);
      ++calls;
    }
    acts.join();
  };
  for (const char* const next : {"second", "order", "integers"}) {
    for (const int server : {0, 1}) call_while([&] { update(server, next); });
    for (const int server : {0, 1}) call_while([&] { update(server, "first"); });
    if (HasFailure()) break;
  }
  std::cout << calls << " calls behind Envoy while models were updated\n";
}

/// Calls of two models, one with a fallback, one without, 16 in flight. Each answer has the bits of first.pt2, each call is completed
/// once, whatever the servers have; without a fallback, calls may fail only while no server has the file.
TEST_F(Updated, KilledAndUpdatedServersLoseNoEventAndMixNoModels) {
  const Model<> safe(
      url(), Options{.deadline = 20s, .attempt_deadline = 1s, .fallback = files_ + "first.pt2"});
  const Model<> bare(url(), Options{.deadline = 20s, .attempt_deadline = 1s});
  constexpr std::size_t kInFlight = 16;
  struct Slot {
    Event event;
    std::vector<std::uint32_t> expected;
    bool is_bare;
  };
  std::vector<Slot> slots;
  for (unsigned i = 0; i < kInFlight; ++i) {
    Event event = event_of(i);
    std::vector<std::uint32_t> expected = local("first", event);
    slots.push_back({std::move(event), std::move(expected), i % 2 == 1});
  }
  Plan safe_plan = safe.plan(slots[0].event.metadata());
  Plan bare_plan = bare.plan(slots[1].event.metadata());
  std::size_t wrong = 0;
  std::size_t touched = 0;
  std::size_t refused = 0;
  std::string first_failure;
  std::atomic<bool> may_fail = false;
  test::CallsInFlight<Slot> load(
      std::move(slots),
      [&](Slot& slot, Completion completion) {
        slot.event.clear();
        Plan<Hits, Scores>& plan = slot.is_bare ? bare_plan : safe_plan;
        plan.rebind(slot.event.hits.view(), slot.event.scores.view());
        (slot.is_bare ? bare : safe).submit(queue_, plan, std::move(completion));
      },
      [&](const Slot& slot, const Result<CopyReport>& result) {
        if (result && bits_of(slot.event) != slot.expected) ++wrong;
        if (!result && !slot.event.is_untouched()) ++touched;
        if (!result && slot.is_bare && may_fail) {
          ++refused;
        } else if (!result && first_failure.empty()) {
          first_failure = result.message();
        }
      });
  const auto pause = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); };
  pause(1s);
  const test::Rounds rounds = test::repeat([&] {
    update(0, "second");  // one after another; the last one keeps the calls
    pause(500ms);
    update(1, "order");
    pause(500ms);
    update(0, "integers");
    pause(500ms);
    update(0, "first");  // and back
    pause(500ms);
    act("triton 2 kill");
    serve(2, "second");
    pause(1s);
    act("triton 2 start");
    pause(1s);
    update(1, "first");
    act("triton 0 stop");
    serve(0, "integers");
    pause(500ms);
    act("triton 0 start");
    pause(1s);
    update(2, "first");
    act("triton 1 pause");
    pause(2s);
    act("triton 1 resume");
    pause(500ms);
    act("triton 1 kill");  // Triton 2.51 sometimes crashes after a pause with calls that were given up
    act("triton 1 start");
    update(0, "first");
    may_fail = true;  // now all of them
    for (int server = 0; server < 3; ++server) update(server, "second");
    pause(2s);  // for one of which calls wait
    for (int server = 0; server < 3; ++server) update(server, "first");
    pause(6s);  // the longest pause between two probes
    may_fail = false;
    pause(1s);
    return !HasFatalFailure();
  });
  load.stop();
  EXPECT_EQ(load.answered(), load.started());
  EXPECT_EQ(first_failure, "");
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(touched, 0U);
  EXPECT_GT(load.started(), 300U);
  EXPECT_GT(refused, 0U) << "no server had the file for a while";
  EXPECT_TRUE(rounds.is_memory_flat()) << rounds.memory();
  std::cout << load.started() << " calls in " << rounds.count
            << " rounds of kills and updates, completed " << load.answered() << ", wrong " << wrong
            << ", columns of failed calls touched " << touched << ", lost "
            << (first_failure.empty() ? "none" : first_failure)
            << ", refused while no server had the file " << refused << '\n'
            << load.latency() << "; " << rounds.memory() << '\n';
}

}  // namespace
}  // namespace tensoa
