// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "pytorch/copy_truth.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/pytorch/engines.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "tensoa/soa/slice.hpp"

// Compares CopyReport with the observed copies, for each row of the table "Zero copies, and
// proof of it" in the design: columns of all kinds and distances, slices and batches, outputs, inputs
// that a model writes, copies on request, no rows.

namespace tensoa {

void PrintTo(const Device& device, std::ostream* out) { *out << to_string(device); }
void PrintTo(const CopyReport& report, std::ostream* out) {
  *out << report.bytes_in << " bytes in, " << report.bytes_out << " out";
}

namespace {

using testing::HasSubstr;
using JitModel = Model<CompilationType::kJustInTime>;

constexpr std::size_t kRows = 100'003;  // no multiple of a line: columns never touch
constexpr std::size_t kColumn = kRows * sizeof(float);

template <template <class> class F>
struct Six {
  F<float> a, b, c, d, e, f;
};

template <template <class> class F>
struct Kinds {
  F<Vector<float, 3>> v, w;
  F<Matrix<float, 2, 3>> matrix;
  F<Scalar<float>> scalar;
  F<Vector<float, 2>> product;
};

template <template <class> class F>
struct Links {
  F<std::int64_t> source, target;
  F<float> score;
};

std::string model_file(const std::string& name) { return TENSOA_TEST_MODELS + name + ".pt"; }

/// Bytes that a model copies by itself: for bmm of a strided matrix, a bias for cuBLAS.
struct CopiedByTorch {
  std::size_t from_columns = 0;
  std::size_t on_queue = 0;
};

class CopyTruth : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (device_count(GetParam().kind) == 0) GTEST_SKIP() << "no CUDA device";
    pytorch::register_engines();
    queue_.emplace(GetParam());
  }

  /// A collection of zeros whose memory is watched.
  template <template <template <class> class> class Layout>
  PortableCollection<Layout> make(std::size_t rows) {
    PortableCollection<Layout> columns(rows, GetParam());
    if (columns.bytes() > 0) zero_bytes(*queue_, columns.data(), columns.bytes());
    queue_->wait();
    memory_.push_back({columns.data(), columns.bytes()});
    return columns;
  }

  /// The error in the report that `call` returns; nothing where it is true.
  /// @param aside bytes that the report counts as out, because they are of results, and that are
  ///     copied out of the columns, because the results lie there
  /// @param by_torch what the model itself copies when torch runs it alone
  std::string lies_of(const std::function<CopyReport()>& call, std::size_t aside = 0,
                      const CopiedByTorch& by_torch = {}) {
    for (int warm_up = 0; warm_up < 2; ++warm_up) call();
    CopyReport report;
    seen_ = watch(memory_, kRows, [&] { report = call(); });
    queue_->wait();
    std::string lies;
    const auto compare = [&](std::size_t reported, std::size_t seen, const std::string& what) {
      if (reported != seen) {
        lies += what + ": " + std::to_string(reported) + " bytes reported, " +
                std::to_string(seen) + " seen\n";
      }
    };
    compare(report.bytes_in + aside, seen_.from_columns, "out of the columns");
    compare(report.bytes_out, seen_.to_columns + aside, "into the columns");
    compare(by_torch.from_columns, seen_.inside_model, "inside the model");
    if (!lies.empty()) lies += seen_.story;
    if (!GetParam().is_cpu()) {
      const SeenOnQueue nodes = watch_queue(*queue_, element_size_, call);
      compare(report.bytes_in + report.bytes_out + by_torch.on_queue, nodes.copied, "on the queue");
      compare(0, nodes.allocations, "allocations on the queue");
      if (!lies.empty()) lies += nodes.story;
    }
    return lies;
  }

