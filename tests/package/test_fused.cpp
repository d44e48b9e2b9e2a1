// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "aot_layouts.hpp"
#include "fused.hpp"
#include "fused_columns.hpp"
#include "support/environment.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/package/options.hpp"
#include "tensoa/soa/slice.hpp"

// Packages with fused programs on the CPU. The programs are those of fused_fixture.cpp; here they are
// computed again.

namespace tensoa {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::ThrowsMessage;
using namespace test;
using AotModel = Model<CompilationType::kAheadOfTime>;
using package::Package;

constexpr CopyReport kNothingCopied{};

class FusedCpu : public testing::Test {
 protected:
  void SetUp() override { package::register_engines(); }
  void TearDown() override { std::filesystem::remove_all(parent_); }

  Queue queue_{Device::cpu()};
  const std::filesystem::path parent_ =
      std::filesystem::path(testing::TempDir()) / ("fused-" + std::to_string(getpid()));
};

TEST_F(FusedCpu, ReadsAndWritesColumnsForAnyNumberOfRows) {
  const AotModel model(fused_package("fused"));
  for (const std::size_t rows : {1000U, 33U, 2U, 1U, 0U, 31U}) {
    const auto in = points(rows);
    auto out = answers(rows);
    const auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
    EXPECT_EQ(model.forward(queue_, plan), kNothingCopied);
    expect_sums(out, 0, rows);
  }
}

TEST_F(FusedCpu, SlicesAtAnyOffsetAreReadAndWrittenInPlace) {
  const AotModel model(fused_package("fused"));
  const auto in = points(200);
  for (const std::size_t first : {1U, 3U, 31U}) {
    for (const std::size_t rows : {1U, 2U, 17U, 128U}) {
      auto out = answers(200);
      const auto plan = model.plan(
          mlp_metadata(slice(in.const_view(), first, rows), slice(out.view(), first, rows)));
      EXPECT_EQ(model.forward(queue_, plan), kNothingCopied);
      expect_sums(out, first, first + rows);
    }
  }
}

TEST_F(FusedCpu, BatchesOfRowsAreWrittenOneAfterAnother) {
  const AotModel model(fused_package("fused"));
  const auto in = points(100);
  auto out = answers(100);
  const auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
  EXPECT_EQ(model.forward_batches(queue_, plan, 33), kNothingCopied);
  expect_sums(out, 0, 100);
}

TEST_F(FusedCpu, ReceivesTheRowsOfEachCollection) {
  const AotModel model(fused_package("fused_graph"));
  for (const auto& [nodes_count, links_count] :
       {std::pair{5U, 40U}, std::pair{40U, 5U}, std::pair{1U, 1U}, std::pair{9U, 0U}}) {
    const std::size_t n = nodes_count;
    PortableCollection<Nodes> nodes(n, Device::cpu());
    PortableCollection<Links> links(links_count, Device::cpu());
    std::vector<float> total(n);
    for (std::size_t i = 0; i < n; ++i) {
      nodes.view().charge[i] = noise(i);
      nodes.view().mass[i] = noise(i + 50);
      nodes.view().total[i] = kUntouched;
    }
    for (std::size_t i = 0; i < links_count; ++i) {
      links.view().source[i] = static_cast<std::int64_t>((i * 3) % n);
      links.view().target[i] = static_cast<std::int64_t>((i * 5 + 1) % n);
      total[(i * 5 + 1) % n] += noise((i * 3) % n + 50);
    }
    const auto plan = model.plan(graph_metadata(nodes.view(), links.view()));
    EXPECT_EQ(model.forward(queue_, plan), kNothingCopied);
    for (std::size_t i = 0; i < links_count; ++i) {
      ASSERT_EQ(links.view().product[i], noise((i * 3) % n) * noise((i * 5 + 1) % n));
    }
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(nodes.view().total[i], total[i]);
  }
}

/// graph_metadata() has the order that the package was made for.
TEST_F(FusedCpu, BlocksOfTheNamesThatItWasMadeForMayStandInAnyOrder) {
  const AotModel model(fused_package("fused_graph"));
  PortableCollection<Nodes> nodes(3, Device::cpu());
  PortableCollection<Links> links(2, Device::cpu());
  const auto node = nodes.view().records();
  const auto link = links.view().records();
  for (std::size_t i = 0; i < 3; ++i)
    nodes.view().charge[i] = nodes.view().mass[i] = static_cast<float>(i + 1);
  for (std::size_t i = 0; i < 2; ++i) {
    links.view().source[i] = static_cast<std::int64_t>(i);
    links.view().target[i] = 2;
  }
  const auto bind = [&](const char* x, const char* edge_index, const char* total,
                        const char* product) {
    SoAMetadata<Nodes, Links> inputs(3, 2);
    inputs.append_block(x, node.charge(), node.mass());
    inputs.append_block(BlockShape::kColumns, edge_index, link.source(), link.target());
    SoAMetadata<Nodes, Links> outputs(3, 2);
    outputs.append_block(total, node.total());
    outputs.append_block(product, link.product());
    return ModelMetadata(inputs, outputs);
  };
  const auto plan = model.plan(bind("x", "edge_index", "total", "product"));
  for (int call = 0; call < 2; ++call) {
    links.view().product[1] = 0;
    model.forward(queue_, plan);
    EXPECT_EQ(links.view().product[1], 6);
    EXPECT_EQ(nodes.view().total[2], 3);
  }
  const auto refused = [&](const auto& metadata, const char* message) {
    EXPECT_THAT([&] { model.forward(queue_, model.plan(metadata)); },
                ThrowsMessage<BindingError>(HasSubstr(message)));
  };
  refused(bind("x", "edges", "total", "product"), "got block \"x\" as number 1");
  refused(bind("x", "edge_index", "total", "other"),
          "output block number 1, and has the name of another output");
  refused(bind("nodes", "edges", "sum", "other"), "was made for other columns");
}

TEST_F(FusedCpu, ColumnsThatAreReadAndWrittenAreCopiedFirst) {
  const AotModel model(fused_package("fused"));
  const std::size_t rows = 50;
  auto in = points(rows);
  PortableCollection<Answers> out(rows, Device::cpu());
  auto binding = mlp_metadata(in.const_view(), out.view()).binding();
  binding.outputs[0].tensor.data = in.view().x.data();  // writes x and y while x, y and z are read
  binding.outputs[0].tensor.stride_of_dim[1] = in.view().y.data() - in.view().x.data();
  for (const std::size_t seed : {0U, 1000U}) {  // the copy of the first call is used again
    auto fresh = points(rows, seed);
    copy(queue_, fresh, in);
    const CopyReport report = model.forward(queue_, binding);
    EXPECT_EQ(report, (CopyReport{.bytes_in = rows * 3 * sizeof(float), .bytes_out = 0}));
    EXPECT_TRUE(report.has(CopyReason::kInputIsWritten));
    for (std::size_t i = 0; i < rows; ++i) {
      const auto before = fresh.const_view();
      ASSERT_EQ(in.view().x[i], before.x[i] + 2 * before.y[i] + 3 * before.z[i]);
      ASSERT_EQ(in.view().y[i], before.x[i] * before.y[i] - before.z[i]);
    }
  }
}

TEST_F(FusedCpu, OneWorkspaceForEachThread) {
  const AotModel shared(fused_package("fused"));
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      const AotModel own(fused_package("fused"));  // a separate load for every other thread
      const AotModel& model = i % 2 == 0 ? shared : own;
      for (std::size_t call = 0; call < 50; ++call) {
        const std::size_t rows = 1 + 97 * ((i + call) % 7);
        const auto in = points(rows, i);
        auto out = answers(rows);
        model.forward(Queue(Device::cpu()), model.plan(mlp_metadata(in.const_view(), out.view())));
        expect_sums(out, 0, rows, i);
      }
    });
  }
}

