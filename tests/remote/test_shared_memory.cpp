// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Shared memory, against servers in this process that map the region as another process does.

#include "tensoa/remote/shared_memory.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "calls.hpp"
#include "fake_server.hpp"
#include "shared/region.hpp"
#include "shared_tensors.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory_budget.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/remote/options.hpp"
#include "tensoa/remote/statistics.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "warnings.hpp"

namespace tensoa {
namespace {

using namespace std::chrono_literals;
using remote::Options;
using remote::Region;
using remote::SharedMemory;
using test::FakeReply;
using test::FakeServer;
using test::OneColumn;
using test::Range;
using test::ranges_of;
using test::Warnings;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

constexpr std::size_t kRows = 20'000;

/// A server of the model "copy" that takes shared memory as Triton does, and says in its codes what is wrong.
class SharingServer {
 public:
  FakeReply operator()(const std::string& method, const std::string& request) {
    if (method == remote::kModelMetadata) {
      return {.message = test::metadata_reply("copy", "python", {{"x", "FP32", {-1}}},
                                              {{"y", "FP32", {-1}}})};
    }
    if (method == remote::kModelReady) return {.message = std::string("\x08\x01", 2)};
    if (method == remote::kSharedMemoryRegister) return register_region(request);
    if (method == remote::kSharedMemoryUnregister) {
      ++unregistered;
      return {};
    }
    return infer(request);
  }

  void forget() {
    const std::lock_guard lock(mutex_);
    regions_.clear();
  }

  std::atomic<int> registered = 0;
  std::atomic<int> unregistered = 0;
  std::atomic<int> by_region = 0;  ///< tensors
  std::atomic<int> by_wire = 0;
  std::atomic<bool> forgets = false;         ///< registers, and then answers that it is unknown
  std::atomic<bool> leaves_raw_out = false;  ///< instead of an empty entry
  std::atomic<int> full = 0;                 ///< calls that are not accepted
  std::atomic<int> late = 0;                 ///< calls that are answered after let_go()
  remote::CallStatus refusal = {};

  /// Waits until the late answers are written.
  void let_go() {
    std::unique_lock lock(mutex_);
    is_let_go_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return waiting_ == 0; });
  }

 private:
  FakeReply register_region(const std::string& request) {
    if (!refusal.is_ok()) return {.status = refusal};
    std::string name;
    std::string key;
    std::uint64_t bytes = 0;
    const std::vector pieces{std::as_bytes(std::span(request))};
    for_each_field(remote::protobuf::Bytes(pieces), [&](const auto& field) {
      if (field.number == 1) name = field.bytes.text();
      if (field.number == 2) key = field.bytes.text();
      if (field.number == 4) bytes = field.value;
    });
    const std::lock_guard lock(mutex_);
    ++registered;
    if (regions_.contains(name)) return {.status = {.code = 6, .message = "already registered"}};
    const int file = shm_open(key.c_str(), O_RDWR, 0);
    if (file < 0) return {.status = {.code = 13, .message = "Unable to open " + key}};
    void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    // Kept mapped: a late answer writes to it.
    if (!forgets) regions_[name] = static_cast<char*>(data);
    return {};
  }

  /// @return nullptr where the region is not registered
  char* at(const Range& range) {
    const std::lock_guard lock(mutex_);
    const auto found = regions_.find(range.region);
    return found == regions_.end() ? nullptr : found->second + range.offset;
  }