  /// Runs a model: the report is `expected` and the truth, inputs that are not copied were read
  /// where they lie, and no memory is taken beyond what torch takes for the model itself and what is
  /// set aside (memory for other copies is there from the calls before).
  template <template <template <class> class> class... Layouts>
  void expect(const std::string& name, const ModelMetadata<Layouts...>& metadata,
              CopyReport expected, std::size_t aside = 0) {
    SCOPED_TRACE(name);
    JitModel model(model_file(name));
    model.to(*queue_);
    const auto torch_alone = without_tensoa(name, metadata.binding());
    CopiedByTorch by_torch{.from_columns = watch(memory_, kRows, torch_alone).inside_model};
    if (!GetParam().is_cpu()) {
      by_torch.on_queue = watch_queue(*queue_, element_size_, torch_alone).copied;
    }
    EXPECT_EQ(lies_of([&] { return model.forward(metadata); }, aside, by_torch), "");
    EXPECT_EQ(model.forward(metadata), expected);
    queue_->wait();
    if (expected.bytes_in == 0 && aside == 0) {
      for (const BoundBlock& block : metadata.binding().inputs) {
        EXPECT_TRUE(seen_.in_place.contains(block.tensor.data)) << block.name << "\n"
                                                                << seen_.story;
      }
    }
    if (GetParam().is_cpu()) {
      torch_alone();
      EXPECT_EQ(seen_.large_blocks, watch(memory_, kRows, torch_alone).large_blocks + aside)
          << seen_.story;
    }
  }

  /// The model on the same inputs, without this library.
  std::function<void()> without_tensoa(const std::string& name, const Binding& binding) {
    const c10::Device device = GetParam().is_cpu()
                                   ? c10::Device(c10::kCPU)
                                   : c10::Device(c10::kCUDA, c10::DeviceIndex(GetParam().index));
    torch::jit::Module module = torch::jit::load(model_file(name), device);
    module.eval();
    module = torch::jit::freeze(module);
    std::vector<c10::IValue> inputs;
    for (const BoundBlock& block : binding.inputs) {
      const TensorView& view = block.tensor;
      const at::IntArrayRef sizes(view.size_of_dim.data(), view.rank);
      const at::IntArrayRef strides(view.stride_of_dim.data(), view.rank);
      const auto options =
          at::TensorOptions(view.dtype == DType::kI64 ? at::kLong : at::kFloat).device(device);
      inputs.emplace_back(view.data == nullptr  // repacked
                              ? at::zeros(sizes, options)
                              : at::from_blob(view.data, sizes, strides, options));
    }
    return [=]() mutable {
      const c10::InferenceMode no_gradients;
      module.forward(inputs);
    };
  }

  std::optional<Queue> queue_;
  std::vector<MemoryRange> memory_;
  Seen seen_;
  std::size_t element_size_ = sizeof(float);  ///< of what is copied
};

INSTANTIATE_TEST_SUITE_P(On, CopyTruth, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& device) {
                           return std::string(device.param.is_cpu() ? "Cpu" : "Cuda");
                         });

template <template <template <class> class> class Layout, class... Columns>
SoAMetadata<Layout> block(std::size_t rows, const Columns&... columns) {
  SoAMetadata<Layout> metadata(rows);
  metadata.append_block("block", columns...);
  return metadata;
}

// ---- equally spaced columns: nothing in, one strided copy out

TEST_P(CopyTruth, AdjacentColumns) {
  const auto in = make<Six>(kRows);
  auto out = make<Six>(kRows);
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  for (const std::string name : {"affine", "identity"}) {
    expect(name,
           ModelMetadata(block<Six>(kRows, from.a(), from.b(), from.c()),
                         block<Six>(kRows, to.a(), to.b(), to.c())),
           {0, 3 * kColumn});
  }
  expect("mlp",
         ModelMetadata(block<Six>(kRows, from.a(), from.b(), from.c()),
                       block<Six>(kRows, to.a(), to.b())),
         {0, 2 * kColumn});
}