// ---- what is checked, and when

TEST_F(FusedCpu, RefusesCollectionsOfUnequalRowsWhereTheModelNeedsEqualOnes) {
  const AotModel model(fused_package("fused_lengths"));
  PortableCollection<Nodes> nodes(7, Device::cpu());
  PortableCollection<Links> links(7, Device::cpu());
  for (std::size_t i = 0; i < 7; ++i) {
    nodes.view().charge[i] = nodes.view().mass[i] = noise(i);
    links.view().source[i] = links.view().target[i] = static_cast<std::int64_t>(i);
  }
  const auto plan = model.plan(graph_metadata(nodes.view(), links.view()));
  EXPECT_EQ(model.forward(queue_, plan), kNothingCopied);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(nodes.view().total[i], noise(i));

  PortableCollection<Links> fewer(6, Device::cpu());
  for (std::size_t i = 0; i < 6; ++i) fewer.view().product[i] = kUntouched;
  const auto other = model.plan(graph_metadata(nodes.view(), fewer.view()));
  EXPECT_THAT(
      [&] { model.forward(queue_, other); },
      ThrowsMessage<BindingError>(AllOf(HasSubstr(" rows, expected "), HasSubstr(", as block "))));
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(fewer.view().product[i], kUntouched);
}

TEST_F(FusedCpu, AReloadTakesAPackageForTheSameColumnsAndPlansGoOn) {
  const AotModel model(fused_package("fused"));
  const auto in = points(10);
  auto out = answers(10);
  const auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
  model.reload(fused_package("fused_variants"));
  EXPECT_EQ(model.forward(queue_, plan), kNothingCopied);
  expect_sums(out, 0, 10);
  EXPECT_THAT([&] { model.reload(fused_package("fused_graph")); },
              ThrowsMessage<LoadError>(
                  AllOf(HasSubstr("is not a program of "), HasSubstr("it has 2 inputs, expected "
                                                                     "1"))));
  EXPECT_EQ(model.forward(queue_, plan), kNothingCopied);
}

