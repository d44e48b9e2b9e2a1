// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "verified_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fake_engine.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using detail::verified_run;
using test::Points;
using test::TemporaryFile;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <template <class> class F>
struct Mixed {
  F<float> x, y, z;
  F<std::uint8_t> flag;
  F<Vector<double, 3>> direction;
  F<Matrix<float, 2, 3>> covariance;
  F<Scalar<std::int64_t>> run;
};

template <template <class> class F>
struct Groups {
  F<std::int32_t> offsets;
};

/// An engine that does with the columns what the test says.
class Does final : public Engine {
 public:
  using Run = std::function<void(const Queue&, const Binding&)>;
  explicit Does(Run run) : run_(std::move(run)) {}

  const Signature& signature() const noexcept override { return signature_; }
  CopyReport run(const Queue& queue, const Binding& binding, const Prepared&) const override {
    run_(queue, binding);
    return {.bytes_in = 3, .bytes_out = 4};
  }

 private:
  Signature signature_{.inputs = {{.name = "x"}, {.name = "y"}}, .required_inputs = 1};
  Run run_;
};

/// All bytes 1, so that a zeroed byte is a change.
template <template <template <class> class> class Layout>
PortableCollection<Layout> ones(const Queue& queue, std::size_t rows) {
  PortableCollection<Layout> collection(rows, queue.device());
  const std::vector<std::byte> bytes(collection.bytes(), std::byte{1});
  copy_bytes(queue, collection.data(), queue.device(), bytes.data(), Device::cpu(), bytes.size());
  queue.wait();
  return collection;
}

const Prepared kNothing({});

class VerifiedRun : public testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override {
    if (device_count(GetParam()) == 0) GTEST_SKIP() << "no such device";
    queue_.emplace(Device{GetParam(), 0});
  }

  const Queue& queue() const { return *queue_; }

 private:
  std::optional<Queue> queue_;
};

INSTANTIATE_TEST_SUITE_P(On, VerifiedRun, testing::Values(DeviceKind::kCpu, DeviceKind::kCuda),
                         [](const auto& kind) {
                           return kind.param == DeviceKind::kCpu ? "Cpu" : "Cuda";
                         });

TEST_P(VerifiedRun, NamesTheBlockThatChangedAndWhere) {
  auto points = ones<Points>(queue(), 1000);
  SoAMetadata<Points> inputs(1000);
  const auto records = points.view().records();
  inputs.append_block("features", records.x(), records.y(), records.z());
  const Binding binding{{inputs.blocks().begin(), inputs.blocks().end()}, {}, 1};
  const Does engine(
      [&](const Queue& on, const Binding&) { zero_bytes(on, points.view().y.data() + 70, 1); });
  EXPECT_THAT([&] { verified_run(engine, queue(), binding, kNothing, "model rogue.pt: "); },
              ThrowsMessage<EngineError>(
                  AllOf(HasSubstr("model rogue.pt: changed input block \"features\" (columns x, y, "
                                  "z): TENSOA_VERIFY_CONST=1 found other bytes after the call"),
                        HasSubstr("the first in [64:128, 1] of float32[1000, 3] on " +
                                  to_string(queue().device())),
                        HasSubstr("clone the argument in the model"))));
}

TEST_P(VerifiedRun, HandsOnTheReportOfAnEngineThatOnlyReads) {
  auto points = ones<Points>(queue(), 100);
  SoAMetadata<Points> inputs(100);
  inputs.append_block("x", points.view().records().x());
  int runs = 0;
  const Does engine([&](const Queue&, const Binding&) { ++runs; });
  const CopyReport report = verified_run(
      engine, queue(), {{inputs.blocks().begin(), inputs.blocks().end()}, {}, 1}, kNothing, "");
  EXPECT_EQ(report, (CopyReport{.bytes_in = 3, .bytes_out = 4}));
  EXPECT_EQ(runs, 1);
}