TEST_P(CopyTruth, EverySecondAndEveryThirdColumn) {
  const auto in = make<Six>(kRows);
  auto out = make<Six>(kRows);
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  expect("affine",
         ModelMetadata(block<Six>(kRows, from.a(), from.c(), from.e()),
                       block<Six>(kRows, to.b(), to.d(), to.f())),
         {0, 3 * kColumn});
  expect("mlp",
         ModelMetadata(block<Six>(kRows, from.a(), from.c(), from.e()),
                       block<Six>(kRows, to.c(), to.f())),
         {0, 2 * kColumn});
  expect("identity",
         ModelMetadata(block<Six>(kRows, from.b(), from.e()), block<Six>(kRows, to.a(), to.d())),
         {0, 2 * kColumn});
}

TEST_P(CopyTruth, VectorsMatricesAndScalars) {
  auto kinds = make<Kinds>(kRows);
  const auto in = kinds.const_view().records();
  const auto out = kinds.view().records();
  expect("affine", ModelMetadata(block<Kinds>(kRows, in.v()), block<Kinds>(kRows, out.w())),
         {0, 3 * kColumn});
  expect("affine",
         ModelMetadata(block<Kinds>(kRows, in.v(), in.w()), block<Kinds>(kRows, out.v(), out.w())),
         {0, 6 * kColumn});
  expect("affine",
         ModelMetadata(block<Kinds>(kRows, in.matrix()), block<Kinds>(kRows, out.matrix())),
         {0, 6 * kColumn});
  SoAMetadata<Kinds> inputs(kRows);
  inputs.append_block("matrix", in.matrix());
  inputs.append_block("vector", in.v());
  inputs.append_block("offset", in.scalar());
  expect("moments", ModelMetadata(inputs, block<Kinds>(kRows, out.product())), {0, 2 * kColumn});
}

TEST_P(CopyTruth, SeveralCollectionsOfDifferentLength) {
  const auto nodes = make<Six>(kRows / 3);
  auto links = make<Links>(kRows);
  const auto node = nodes.const_view().records();
  const auto link = links.view().records();
  SoAMetadata<Six, Links> inputs(kRows / 3, kRows);
  inputs.append_block("x", node.a(), node.b(), node.c());
  inputs.append_block(BlockShape::kColumns, "edge_index", link.source(), link.target());
  expect("graph", ModelMetadata(inputs, block<Links>(kRows, link.score())), {0, kColumn});
}

TEST_P(CopyTruth, SlicesAtAnyOffset) {
  const auto in = make<Six>(kRows + 31);
  auto out = make<Six>(kRows + 31);
  for (const std::size_t first : {1U, 3U, 5U, 31U}) {
    const auto from = slice(in.const_view(), first, kRows).records();
    const auto to = slice(out.view(), 31 - first, kRows).records();
    expect("affine",
           ModelMetadata(block<Six>(kRows, from.a(), from.b(), from.c()),
                         block<Six>(kRows, to.d(), to.e(), to.f())),
           {0, 3 * kColumn});
  }
}

TEST_P(CopyTruth, BatchesOnOneQueue) {
  const auto in = make<Six>(kRows);
  auto out = make<Six>(kRows);
  JitModel model(model_file("affine"));
  model.to(*queue_);
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  const auto plan = model.plan(
      ModelMetadata(block<Six>(kRows, from.a(), from.b()), block<Six>(kRows, to.a(), to.c())));
  EXPECT_EQ(lies_of([&] { return model.forward_batches(*queue_, plan, kRows / 4); }), "");
  EXPECT_EQ(model.forward_batches(*queue_, plan, kRows / 4), (CopyReport{0, 2 * kColumn}));
}

// ---- outputs

TEST_P(CopyTruth, SeveralOutputs) {
  const auto in = make<Six>(kRows);
  auto first = make<Six>(kRows);
  auto second = make<Six>(kRows);
  const auto from = in.const_view().records();
  const auto one = first.view().records();
  const auto two = second.view().records();
  SoAMetadata<Six> outputs(kRows);
  outputs.append_block("plus_one", one.a(), one.c());
  outputs.append_block("twice", two.b(), two.e());
  for (const std::string name : {"pair", "list_of_two"}) {
    expect(name, ModelMetadata(block<Six>(kRows, from.b(), from.c()), outputs), {0, 4 * kColumn});
  }
}