TEST_F(FusedCpu, APlanRunsOnlyWithTheModelThatMadeIt) {
  const AotModel sums(fused_package("fused"));
  const AotModel graph(fused_package("fused_graph"));
  const auto in = points(10);
  auto out = answers(10);
  const auto metadata = mlp_metadata(in.const_view(), out.view());
  EXPECT_THAT([&] { graph.plan(metadata); },
              ThrowsMessage<BindingError>(HasSubstr("takes 2 inputs")));
  const auto plan = sums.plan(metadata);
  EXPECT_THAT([&] { graph.forward(queue_, plan); },
              ThrowsMessage<ConfigError>(HasSubstr("got a plan that another model made")));
  const AotModel same_file(fused_package("fused"));
  EXPECT_THROW(same_file.forward(queue_, plan), ConfigError);
  sums.forward(queue_, plan);
  expect_sums(out, 0, 10);
}

TEST_F(FusedCpu, AChangedBindingIsCheckedAgain) {
  const AotModel model(fused_package("fused"));
  const auto in = points(10);
  auto out = answers(10);
  auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
  model.forward(queue_, plan);
  Binding changed = plan.binding();
  for (int call = 0; call < 2; ++call) model.forward(queue_, changed);
  std::swap(changed.inputs[0].columns[0].name, changed.inputs[0].columns[1].name);
  EXPECT_THAT([&] { model.forward(queue_, changed); },
              ThrowsMessage<BindingError>(AllOf(HasSubstr("was made for other columns"),
                                                HasSubstr("column 0 is y, expected x"))));
  plan.rebind(in.const_view(), out.view());
  EXPECT_EQ(model.forward(queue_, plan), kNothingCopied);
}

TEST_F(FusedCpu, NumbersOfRowsAreCheckedAtEveryCall) {
  const AotModel model(fused_package("fused"));
  const auto in = points(10);
  auto out = answers(10);
  auto shorter = answers(9);
  auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
  model.forward(queue_, plan);
  plan.rebind(in.const_view(), shorter.view());
  EXPECT_THAT(
      [&] { model.forward(queue_, plan); },
      ThrowsMessage<BindingError>(HasSubstr("has 9 rows, expected 10, as block \"features\"")));
  expect_sums(shorter, 0, 0);
}

TEST_F(FusedCpu, MemoryIsFlatOverTenThousandCalls) {
  const AotModel model(fused_package("fused"));
  const auto in = points(100);
  auto out = answers(100);
  auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
  const auto call = [&](std::size_t rows) {
    plan.rebind(slice(in.const_view(), 0, rows), slice(out.view(), 0, rows));
    model.forward(queue_, plan);
  };
  call(100);
  const std::size_t before = mallinfo2().uordblks;
  for (std::size_t i = 0; i < 10'000; ++i) call(1 + i % 100);
  EXPECT_EQ(mallinfo2().uordblks, before);
}

// ---- packages that do not fit

auto loading(const std::string& name) {
  return [name] { AotModel(fused_package(name)).deploy(Device::cpu()); };
}

auto fails_with(const std::string& what) {
  return ThrowsMessage<LoadError>(
      AllOf(SizeIs(testing::Lt(500U)), Not(HasSubstr("\n")), HasSubstr(".pt2: "), HasSubstr(what)));
}

TEST_F(FusedCpu, TheFirstVariantThatThisProcessorCanRunIsTaken) {
  const auto in = points(5);
  auto out = answers(5);
  const AotModel model(fused_package("fused_variants"));
  model.forward(queue_, model.plan(mlp_metadata(in.const_view(), out.view())));
  expect_sums(out, 0, 5);
}

TEST_F(FusedCpu, OnlyTheFileOfTheVariantIsUnpacked) {
  const test::Variable folder("TENSOA_PACKAGE_FOLDER", parent_.string());
  const AotModel model(fused_package("fused_variants"));
  model.deploy(Device::cpu());
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(parent_)) {
    if (entry.path().extension() == ".so") files.push_back(entry.path().filename());
  }
  EXPECT_THAT(files, testing::ElementsAre("plain.so"));
}

