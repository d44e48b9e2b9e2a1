// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "tensoa/soa/soa_metadata.hpp"

namespace tensoa {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <template <class> class F>
struct Hit {
  F<float> x, y;
  F<std::int32_t> layer;
  F<Vector<float, 2>> slope;
};
template <template <class> class F>
struct Track {
  F<std::int32_t> first;
  F<std::int64_t> far_first;
};

class Arguments : public testing::TestWithParam<Device> {
 protected:
  static constexpr std::size_t kHits = 5;

  void SetUp() override {
    if (device_count(GetParam().kind) == 0) GTEST_SKIP() << "no CUDA device";
    queue_.emplace(GetParam());
    hits_.emplace(upload<Hit>(kHits, [](auto view) {
      for (std::size_t i = 0; i < kHits; ++i) {
        view.x[i] = static_cast<float>(i);
        view.y[i] = static_cast<float>(10 + i);
        view.layer[i] = static_cast<std::int32_t>(100 + i);
        view.slope[i][0] = static_cast<float>(20 + i);
        view.slope[i][1] = static_cast<float>(30 + i);
      }
    }));
    tracks_.emplace(tracks({0, 2, 2, 5}));
  }

  PortableCollection<Track> tracks(const std::vector<std::int64_t>& offsets) {
    return upload<Track>(offsets.size(), [&](auto view) {
      for (std::size_t i = 0; i < offsets.size(); ++i) {
        view.first[i] = static_cast<std::int32_t>(offsets[i]);
        view.far_first[i] = offsets[i];
      }
    });
  }

  template <template <template <class> class> class Layout, class Fill>
  PortableCollection<Layout> upload(std::size_t rows, const Fill& fill) {
    PortableCollection<Layout> host(rows, Device::cpu());
    fill(host.view());
    PortableCollection<Layout> there(rows, GetParam());
    copy_bytes(*queue_, there.data(), GetParam(), host.data(), Device::cpu(), host.bytes());
    queue_->wait();
    return there;
  }

  /// The tensor that is made of `block`, as its elements.
  template <class T>
  std::vector<T> written(const BoundBlock& block) {
    const Buffer memory(GetParam(), block.tensor.bytes() + 1);
    TensorView to = block.tensor;
    to.data = memory.data();
    to.read_only = false;
    make_row_major(to);
    report_ = {};
    write_argument(*queue_, block, to, report_);
    std::vector<T> all(static_cast<std::size_t>(to.elements()));
    copy_bytes(*queue_, all.data(), Device::cpu(), to.data, GetParam(), to.bytes());
    queue_->wait();
    return all;
  }

  auto hit() { return hits_->const_view().records(); }
  auto track() { return tracks_->const_view().records(); }

  std::optional<Queue> queue_;
  std::optional<PortableCollection<Hit>> hits_;
  std::optional<PortableCollection<Track>> tracks_;
  CopyReport report_;
};

INSTANTIATE_TEST_SUITE_P(On, Arguments, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& device) {
                           return std::string(device.param.is_cpu() ? "Cpu" : "Cuda");
                         });

TEST_P(Arguments, ColumnsInPlaceAreCopiedAsRows) {
  SoAMetadata<Hit> inputs(2);
  inputs.append_block("x", hit().x(), hit().y());
  EXPECT_THAT(written<float>(inputs.blocks().front()), ElementsAre(0, 10, 1, 11));
  EXPECT_EQ(report_, (CopyReport{16, 0}));
  EXPECT_TRUE(report_.has(CopyReason::kInputIsWritten));
}

TEST_P(Arguments, RepackedColumnsAreConverted) {
  SoAMetadata<Hit> inputs(2);
  inputs.append_block(Repack{DType::kF64}, "mixed", hit().y(), hit().layer(), hit().x());
  inputs.append_block(Repack{}, "slope", hit().slope());
  EXPECT_THAT(written<double>(inputs.blocks()[0]), ElementsAre(10, 100, 0, 11, 101, 1));
  EXPECT_EQ(report_, (CopyReport{48, 0}));
  EXPECT_TRUE(report_.has(CopyReason::kRepack));
  EXPECT_THAT(written<float>(inputs.blocks()[1]), ElementsAre(20, 30, 21, 31));
}

TEST_P(Arguments, ResultsAreScatteredToRepackedColumns) {
  SoAMetadata<Hit> outputs(2);
  const auto to = hits_->view().records();
  outputs.append_block(Repack{DType::kF32}, "mixed", to.y(), to.layer());
  const BoundBlock& block = outputs.blocks().front();
  std::vector<float> result{1.5F, 2, 3, 4};
  const Buffer memory(GetParam(), 16);
  copy_bytes(*queue_, memory.data(), GetParam(), result.data(), Device::cpu(), 16);
  TensorView from = block.tensor;
  from.data = memory.data();
  make_row_major(from);
  write_columns(*queue_, from, block, report_);
  EXPECT_EQ(report_, (CopyReport{0, 16}));
  EXPECT_TRUE(report_.has(CopyReason::kRepack));
  SoAMetadata<Hit> inputs(3);
  inputs.append_block(Repack{DType::kF32}, "mixed", hit().y(), hit().layer());
  EXPECT_THAT(written<float>(inputs.blocks().front()), ElementsAre(1.5F, 2, 3, 4, 12, 102));
}

TEST_P(Arguments, GroupsArePaddedMaskedAndNumbered) {
  SoAMetadata<Hit, Track> inputs(kHits, 3);
  inputs.append_padded("hits", track().first(), 2, hit().x(), hit().y());
  inputs.append_mask("mask", track().far_first(), 2);
  inputs.append_segments<Hit>("group", track().first());
  EXPECT_THAT(written<float>(inputs.blocks()[0]),
              ElementsAre(0, 10, 1, 11, 0, 0, 0, 0, 2, 12, 3, 13));
  EXPECT_EQ(report_, (CopyReport{48, 0}));
  EXPECT_TRUE(report_.has(CopyReason::kRagged));
  EXPECT_THAT(written<std::uint8_t>(inputs.blocks()[1]), ElementsAre(1, 1, 0, 0, 1, 1));
  EXPECT_EQ(report_, (CopyReport{6, 0}));
  EXPECT_THAT(written<std::int64_t>(inputs.blocks()[2]), ElementsAre(0, 0, 2, 2, 2));
  EXPECT_EQ(report_, (CopyReport{40, 0}));
}

TEST_P(Arguments, OffsetsThatDescendAreErrorsOnTheCpu) {
  tracks_.emplace(tracks({0, 3, 2, 5}));
  SoAMetadata<Hit, Track> inputs(kHits, 3);
  inputs.append_padded("hits", track().first(), 2, hit().x());
  inputs.append_mask("mask", track().far_first(), 2);
  inputs.append_segments<Hit>("group", track().first());
  for (const BoundBlock& block : inputs.blocks()) {
    const auto write = [&] {
      const Buffer memory(GetParam(), block.tensor.bytes());
      TensorView to = block.tensor;
      to.data = memory.data();
      to.read_only = false;
      write_argument(*queue_, block, to, report_);
    };
    if (!GetParam().is_cpu()) {
      EXPECT_NO_THROW(write()) << block.name;
      continue;
    }
    EXPECT_THAT(write, ThrowsMessage<BindingError>(
                           HasSubstr("first[2] is 2; expected ascending offsets from 0")));
    EXPECT_EQ(report_, CopyReport{}) << block.name;
  }
}

}  // namespace
}  // namespace tensoa