TEST_P(CopyTruth, OneColumn) {
  const auto in = make<Six>(kRows);
  auto out = make<Six>(kRows);
  const auto from = in.const_view().records();
  for (const std::string name : {"row_sum", "row_sum_kept"}) {
    expect(name,
           ModelMetadata(block<Six>(kRows, from.a(), from.b(), from.c()),
                         block<Six>(kRows, out.view().records().d())),
           {0, kColumn});
  }
}

TEST_P(CopyTruth, ResultsInTheColumnsThatAreWrittenAreSetAside) {
  auto both = make<Six>(kRows);
  const auto records = both.view().records();
  SoAMetadata<Six> inputs(kRows);
  inputs.append_block("a", records.a());
  inputs.append_block("b", records.c());
  expect("swap", ModelMetadata(inputs, inputs), {0, 3 * kColumn}, /*aside=*/kColumn);
  expect("identity",
         ModelMetadata(block<Six>(kRows, records.a(), records.b()),
                       block<Six>(kRows, records.b(), records.c())),
         {0, 4 * kColumn}, /*aside=*/2 * kColumn);
}

// ---- inputs that a model writes

TEST_P(CopyTruth, OnlyInputsThatTheModelWritesAreCopied) {
  const auto in = make<Six>(kRows);
  auto out = make<Six>(kRows);
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  expect("writes_input",
         ModelMetadata(block<Six>(kRows, from.a(), from.d()), block<Six>(kRows, to.a(), to.b())),
         {2 * kColumn, 2 * kColumn});
  SoAMetadata<Six> inputs(kRows);
  inputs.append_block("a", from.a(), from.b());
  inputs.append_block("b", from.c(), from.e());
  expect("writes_view", ModelMetadata(inputs, block<Six>(kRows, to.c(), to.d())),
         {2 * kColumn, 2 * kColumn});
  EXPECT_EQ(seen_.in_place, (std::set<const void*>{in.const_view().a.data()})) << seen_.story;
}

// ---- columns that are not equally spaced, or of several dtypes: a copy on request

template <template <class> class F>
struct Mixed {
  F<float> a;
  F<double> b;
  F<float> c, d;
  F<std::int32_t> layer;
  F<Scalar<float>> scalar;
  F<double> e;
};

template <template <template <class> class> class Layout, class... Columns>
SoAMetadata<Layout> repacked(Repack repack, const Columns&... columns) {
  SoAMetadata<Layout> metadata(kRows);
  metadata.append_block(repack, "block", columns...);
  return metadata;
}

TEST_P(CopyTruth, RepackedInputsAreCopiedOnceAndConvertedOnTheWay) {
  const auto in = make<Mixed>(kRows);
  auto out = make<Six>(kRows);
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  expect("affine",
         ModelMetadata(repacked<Mixed>({}, from.a(), from.d(), from.c()),
                       block<Six>(kRows, to.a(), to.b(), to.c())),
         {3 * kColumn, 3 * kColumn});
  expect(
      "affine",
      ModelMetadata(repacked<Mixed>({DType::kF32}, from.a(), from.b(), from.layer(), from.scalar()),
                    block<Six>(kRows, to.a(), to.b(), to.c(), to.d())),
      {4 * kColumn, 4 * kColumn});
  expect("writes_input",
         ModelMetadata(repacked<Mixed>({DType::kF32}, from.e(), from.a()),
                       block<Six>(kRows, to.a(), to.b())),
         {2 * kColumn, 2 * kColumn});
}