TEST_F(FusedCpu, WithoutAFittingVariantTheErrorSaysWhatThereIsAndWhatIsMissing) {
  EXPECT_THAT(loading("fused_future"),
              fails_with("has no program for this processor, only for future (missing here: "
                         "quantum), far (missing here: warp); export it on a machine of this "
                         "kind"));
  EXPECT_THAT(loading("fused_other_machine"), fails_with("was made for vax, this machine is "));
  EXPECT_THAT(loading("fused_nothing"), fails_with("holds no compiled program"));
}

TEST_F(FusedCpu, LibrariesThatAreNotWholeAreNotLoaded) {
  EXPECT_THAT(loading("fused_truncated"),
              fails_with("its program plain.so is not a whole library"));
  EXPECT_THAT(loading("fused_head_only"),
              fails_with("its program plain.so is not a whole library"));
  EXPECT_THAT(loading("fused_no_library"),
              fails_with("its program plain.so is not a whole library"));
  EXPECT_THAT(loading("fused_no_file"), fails_with("its file fused/plain.so is missing"));
  EXPECT_THAT(loading("fused_no_function"),
              fails_with("its program has no function tensoa_program_run"));
  EXPECT_THAT(loading("fused_other_abi"),
              fails_with("its program has the ABI 7, this version of tensoa calls 1"));
}

TEST_F(FusedCpu, ManifestsThatAreNotWholeAreRefused) {
  EXPECT_THAT(loading("fused_no_domains"),
              fails_with("is not a package that this version can read: "));
  EXPECT_THAT(loading("fused_no_domains"), fails_with("'domains'"));
  EXPECT_THAT(loading("fused_other_domain"),
              fails_with("requests the rows of input collection 3, which no block has"));
  EXPECT_THAT(loading("fused_short_lengths"), fails_with("\"lengths\" lack input collection 1"));
  EXPECT_THAT(loading("fused_no_rows"),
              fails_with("does not state how many rows each output block has"));
  EXPECT_THAT(loading("fused_other_rows"),
              fails_with("the number of rows of input collection 9, which no block has"));
}

TEST_F(FusedCpu, APackageThatIsRefusedLeavesNothingBehind) {
  const test::Variable folder("TENSOA_PACKAGE_FOLDER", parent_.string());
  for (const char* name : {"fused_truncated", "fused_other_abi", "fused_no_function",
                           "fused_no_domains", "fused_other_rows", "fused_future"}) {
    EXPECT_THROW(loading(name)(), LoadError);
    for (const auto& own : std::filesystem::directory_iterator(parent_)) {
      EXPECT_TRUE(std::filesystem::is_empty(own)) << name;
    }
  }
}

TEST_F(FusedCpu, AProgramOfAnotherKindIsAnErrorThatSaysWhatItIsAndWhatToDo) {
  EXPECT_THAT(
      loading("inductor"),
      fails_with("its program is one of TorchInductor, which needs torch; this process runs "
                 "only: fused. Use a tensoa that is built with TENSOA_PYTORCH=ON"));
}

TEST_F(FusedCpu, APackageForSeveralTargetsRunsItsOwnProgram) {
  for (const char* name : {"both", "both_reversed", "both_ways", "both_shared"}) {
    const AotModel model(fused_package(name));
    const auto in = points(50);
    auto out = answers(50);
    model.forward(queue_, model.plan(mlp_metadata(in.const_view(), out.view())));
    expect_sums(out, 0, 50);
  }
}

TEST_F(FusedCpu, APackageWhoseSharedBytesAreNotThereIsRefused) {
  EXPECT_THAT(loading("both_not_whole"), fails_with("its program plain.so is not a whole library"));
  EXPECT_THAT(loading("both_shared_twice"), fails_with("fused/plain.so lacks two parts"));
  EXPECT_THAT(loading("both_shared_beyond"), fails_with("\"at\" is "));
  EXPECT_THAT(loading("both_shared_nothing"), fails_with("fused/none.bin is missing"));
}

// ---- programs for GPUs: what can be read without one

