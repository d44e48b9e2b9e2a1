// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Columns in shared memory, and real servers: see tests/service/run.py. What is not running is skipped in one line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "calls.hpp"
#include "control.hpp"
#include "tensoa/core/log.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/remote/options.hpp"
#include "tensoa/remote/shared_memory.hpp"
#include "tensoa/remote/statistics.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using namespace std::chrono_literals;
using test::OneColumn;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <template <class> class F>
struct TwoColumns {
  F<float> a, b;
};

std::vector<std::string>& warnings() {
  static std::vector<std::string> all;
  return all;
}

class Sharing : public testing::Test {
 protected:
  static constexpr std::size_t kMost = std::size_t{1} << 20;

  /// @param variable names the servers
  bool find(const char* variable) {
    const char* const value = std::getenv(variable);
    if (value != nullptr) server_ = std::string(value).substr(0, std::string(value).find(','));
    remote::register_engines();
    warnings().clear();
    set_log_sink([](LogLevel level, std::string_view message) {
      if (level == LogLevel::kWarning) warnings().emplace_back(message);
    });
    return value != nullptr;
  }
  void TearDown() override { set_log_sink(nullptr); }

  std::string url() const { return "grpc://" + server_ + "/identity"; }

  /// An event of `n` rows that no other has. @return whether the answer is right
  bool call(const Model<>& model, std::size_t n) {
    in_.resize(n);
    out_.resize(n);
    ++event_;
    for (std::size_t i = 0; i < n; ++i) {
      in_.view().x[i] = static_cast<float>(event_ * 1000 + i % 997);
      out_.view().x[i] = -77;
    }
    report_ = model.forward(Queue(Device::cpu()), model.plan(test::metadata_of(in_, out_)));
    for (std::size_t i = 0; i < n; ++i) {
      if (out_.const_view().x[i] != static_cast<float>(event_ * 1000 + i % 997)) return false;
    }
    return true;
  }

  std::string server_;
  remote::SharedMemory memory_{64U << 20U};
  PortableCollection<OneColumn> in_{kMost, Device::cpu(), memory_};
  PortableCollection<OneColumn> out_{kMost, Device::cpu(), memory_};
  CopyReport report_;
  std::size_t event_ = 0;
};

TEST_F(Sharing, TritonReadsAndWritesTheColumnsInPlace) {
  if (!find("TENSOA_TEST_TRITON")) GTEST_SKIP() << "TENSOA_TEST_TRITON is not set";
  const Model<> model(url());
  for (const std::size_t n : {kMost, std::size_t{20'000}, std::size_t{30'000}, kMost}) {
    ASSERT_TRUE(call(model, n)) << n;
    EXPECT_EQ(report_.bytes_in + report_.bytes_out, 0U) << n;
  }
  EXPECT_TRUE(call(model, 10)) << "by the wire";
  EXPECT_EQ(report_.bytes_out, 40U);
  EXPECT_THAT(warnings(), IsEmpty());
}

/// tests/fuzz/seeds/tree_file/xgboost.json: the logistic function of log(0.25 / 0.75) and -1.5 where b < 0.5,
/// else 2.25.
TEST_F(Sharing, TheBackEndOfTensoaReadsAndWritesPlanesInPlace) {
  const char* const trees = std::getenv("TENSOA_TEST_TREES");
  if (!find("TENSOA_TEST_TRITON") || trees == nullptr) {
    GTEST_SKIP() << "TENSOA_TEST_TREES is not set";
  }
  const Model<> model("grpc://" + server_ + '/' + trees);
  constexpr std::size_t kRows = 100'000;  // whole lines: its planes lie side by side
  PortableCollection<TwoColumns> in(kRows, Device::cpu(), memory_);
  for (std::size_t i = 0; i < kRows; ++i) {
    in.view().a[i] = 0;
    in.view().b[i] = i % 3 == 0 ? 1.F : 0.F;
  }
  out_.resize(kRows);
  auto columns = in.view().records();
  SoAMetadata<TwoColumns> inputs(kRows);
  inputs.append_block("x", columns.a(), columns.b());
  SoAMetadata<OneColumn> outputs(kRows);
  outputs.append_block("y", out_.view().records().x());
  const CopyReport report =
      model.forward(Queue(Device::cpu()), model.plan(ModelMetadata(inputs, outputs)));
  EXPECT_EQ(report.bytes_in + report.bytes_out, 0U);
  for (std::size_t i = 0; i < kRows; ++i) {
    const double margin = std::log(0.25 / 0.75) + (i % 3 == 0 ? 2.25 : -1.5);
    ASSERT_NEAR(static_cast<double>(out_.const_view().x[i]), 1 / (1 + std::exp(-margin)), 1e-6)
        << i;
  }
}

TEST_F(Sharing, TritonThatWasKilledAndStartedAgainLosesNoEvent) {
  const char* const control = std::getenv("TENSOA_TEST_CONTROL");
  if (!find("TENSOA_TEST_TRITON") || control == nullptr) GTEST_SKIP() << "needs a Triton";
  const Model<> model(url(), remote::Options{.deadline = 60s, .retry = {.attempts = 1000}});
  ASSERT_TRUE(call(model, kMost));
  std::thread other([&] {
    std::this_thread::sleep_for(300ms);
    EXPECT_EQ(test::control(control, "triton 0 kill"), "ok");
    EXPECT_EQ(test::control(control, "triton 0 start"), "ok");
  });
  const auto start = std::chrono::steady_clock::now();
  std::size_t wrong = 0;
  while (std::chrono::steady_clock::now() - start < 1s) wrong += call(model, kMost) ? 0U : 1U;
  other.join();
  std::this_thread::sleep_for(1200ms);  // after a failure it is registered again in a second
  for (int i = 0; i < 20; ++i) wrong += call(model, kMost) ? 0U : 1U;
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(event_, 20U);
  EXPECT_EQ(report_.bytes_in + report_.bytes_out, 0U) << "registered again";
}

TEST_F(Sharing, AServerWithoutItGetsTheColumnsByTheWire) {
  if (!find("TENSOA_TEST_KSERVE")) GTEST_SKIP() << "TENSOA_TEST_KSERVE is not set";
  const Model<> model(url());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(call(model, 100'000));
  EXPECT_EQ(report_.bytes_out, 400'000U);
  EXPECT_THAT(warnings(),
              ElementsAre(AllOf(HasSubstr("UNIMPLEMENTED (12)"), HasSubstr("by the wire"))));
}

/// Triton with --grpc-restricted-protocol=shared-memory:key=value refuses, as newer ones do by default.
TEST_F(Sharing, ATritonThatRefusesGetsTheColumnsByTheWire) {
  if (!find("TENSOA_TEST_TRITON_RESTRICTED")) {
    GTEST_SKIP() << "TENSOA_TEST_TRITON_RESTRICTED is not set";
  }
  const Model<> model(url());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(call(model, 100'000));
  EXPECT_EQ(report_.bytes_out, 400'000U);
  EXPECT_THAT(warnings(),
              ElementsAre(AllOf(HasSubstr("restricted"), HasSubstr("--allow-client-shm=true"))));
}

}  // namespace
}  // namespace tensoa