TEST_P(CopyTruth, RepackedOutputsAreCopiedOnceAndConvertedOnTheWay) {
  const auto in = make<Six>(kRows);
  auto out = make<Mixed>(kRows);
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  expect("affine",
         ModelMetadata(block<Six>(kRows, from.a(), from.b(), from.c()),
                       repacked<Mixed>({}, to.d(), to.a(), to.c())),
         {0, 3 * kColumn});
  element_size_ = sizeof(double);
  expect("affine",
         ModelMetadata(block<Six>(kRows, from.a(), from.b()),
                       repacked<Mixed>({DType::kF32}, to.e(), to.b())),
         {0, 2 * 2 * kColumn});
}

template <template <class> class F>
struct Groups {
  F<std::int64_t> offsets;
};

TEST_P(CopyTruth, PaddedRowsAreCopiedOnce) {
  constexpr std::size_t kGroups = kRows / 6;
  const auto rows = make<Six>(kRows);
  auto groups = make<Groups>(kGroups + 1);
  memory_.pop_back();  // the offsets are read, and the work with them is not a copy of columns
  auto out = make<Kinds>(kGroups);
  const auto from = rows.const_view().records();
  const auto to = out.view().records();
  SoAMetadata<Groups, Six> inputs(kGroups, kRows);
  inputs.append_padded("x", groups.view().records().offsets(), 2, from.b(), from.c(), from.d());
  const ModelMetadata metadata(inputs, block<Kinds>(kGroups, to.v(), to.w()));  // [groups, 2, 3]
  JitModel model(model_file("affine"));
  model.to(*queue_);
  CopyReport report;
  const Seen seen = watch(memory_, kRows, [&] { report = model.forward(metadata); });
  const std::size_t bytes = kGroups * 2 * 3 * sizeof(float);
  EXPECT_EQ(report, (CopyReport{bytes, bytes}));
  EXPECT_EQ(seen.from_columns, bytes) << seen.story;
  EXPECT_EQ(seen.to_columns, bytes) << seen.story;
}

// ---- nothing

TEST_P(CopyTruth, NothingHappensForNoRows) {
  const auto in = make<Six>(kRows);
  auto out = make<Six>(kRows);
  const JitModel model(model_file("writes_input"));
  const Plan plan = model.plan(ModelMetadata(block<Six>(0, in.const_view().records().a()),
                                             block<Six>(0, out.view().records().a())));
  EXPECT_EQ(lies_of([&] { return model.forward(*queue_, plan); }), "");
  EXPECT_EQ(seen_.story, "");
  EXPECT_EQ(seen_.allocations, 0U);
}

TEST_P(CopyTruth, RebindingAllocatesAndCopiesNothing) {
  auto in = make<Six>(kRows);
  auto other = make<Six>(kRows / 2);
  auto out = make<Six>(kRows);
  JitModel model(model_file("affine"));
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  auto plan = model.plan(ModelMetadata(block<Six>(kRows, from.a(), from.b(), from.c()),
                                       block<Six>(kRows, to.a(), to.c(), to.e())));
  plan.rebind(in.view(), out.view());
  const View<Six> columns = other.view();
  out.resize(kRows / 2);
  const View<Six> target = out.view();
  const Seen seen = watch(memory_, kRows, [&] { plan.rebind(columns, target); });
  EXPECT_EQ(seen.allocations, 0U);
  EXPECT_EQ(seen.story, "");

  EXPECT_EQ(lies_of([&] { return model.forward(*queue_, plan); }), "");
  EXPECT_TRUE(seen_.in_place.contains(columns.a.data())) << seen_.story;
}

// ---- reports that are not true: each call moves something in addition to the model's own work

class CopyTruthFinds : public CopyTruth {
 protected:
  void SetUp() override {
    CopyTruth::SetUp();
    if (IsSkipped()) return;
    in_.emplace(make<Six>(kRows));
    out_.emplace(make<Six>(kRows));
    elsewhere_ = Buffer(GetParam(), kColumn);
    model_.emplace(model_file("affine"));
    model_->to(*queue_);
  }