  FakeReply infer(const std::string& request) {
    const test::SeenRequest seen = test::parse_request(request);
    const Range in = ranges_of(request, 5, 4).at(0);
    const bool is_probe = seen.inputs.at(0).sizes.at(0) == 1;  // by the wire, of one row
    const auto all_out = ranges_of(request, 6, 2);
    const Range out = all_out.empty() ? Range{} : all_out[0];
    std::string values;
    for (const Range& range : {in, out}) {
      if (!is_probe) ++(range.region.empty() ? by_wire : by_region);
      if (!range.region.empty() && at(range) == nullptr) {
        return {.status = {.code = 5,
                           .message = "Unable to find shared memory region: '" + range.region}};
      }
    }
    if (!is_probe && full-- > 0)
      return {.status = {.code = 8, .message = "Exceeds maximum queue size"}};
    if (in.region.empty()) {
      values = seen.raw.at(0);
    } else {
      values.assign(at(in), in.bytes);
    }
    const auto rows = static_cast<std::int64_t>(values.size() / sizeof(float));
    if (out.region.empty()) {
      return {.message = test::infer_reply({{"y", "FP32", {rows}}}, {values})};
    }
    char* const to = at(out);
    if (late-- > 0) {
      std::unique_lock lock(mutex_);
      ++waiting_;
      changed_.wait(lock, [&] { return is_let_go_; });
      std::memset(to, 0x7F, out.bytes);
      --waiting_;
      changed_.notify_all();
    } else {
      std::memcpy(to, values.data(), out.bytes);
    }
    return {.message = test::infer_reply(
                {{"y", "FP32", {rows}}},
                leaves_raw_out ? std::vector<std::string>{} : std::vector<std::string>{""})};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;  ///< late answers
  bool is_let_go_ = false;
  std::map<std::string, char*> regions_;
};

class SharedColumns : public testing::Test {
 protected:
  void SetUp() override { remote::register_engines(); }

  Model<> model(const Options& options = {}) {
    return Model<>("grpc://" + fake_.address() + "/copy", options);
  }

  using Collection = PortableCollection<OneColumn>;

  /// @return how many rows are right
  std::size_t call(const Model<>& model, Collection& in, Collection& out, float first = 1) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      in.view().x[i] = first + static_cast<float>(i);
      out.view().x[i] = -77;
    }
    report_ = model.forward(Queue(Device::cpu()), model.plan(test::metadata_of(in, out)));
    std::size_t right = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      right += out.const_view().x[i] == first + static_cast<float>(i) ? 1U : 0U;
    }
    return right;
  }

  SharingServer server_;
  FakeServer fake_{[this](const std::string& method, const std::string& request) {
    return server_(method, request);
  }};
  CopyReport report_;
};

TEST_F(SharedColumns, AreReadAndWrittenByTheServerWithoutACopy) {
  std::optional<SharedMemory> memory(1U << 20U);
  {
    Collection in(kRows, Device::cpu(), *memory);
    Collection out(kRows, Device::cpu(), *memory);
    const Model<> model = this->model();
    for (const float first : {1.F, 2.F, 3.F}) {
      EXPECT_EQ(call(model, in, out, first), kRows);
      EXPECT_EQ(report_.bytes_in, 0U);
      EXPECT_EQ(report_.bytes_out, 0U);
    }
    EXPECT_EQ(server_.by_region, 6);
    EXPECT_EQ(server_.by_wire, 0);
    EXPECT_EQ(server_.registered, 1);
    std::uint64_t sent = 0;
    for (const auto& server : remote::statistics()) {
      if (server.server == fake_.address()) sent = server.bytes_sent;
    }
    EXPECT_LT(sent, 3 * 400U);
    server_.leaves_raw_out = true;
    EXPECT_EQ(call(model, in, out), kRows);
  }
  EXPECT_EQ(server_.unregistered, 0);
  memory.reset();
  EXPECT_EQ(server_.unregistered, 1);
}

TEST_F(SharedColumns, MixWithColumnsOfOrdinaryMemory) {
  SharedMemory memory(1U << 20U);
  Collection shared(kRows, Device::cpu(), memory);
  Collection ordinary(kRows, Device::cpu());
  const Model<> model = this->model();
  EXPECT_EQ(call(model, shared, ordinary), kRows);
  EXPECT_EQ(report_.bytes_out, kRows * 4);
  EXPECT_EQ(call(model, ordinary, shared, 5), kRows);
  EXPECT_EQ(report_.bytes_out, 0U);
  EXPECT_EQ(server_.by_region, 2);
  EXPECT_EQ(server_.by_wire, 2);
}

TEST_F(SharedColumns, GoByTheWireWhereTheyAreShort) {
  SharedMemory memory(1U << 20U);
  Collection in(100, Device::cpu(), memory);
  Collection out(100, Device::cpu(), memory);
  EXPECT_EQ(call(model(), in, out), 100U);
  EXPECT_EQ(server_.registered, 0);
}