const package::TargetDescription& of_gpus(const Package& read) {
  return *package::target_for(read.manifest().targets, DeviceKind::kCuda);
}

TEST_F(FusedCpu, AProgramForGpusIsReadForItsArchitectureAndLaterOnesOfItsGeneration) {
  const Package read(fused_package("fused_gpu"));
  const auto code = [&](const std::string& architecture) {
    return package::code_for(read, of_gpus(read).programs, Device::cuda(0), architecture);
  };
  const package::FusedKernels& kernels = *of_gpus(read).fused->kernels;
  EXPECT_EQ(read.archive().file(kernels.weights).size(), 16U);
  ASSERT_EQ(kernels.steps.size(), 2U);
  EXPECT_FALSE(kernels.steps[0].kernel);
  EXPECT_EQ(kernels.steps[1].kernel, 0U);
  EXPECT_EQ(code("sm_86"), "no code");
  EXPECT_EQ(code("sm_89"), "no code");
  for (const std::string other : {"sm_80", "sm_90", "sm_120"}) {
    EXPECT_THAT([&] { code(other); },
                fails_with("has no program for cuda:0, which is " + other + ", only for sm_86"));
  }
}

TEST_F(FusedCpu, AProgramForGpusStoresHowManyInnerRowsARowHas) {
  const Package whole(fused_package("fused_gpu"));
  const package::FusedKernels& all = *of_gpus(whole).fused->kernels;
  EXPECT_EQ(all.steps[1].times, 1);
  EXPECT_EQ(all.rows_at_once, 0);
  const Package parts(fused_package("fused_gpu_times"));
  EXPECT_EQ(of_gpus(parts).fused->kernels->steps[0].times, 3);
  EXPECT_EQ(of_gpus(parts).fused->kernels->rows_at_once, 16);
}

auto reading(const std::string& name) {
  return [=] { const Package read(fused_package(name)); };
}

TEST_F(FusedCpu, AProgramForGpusThatIsNotWholeIsRefused) {
  EXPECT_THAT(reading("fused_gpu_domain"),
              fails_with("\"domain\" is 1, expected a place in a list of 1"));
  EXPECT_THAT(reading("fused_gpu_kernel"),
              fails_with("\"kernel\" is 1, expected a place in a list of 1"));
  EXPECT_THAT(reading("fused_gpu_no_times"), fails_with("\"times\" is 0, expected 1 to "));
  EXPECT_THAT(reading("fused_gpu_two_parts"),
              fails_with("runs for 16 rows at a time, but has rows of 2 collections"));
  EXPECT_THAT(reading("fused_gpu_threads"), fails_with("\"threads\" is 0, expected 1 to 1024"));
  EXPECT_THAT(reading("fused_gpu_buffers"), fails_with("has 65 buffers, at most 64"));
  EXPECT_THAT(reading("fused_gpu_params"), fails_with("has 2 blocks, at most 1"));
  EXPECT_THAT(reading("fused_gpu_long_params"), fails_with("\"blocks\" is 33, expected 1 to 32"));
}

// ---- and what a GPU makes of them

/// With and without CUDA graphs.
class FusedGpu : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
    package::register_engines();
    queue_.emplace(kDevice);
  }

  static constexpr Device kDevice = Device::cuda(0);

  AotModel sums() const {
    return AotModel(fused_package("fused_gpu_sums"), package::Options{.cuda_graphs = GetParam()});
  }

  template <template <template <class> class> class Layout>
  PortableCollection<Layout> on(Device device, const PortableCollection<Layout>& from) {
    PortableCollection<Layout> there(from.size(), device);
    copy(*queue_, from, there);
    queue_->wait();
    return there;
  }

  std::optional<Queue> queue_;
};

INSTANTIATE_TEST_SUITE_P(With, FusedGpu, testing::Bool(), [](const auto& with) {
  return std::string(with.param ? "Graphs" : "Launches");
});