  CopyReport forward() {
    const auto from = in_->const_view().records();
    const auto to = out_->view().records();
    return model_->forward(
        ModelMetadata(block<Six>(kRows, from.a(), from.c()), block<Six>(kRows, to.a(), to.c())));
  }

  void copy_column(void* to, const void* from) {
    copy_bytes(*queue_, to, GetParam(), from, GetParam(), kColumn);
  }

  std::optional<PortableCollection<Six>> in_;
  std::optional<PortableCollection<Six>> out_;
  Buffer elsewhere_;
  std::optional<JitModel> model_;
};

INSTANTIATE_TEST_SUITE_P(On, CopyTruthFinds, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& device) {
                           return std::string(device.param.is_cpu() ? "Cpu" : "Cuda");
                         });

TEST_P(CopyTruthFinds, NothingInATrueReport) {
  EXPECT_EQ(lies_of([&] { return forward(); }), "");
}

TEST_P(CopyTruthFinds, ACopyOfAColumn) {
  EXPECT_THAT(lies_of([&] {
                copy_column(elsewhere_.data(), in_->const_view().b.data());
                return forward();
              }),
              HasSubstr(GetParam().is_cpu() ? "out of the columns: 0 bytes reported, 400012 seen"
                                            : "on the queue: 800024 bytes reported, 1200036 seen"));
}

TEST_P(CopyTruthFinds, AnAnswerThatIsWrittenTwice) {
  EXPECT_THAT(
      lies_of([&] {
        const CopyReport report = forward();
        copy_column(out_->view().a.data(), elsewhere_.data());
        return report;
      }),
      HasSubstr(GetParam().is_cpu() ? "into the columns: 800024 bytes reported, 1200036 seen"
                                    : "on the queue: 800024 bytes reported, 1200036 seen"));
}

TEST_P(CopyTruthFinds, ACopyThatIsReportedButNotMade) {
  EXPECT_THAT(lies_of([&] {
                CopyReport report = forward();
                report.bytes_in += 4;
                return report;
              }),
              HasSubstr("out of the columns: 4 bytes reported, 0 seen"));
}

TEST_P(CopyTruthFinds, AnAnswerThatIsNotReported) {
  EXPECT_THAT(lies_of([&] {
                forward();
                return CopyReport{};
              }),
              HasSubstr("into the columns: 0 bytes reported, 800024 seen"));
}

TEST(CopyTruthOnTheHost, FindsACloneOnceAndTheBlockThatItTakes) {
  std::vector<float> column(kRows);
  const MemoryRange memory{reinterpret_cast<const std::byte*>(column.data()), kColumn};
  const at::Tensor strided =
      at::from_blob(column.data(), {static_cast<std::int64_t>(kRows / 2)}, {2}, at::kFloat);
  const Seen seen = watch({&memory, 1}, kRows, [&] { static_cast<void>(strided.clone()); });
  EXPECT_EQ(seen.from_columns, kRows / 2 * sizeof(float)) << seen.story;
  EXPECT_GE(seen.large_blocks, kRows / 2 * sizeof(float)) << seen.story;
  EXPECT_EQ(seen.in_place.size(), 0U);
}

TEST(CopyTruthOnTheHost, FindsTheBlockThatACopyByHandTakes) {
  const std::vector<float> column(kRows, 1.F);
  const MemoryRange memory{reinterpret_cast<const std::byte*>(column.data()), kColumn};
  float last = 0;
  const Seen seen = watch({&memory, 1}, kRows, [&] {
    std::vector<float> copy(kRows);
    for (std::size_t i = 0; i < kRows; ++i) copy[i] = column[i];
    last = copy.back();
  });
  EXPECT_EQ(last, 1.F);
  EXPECT_EQ(seen.large_blocks, kColumn) << seen.story;
  EXPECT_EQ(seen.allocations, 1U);
}

}  // namespace
}  // namespace tensoa