TEST_F(SharedColumns, GoByTheWireWithOneWarningWhereTheServerRefuses) {
  const Warnings warnings;
  SharedMemory memory(1U << 20U);
  Collection in(kRows, Device::cpu(), memory);
  Collection out(kRows, Device::cpu(), memory);
  for (const int code : {12, 13, 7}) {
    Warnings::all().clear();
    server_.refusal = {.code = code, .message = "shared memory is off"};
    const Model<> model = this->model();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(call(model, in, out), kRows);
    EXPECT_THAT(Warnings::all(),
                ElementsAre(AllOf(HasSubstr(fake_.address()), HasSubstr("shared memory is off"),
                                  HasSubstr("by the wire"), HasSubstr("--allow-client-shm=true"))));
  }
  EXPECT_EQ(server_.by_region, 0);
}

TEST_F(SharedColumns, AreRegisteredAgainWithAServerThatWasRestarted) {
  SharedMemory memory(1U << 20U);
  Collection in(kRows, Device::cpu(), memory);
  Collection out(kRows, Device::cpu(), memory);
  const Model<> model = this->model(Options{.retry = {.attempts = 1}});
  EXPECT_EQ(call(model, in, out), kRows);
  server_.forget();
  EXPECT_EQ(call(model, in, out, 9), kRows);
  EXPECT_EQ(server_.registered, 2);
  EXPECT_EQ(server_.by_wire, 0);
}

TEST_F(SharedColumns, GoByTheWireWhereServersBehindOneAddressDoNotShareTheRegion) {
  SharedMemory memory(1U << 20U);
  Collection in(kRows, Device::cpu(), memory);
  Collection out(kRows, Device::cpu(), memory);
  server_.forgets = true;
  const Model<> model = this->model();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(call(model, in, out), kRows);
  EXPECT_LE(server_.registered, 6) << "given up for a time";
}

TEST_F(SharedColumns, AreNotChangedByAServerThatIsLate) {
  SharedMemory memory(1U << 20U);
  Collection in(kRows, Device::cpu(), memory);
  Collection out(kRows, Device::cpu(), memory);
  const Model<> patient = model();
  EXPECT_EQ(call(patient, in, out), kRows);
  server_.late = 1;
  EXPECT_EQ(call(model(Options{.attempt_deadline = 200ms}), in, out, 5), kRows);
  server_.let_go();
  for (std::size_t i = 0; i < kRows; ++i) {
    ASSERT_EQ(out.const_view().x[i], 5 + static_cast<float>(i));
  }
  // They have other pages now, which are shared too.
  EXPECT_EQ(call(patient, in, out, 6), kRows);
  EXPECT_EQ(report_.bytes_out, 0U);
}

TEST_F(SharedColumns, AreSharedStillWhereTheServerDidNotTakeTheCall) {
  SharedMemory memory(1U << 20U);
  Collection in(kRows, Device::cpu(), memory);
  Collection out(kRows, Device::cpu(), memory);
  const Model<> model = this->model(Options{.retry = {.first_pause = 1ms}});
  for (const float first : {1.F, 2.F, 3.F}) {
    server_.full = 5;  // more than there are other pages
    EXPECT_EQ(call(model, in, out, first), kRows);
    EXPECT_EQ(report_.bytes_out, 0U);
  }
  EXPECT_EQ(server_.by_region, 3 * 6 * 2);
  EXPECT_EQ(server_.by_wire, 0);
}

TEST(SharedMemory, OfNoBytesAndOfTooManyHasItsOwnPlaceOrNone) {
  SharedMemory memory(3 * 4096);
  void* const none = memory.allocate(0);
  void* const other = memory.allocate(0);
  EXPECT_NE(none, other);
  memory.deallocate(none, 0);
  memory.deallocate(other, 0);
  for (const std::size_t bytes : {kNoBudget, kNoBudget - 100, memory.size() + 1}) {
    EXPECT_THROW(static_cast<void>(memory.allocate(bytes)), DeviceFullError) << bytes;
  }
  EXPECT_THROW(static_cast<void>(memory.allocate(1, 1U << 20U)), ConfigError);
  memory.deallocate(memory.allocate(memory.size()), memory.size());
}