// Against brute force: a zeroed byte of the collection is found if, and only if, it belongs to an
// element of the block, as the strides of its tensor say.
TEST_P(VerifiedRun, FindsEveryByteOfTheBlocksAndNoOther) {
  for (const std::size_t rows : {1U, 63U, 65U, 130U}) {
    auto mixed = ones<Mixed>(queue(), rows);
    const auto records = mixed.view().records();
    SoAMetadata<Mixed> metadata(rows);
    metadata.append_block("xz", records.x(), records.z());
    metadata.append_block(BlockShape::kColumns, "xyz", records.x(), records.y(), records.z());
    metadata.append_block("flag", records.flag());
    metadata.append_block("direction", records.direction());
    metadata.append_block("covariance", records.covariance());
    metadata.append_block("run", records.run());
    for (const BoundBlock& block : metadata.blocks()) {
      const TensorView& view = block.tensor;
      const auto size = static_cast<std::int64_t>(size_of(view.dtype));
      std::set<const std::byte*> bytes;
      std::array<std::int64_t, kMaxRank> i{};
      for (std::int64_t count = view.elements(); count > 0; --count) {
        const auto* at = static_cast<const std::byte*>(view.data);
        for (std::size_t dim = 0; dim < view.rank; ++dim)
          at += i[dim] * view.stride_of_dim[dim] * size;
        for (std::int64_t byte = 0; byte < size; ++byte) bytes.insert(at + byte);
        for (std::size_t dim = view.rank; dim-- > 0;) {
          if (++i[dim] < view.size_of_dim[dim]) break;
          i[dim] = 0;
        }
      }
      const std::size_t step = queue().device().is_cpu() ? 1 : 97;  // calls that wait take longer
      for (std::size_t k = 0; k < mixed.bytes(); k += step) {
        std::byte* const target = mixed.data() + k;
        const Does engine([&](const Queue& on, const Binding&) { zero_bytes(on, target, 1); });
        bool is_found = false;
        try {
          verified_run(engine, queue(), {{block}, {}, 1}, kNothing, "");
        } catch (const EngineError&) {
          is_found = true;
        }
        const auto one = std::byte{1};
        copy_bytes(queue(), target, queue().device(), &one, Device::cpu(), 1);
        queue().wait();
        ASSERT_EQ(is_found, bytes.contains(target))
            << "block " << block.name << ", byte " << k << ", rows " << rows;
      }
    }
  }
}

TEST_P(VerifiedRun, LeavesOutWhatAnOutputCovers) {
  auto points = ones<Points>(queue(), 100);
  const auto records = points.view().records();
  SoAMetadata<Points> inputs(100);
  inputs.append_block("xyz", records.x(), records.y(), records.z());
  SoAMetadata<Points> outputs(70);  // a batch: in the middle of a piece
  outputs.append_block("y", records.y());
  const Binding binding = ModelMetadata(inputs, outputs).binding();
  const auto writes = [&](float* from, std::size_t count) {
    return Does(
        [=](const Queue& on, const Binding&) { zero_bytes(on, from, count * sizeof(float)); });
  };
  float* const y = points.view().y.data();
  EXPECT_NO_THROW(verified_run(writes(y, 70), queue(), binding, kNothing, ""));
  EXPECT_THAT([&] { verified_run(writes(y + 70, 1), queue(), binding, kNothing, ""); },
              ThrowsMessage<EngineError>(HasSubstr("[64:100, 1]")));
  EXPECT_THAT(
      [&] { verified_run(writes(points.view().x.data(), 1), queue(), binding, kNothing, ""); },
      ThrowsMessage<EngineError>(HasSubstr("[0:64, 0]")));
}

// The memory of such blocks is that of their columns: the tensor itself is the engine's.
TEST_P(VerifiedRun, ChecksTheColumnsOfBlocksThatAreCopied) {
  auto groups = ones<Groups>(queue(), 11);
  auto points = ones<Points>(queue(), 100);
  const auto records = points.view().records();
  SoAMetadata<Points, Groups> inputs(100, 10);
  inputs.append_block(Repack{DType::kF64}, "zx", records.z(), records.x());
  inputs.append_padded("padded", groups.view().records().offsets(), 4, records.y());
  SoAMetadata<Points> outputs(100);
  outputs.append_block(Repack{}, "x", records.x());
  const Binding binding = ModelMetadata(inputs, outputs).binding();
  const auto zeroes = [&](auto* place) {
    return [&, place] {
      const Does engine([&](const Queue& on, const Binding&) { zero_bytes(on, place, 1); });
      verified_run(engine, queue(), binding, kNothing, "");
    };
  };
  EXPECT_THAT(
      zeroes(points.view().z.data() + 99),
      ThrowsMessage<EngineError>(AllOf(HasSubstr("changed input block \"zx\" (columns z, x): "),
                                       HasSubstr("the first in [64:100] of z, float32[100] on "))));
  EXPECT_THAT(zeroes(points.view().y.data()),
              ThrowsMessage<EngineError>(
                  AllOf(HasSubstr("changed input block \"padded\" (column y): "),
                        HasSubstr("the first in [0:64, 0] of float32[100, 1] on "))));
  EXPECT_THAT(
      zeroes(groups.view().offsets.data() + 10),
      ThrowsMessage<EngineError>(HasSubstr("the first in [0:11] of offsets, int32[11] on ")));
  EXPECT_NO_THROW(zeroes(points.view().x.data())()) << "an output covers it";
}