TEST_P(FusedGpu, ReadsAndWritesColumnsForAnyNumberOfRows) {
  const AotModel model = sums();
  const auto first_in = on(kDevice, points(0));
  auto first_out = on(kDevice, answers(0));
  auto plan = model.plan(mlp_metadata(first_in.const_view(), first_out.view()));
  for (const std::size_t rows : {0U, 33U, 1U, 300'000U, 0U, 1000U, 2U}) {  // more than one tile
    const auto in = on(kDevice, points(rows));
    auto out = on(kDevice, answers(rows));
    plan.rebind(in.const_view(), out.view());
    for (int call = 0; call < 3; ++call) EXPECT_EQ(model.forward(*queue_, plan), kNothingCopied);
    queue_->wait();
    expect_sums(on(Device::cpu(), out), 0, rows);
  }
}

TEST_P(FusedGpu, CanBeRecordedWhereItIsNotAGraphItself) {
  EXPECT_EQ(sums().recordable(kDevice) != nullptr, !GetParam());
}

TEST_P(FusedGpu, RowsInPartsAreTheSame) {
  const AotModel model(fused_package("fused_gpu_parts"),
                       package::Options{.cuda_graphs = GetParam()});
  for (const std::size_t rows : {0U, 998U, 999U, 1000U, 1998U, 20'000U}) {
    const auto in = on(kDevice, points(rows));
    auto out = on(kDevice, answers(rows));
    const auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
    EXPECT_EQ(model.forward(*queue_, plan), kNothingCopied);
    queue_->wait();
    expect_sums(on(Device::cpu(), out), 0, rows);
  }
}

TEST_P(FusedGpu, SlicesAtAnyOffsetAreReadAndWrittenInPlace) {
  const AotModel model = sums();
  const auto in = on(kDevice, points(500));
  for (const std::size_t first : {1U, 31U, 100U}) {
    auto out = on(kDevice, answers(500));
    const auto plan =
        model.plan(mlp_metadata(slice(in.const_view(), first, 333), slice(out.view(), first, 333)));
    model.forward(*queue_, plan);
    queue_->wait();
    expect_sums(on(Device::cpu(), out), first, first + 333);
  }
}

TEST_P(FusedGpu, ThreadsOnQueuesOfTheirOwnAndOnOneQueue) {
  const AotModel model = sums();
  std::vector<PortableCollection<Points>> ins;
  std::vector<PortableCollection<Answers>> outs;
  for (std::size_t i = 0; i < 8; ++i) {
    ins.push_back(on(kDevice, points(1000 + 77 * i, i)));
    outs.push_back(on(kDevice, answers(1000 + 77 * i)));
  }
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        const Queue own(kDevice);
        const Queue& queue = i % 2 == 0 ? own : *queue_;
        const auto plan = model.plan(mlp_metadata(ins[i].const_view(), outs[i].view()));
        for (int call = 0; call < 20; ++call) model.forward(queue, plan);
        queue.wait();
      });
    }
  }
  for (std::size_t i = 0; i < 8; ++i) {
    expect_sums(on(Device::cpu(), outs[i]), 0, 1000 + 77 * i, i);
  }
}

TEST_P(FusedGpu, APackageForSeveralTargetsRunsThereAndOnTheCpu) {
  const AotModel model(fused_package("both"), package::Options{.cuda_graphs = GetParam()});
  const auto in = points(1000);
  auto out = answers(1000);
  const auto in_there = on(kDevice, in);
  auto out_there = on(kDevice, answers(1000));
  model.forward(Queue(Device::cpu()), model.plan(mlp_metadata(in.const_view(), out.view())));
  model.forward(*queue_, model.plan(mlp_metadata(in_there.const_view(), out_there.view())));
  queue_->wait();
  expect_sums(out, 0, 1000);
  expect_sums(on(Device::cpu(), out_there), 0, 1000);
}

TEST_P(FusedGpu, AWarmedUpModelTakesMoreRowsToo) {
  const AotModel model = sums();
  const auto in = on(kDevice, points(5000));
  auto out = on(kDevice, answers(5000));
  const auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
  model.warm_up(*queue_, plan, 100, 100);
  model.forward(*queue_, plan);
  queue_->wait();
  expect_sums(on(Device::cpu(), out), 0, 5000);
}

TEST_P(FusedGpu, CodeThatIsNoneIsAnErrorOfTheLoad) {
  const Package no_code(fused_package("fused_gpu"));
  const package::FusedDescription& fused = *of_gpus(no_code).fused;
  EXPECT_THAT(
      [&] { package::make_fused_gpu_program(no_code, fused, "no code", kDevice, GetParam()); },
      ThrowsMessage<DeviceError>(HasSubstr("loading its ")));  // code, or later: kernel
  const auto in = on(kDevice, points(10));
  auto out = on(kDevice, answers(10));
  const AotModel model = sums();
  model.forward(*queue_, model.plan(mlp_metadata(in.const_view(), out.view())));
  queue_->wait();
  expect_sums(on(Device::cpu(), out), 0, 10);
}

}  // namespace
}  // namespace tensoa