TEST(SharedMemory, IsFullWhenItIs) {
  EXPECT_THROW(SharedMemory(0), ConfigError);
  EXPECT_THAT(
      [] { SharedMemory memory(std::size_t{1} << 60U); },
      ThrowsMessage<DeviceFullError>(AllOf(HasSubstr("/dev/shm"), HasSubstr("--shm-size"))));
  SharedMemory memory(3 * 4096);
  EXPECT_EQ(memory.size(), 3U * 4096);
  {
    const PortableCollection<OneColumn> a(1024, Device::cpu(), memory);
    const PortableCollection<OneColumn> b(1024, Device::cpu(), memory);
    EXPECT_THAT([&] { PortableCollection<OneColumn>(2048, Device::cpu(), memory); },
                ThrowsMessage<DeviceFullError>(AllOf(HasSubstr("8192"), HasSubstr("12288"))));
  }
  EXPECT_NO_THROW(PortableCollection<OneColumn>(3 * 1024, Device::cpu(), memory));
}

TEST(SharedMemory, IsOfAProcessThatWasKilledIsRemovedByTheNext) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto* const region = new Region(4096);  // not destroyed
    const auto written = write(ends[1], region->name().data(), region->name().size());
    _exit(written > 0 ? 0 : 1);
  }
  std::string name(39, '\0');
  ASSERT_EQ(read(ends[0], name.data(), name.size()), 39);
  waitpid(child, nullptr, 0);
  const std::string path = "/dev/shm/" + name;
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  const Region live(4096);
  const Region another(4096);
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  EXPECT_EQ(access(("/dev/shm/" + live.name()).c_str(), F_OK), 0);
}

/// Bytes of address space of this process.
std::size_t address_space() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(SharedMemory, LosesNoPagesWhereTheyCannotBeExchanged) {
  constexpr std::size_t kHalf = std::size_t{64} << 20U;
  Region region(2 * kHalf);
  std::byte* const a = region.allocate(kHalf);
  std::memset(a, 1, kHalf);
  const auto before = region.find(a, kHalf);
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  const rlimit low{address_space() + kHalf / 2, limit.rlim_max};
  setrlimit(RLIMIT_AS, &low);
  std::string error;
  try {
    region.exchange_pages(a);
  } catch (const DeviceFullError& failure) {
    error = failure.what();
  }
  setrlimit(RLIMIT_AS, &limit);
  EXPECT_THAT(error, AllOf(HasSubstr(std::to_string(kHalf)), HasSubstr("there is no address")));
  EXPECT_EQ(region.find(a, kHalf), before);
  EXPECT_EQ(a[kHalf - 1], std::byte{1});
  std::byte* const b = region.allocate(kHalf);
  EXPECT_NE(b, nullptr) << "the other pages are free";
  EXPECT_NE(region.find(b, kHalf), before) << "and no others";
  region.release(a);
  region.release(b);
  EXPECT_NE(region.allocate(2 * kHalf), nullptr);
}

TEST(SharedMemory, ExchangesThePagesOfAnAllocation) {
  Region region(4 * 4096);
  std::byte* const a = region.allocate(4096);
  std::byte* const b = region.allocate(8192);
  std::memset(a, 1, 4096);
  const auto before = region.find(a + 8, 16);
  ASSERT_TRUE(before);
  EXPECT_FALSE(region.find(a + 4090, 16)) << "it ends outside of the allocation";
  EXPECT_FALSE(region.find(b + 8192, 1));
  region.exchange_pages(a + 100);
  const auto after = region.find(a + 8, 16);
  ASSERT_TRUE(after);
  EXPECT_NE(*before, *after);
  EXPECT_THAT(std::vector<std::byte>(a, a + 4096), Each(std::byte{1}));
  region.exchange_pages(a);
  EXPECT_FALSE(region.find(a, 1)) << "no other pages are free, so they are private";
  EXPECT_THAT(std::vector<std::byte>(a, a + 4096), Each(std::byte{1}));
  region.release(a);
  region.release(b);
  EXPECT_NE(region.allocate(8192), nullptr);
}

}  // namespace
}  // namespace tensoa