// A binding of the caller's own: rows of three numbers, bottom up, of which the output is one.
TEST_P(VerifiedRun, TakesAnyStrides) {
  const Buffer memory(queue().device(), 30 * sizeof(float));
  zero_bytes(queue(), memory.data(), memory.size());
  auto* const data = reinterpret_cast<float*>(memory.data());
  BoundBlock rows;
  rows.name = "rows";
  rows.tensor = {.data = data + 27, .device = queue().device(), .rank = 2};
  rows.tensor.size_of_dim = {10, 2};
  rows.tensor.stride_of_dim = {-3, 1};
  BoundBlock second;
  second.name = "second";
  second.tensor = {.data = data + 1, .device = queue().device(), .rank = 1};
  second.tensor.size_of_dim = {10};
  second.tensor.stride_of_dim = {3};
  const Binding binding{{rows}, {second}, 1};
  for (std::size_t k = 0; k < 30; ++k) {
    const float value = 1;
    const Does engine([&](const Queue& on, const Binding&) {
      copy_bytes(on, data + k, on.device(), &value, Device::cpu(), sizeof(value));
    });
    if (k % 3 == 0) {
      const std::string row = std::to_string(9 - k / 3);
      EXPECT_THAT(
          [&] { verified_run(engine, queue(), binding, kNothing, ""); },
          ThrowsMessage<EngineError>(AllOf(HasSubstr("changed input block \"rows\": TENSOA"),
                                           HasSubstr("[" + row + ", 0:"))));
    } else {
      EXPECT_NO_THROW(verified_run(engine, queue(), binding, kNothing, "")) << k;
    }
  }
}

TEST_P(VerifiedRun, AnInputWithoutRowsHasNothingToCheck) {
  auto points = ones<Points>(queue(), 10);
  SoAMetadata<Points> inputs(0);
  inputs.append_block("x", points.view().records().x());
  const Does engine(
      [&](const Queue& on, const Binding&) { zero_bytes(on, points.data(), points.bytes()); });
  EXPECT_NO_THROW(verified_run(
      engine, queue(), {{inputs.blocks().begin(), inputs.blocks().end()}, {}, 1}, kNothing, ""));
}

TEST_P(VerifiedRun, AFailureOfTheEngineIsWhatItWas) {
  const Does engine([](const Queue&, const Binding&) { throw BindingError("does not fit"); });
  EXPECT_THROW(verified_run(engine, queue(), {}, kNothing, ""), BindingError);
}

/// A program whose model writes its input; ends with 3 when that was found.
[[noreturn]] void run_rogue_model(const char* verify_const) {
  if (verify_const == nullptr) {
    unsetenv("TENSOA_VERIFY_CONST");
  } else {
    setenv("TENSOA_VERIFY_CONST", verify_const, 1);
  }
  test::register_function("Rogue", ".rogue", [](const ModelLocation&, Device, const ModelOptions&) {
    return std::shared_ptr<const Engine>(new Does([](const Queue&, const Binding& binding) {
      *static_cast<float*>(binding.inputs[0].tensor.data) = -1;
    }));
  });
  const TemporaryFile file("model.rogue");
  const Queue queue(Device::cpu());
  auto points = ones<Points>(queue, 10);
  SoAMetadata<Points> inputs(10);
  inputs.append_block("x", points.view().records().x());
  Model<> model(file.path());
  model.to(queue);
  try {
    model.forward(ModelMetadata(inputs, SoAMetadata<Points>(10)));
  } catch (const EngineError& error) {
    std::fputs(error.what(), stderr);
    std::filesystem::remove(file.path());
    std::exit(3);
  }
  std::filesystem::remove(file.path());
  std::exit(0);
}

// Each in a separate process: the environment is read once.
TEST(VerifyConst, IsTurnedOnByTheEnvironment) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_rogue_model("1"), testing::ExitedWithCode(3),
              "model .*model.rogue: changed input block \"x\" .column x.: TENSOA_VERIFY_CONST=1");
  EXPECT_EXIT(run_rogue_model(nullptr), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run_rogue_model("0"), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(run_rogue_model(""), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tensoa
