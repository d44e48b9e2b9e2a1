// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/stat.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "package/aot_layouts.hpp"
#include "support/environment.hpp"
#include "support/process_threads.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/options.hpp"
#include "tensoa/pytorch/engines.hpp"
#include "tensoa/pytorch/options.hpp"
#include "tensoa/soa/slice.hpp"

namespace tensoa {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::ThrowsMessage;
using namespace test;
using AotModel = Model<CompilationType::kAheadOfTime>;

constexpr float kUntouched = -77.F;
constexpr CopyReport kNothingCopied{};

std::filesystem::path packages() { return TENSOA_TEST_PACKAGES; }

/// The MLP by three loops in double, from the weights that torch wrote.
class MlpInDouble {
 public:
  MlpInDouble() : file_(TENSOA_TEST_MODELS "mlp.bin", std::ios::binary) {
    for (Layer& layer : layers_) {
      layer.weight = read(layer.inputs * layer.outputs);
      layer.bias = read(layer.outputs);
    }
    EXPECT_TRUE(file_) << "mlp.bin is too short";
  }

  std::vector<double> operator()(std::vector<double> values) const {
    for (const Layer& layer : layers_) {
      std::vector<double> next;
      for (std::size_t out = 0; out < layer.outputs; ++out) {
        double sum = layer.bias[out];
        for (std::size_t in = 0; in < layer.inputs; ++in) {
          sum += layer.weight[out * layer.inputs + in] * values[in];
        }
        next.push_back(&layer == &layers_.back() ? sum : std::max(0., sum));
      }
      values = std::move(next);
    }
    return values;
  }

 private:
  struct Layer {
    std::size_t inputs, outputs;
    std::vector<double> weight, bias;
  };

  std::vector<double> read(std::size_t count) {
    std::vector<float> values(count);
    file_.read(reinterpret_cast<char*>(values.data()),
               static_cast<std::streamsize>(count * sizeof(float)));
    return {values.begin(), values.end()};
  }

  std::ifstream file_;
  std::array<Layer, 3> layers_{{{3, 64, {}, {}}, {64, 64, {}, {}}, {64, 2, {}, {}}}};
};

/// A number that looks like any other, the same on every machine.
float noise(std::size_t seed) {
  return static_cast<float>((seed * 2654435761U) % 4001U) / 1000.F - 2.F;
}

class AotEngine : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (device_count(GetParam().kind) == 0) GTEST_SKIP() << "no CUDA device";
    pytorch::register_engines();
    queue_.emplace(GetParam());
  }

  std::filesystem::path package(const std::string& name) const {
    return packages() / (name + (GetParam().is_cpu() ? "-cpu.pt2" : "-cuda.pt2"));
  }

  /// A collection on the device, filled by `fill` on the host.
  template <template <template <class> class> class Layout, class Fill>
  PortableCollection<Layout> upload(std::size_t rows, Fill fill, std::size_t capacity = 0) {
    capacity = std::max(rows, capacity);
    PortableCollection<Layout> host(capacity, Device::cpu());
    fill(host.view());
    PortableCollection<Layout> there(capacity, GetParam());
    copy(*queue_, host, there);
    queue_->wait();
    there.resize(rows);
    return there;
  }

  /// A copy on the host, of the whole capacity.
  template <template <template <class> class> class Layout>
  PortableCollection<Layout> download(PortableCollection<Layout>& there) {
    const std::size_t rows = there.size();
    there.resize(there.capacity());
    PortableCollection<Layout> host(there.capacity(), Device::cpu());
    copy(*queue_, there, host);
    queue_->wait();
    there.resize(rows);
    return host;
  }

  PortableCollection<Points> points(std::size_t rows) {
    return upload<Points>(rows, [](auto view) {
      for (std::size_t i = 0; i < view.size(); ++i) {
        view.x[i] = noise(3 * i);
        view.y[i] = noise(3 * i + 1);
        view.z[i] = noise(3 * i + 2);
      }
    });
  }

  /// Answers that are not written yet.
  PortableCollection<Answers> answers(std::size_t rows) {
    return upload<Answers>(rows, [](auto view) {
      for (std::size_t i = 0; i < view.size(); ++i) view.m[i] = view.n[i] = kUntouched;
    });
  }

  /// Rows [first, last) are those of the MLP, all others untouched.
  void expect_mlp(PortableCollection<Answers>& answers, std::size_t first, std::size_t last) {
    const auto host = download(answers);
    const auto view = host.const_view();
    for (std::size_t i = 0; i < view.size(); ++i) {
      if (i < first || i >= last) {
        ASSERT_EQ(view.m[i], kUntouched) << "row " << i;
        ASSERT_EQ(view.n[i], kUntouched) << "row " << i;
        continue;
      }
      const std::vector<double> expected = mlp_({noise(3 * i), noise(3 * i + 1), noise(3 * i + 2)});
      ASSERT_NEAR(view.m[i], expected[0], 2e-6) << "row " << i;
      ASSERT_NEAR(view.n[i], expected[1], 2e-6) << "row " << i;
    }
  }

  /// All of a message must fit into one line.
  static auto is_short() { return AllOf(SizeIs(testing::Lt(500U)), Not(HasSubstr("\n"))); }

  std::optional<Queue> queue_;
  MlpInDouble mlp_;
};

INSTANTIATE_TEST_SUITE_P(On, AotEngine, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& device) {
                           return std::string(device.param.is_cpu() ? "Cpu" : "Cuda");
                         });

// ---- right answers, where they belong, and nothing copied

TEST_P(AotEngine, MlpEqualsFloat64ForAnyNumberOfRows) {
  AotModel model(package("mlp"));
  model.to(*queue_);
  for (const std::size_t rows : {1000U, 33U, 2U, 1U, 0U, 31U}) {
    const auto in = points(rows);
    auto out = answers(rows);
    EXPECT_EQ(model.forward(mlp_metadata(in.const_view(), out.view())), kNothingCopied);
    expect_mlp(out, 0, rows);
  }
}

TEST_P(AotEngine, RunsOnTheLegacyDefaultStream) {
  if (GetParam().is_cpu()) GTEST_SKIP() << "for GPUs";
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the default streams are numbers
  queue_ = Queue::borrow(GetParam(), reinterpret_cast<void*>(std::uintptr_t{1}));
  AotModel model(package("mlp"));
  model.to(*queue_);
  const auto in = points(33);
  auto out = answers(33);
  model.forward(mlp_metadata(in.const_view(), out.view()));
  expect_mlp(out, 0, 33);
}

TEST_P(AotEngine, SlicesAtAnyOffsetAreReadAndWrittenInPlace) {
  AotModel model(package("mlp"));
  model.to(*queue_);
  const auto in = points(200);
  for (const std::size_t first : {1U, 3U, 5U, 31U}) {
    for (const std::size_t rows : {1U, 2U, 17U, 33U, 128U}) {
      auto out = answers(200);
      const auto metadata =
          mlp_metadata(slice(in.const_view(), first, rows), slice(out.view(), first, rows));
      EXPECT_EQ(model.forward(metadata), kNothingCopied);
      expect_mlp(out, first, first + rows);
    }
  }
}

TEST_P(AotEngine, APlanIsReboundToCollectionsOfOtherSizes) {
  AotModel model(package("mlp"));
  const auto first_in = points(1);
  auto first_out = answers(1);
  auto plan = model.plan(mlp_metadata(first_in.const_view(), first_out.view()));
  for (const std::size_t rows : {5U, 500U, 77U}) {
    const auto in = points(rows);
    auto out = answers(rows);
    plan.rebind(in.const_view(), out.view());
    EXPECT_EQ(model.forward(*queue_, plan), kNothingCopied);
    expect_mlp(out, 0, rows);
  }
}

TEST_P(AotEngine, BatchesOfRowsAreWrittenOneAfterAnother) {
  const AotModel model(package("mlp"));
  const auto in = points(100);
  auto out = answers(100);
  const auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
  EXPECT_EQ(model.forward_batches(*queue_, plan, 33), kNothingCopied);
  expect_mlp(out, 0, 100);
}

TEST_P(AotEngine, AnyModelTakesAPackage) {
  Model<> model(package("mlp"));
  model.to(*queue_);
  const std::vector<TensorSpec>& inputs = model.deploy(GetParam()).inputs;
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_EQ(inputs[0].name, "features");
  const auto in = points(4);
  auto out = answers(4);
  model.forward(mlp_metadata(in.const_view(), out.view()));
  expect_mlp(out, 0, 4);
}

TEST_P(AotEngine, EveryKindOfColumnIsReadAndWritten) {
  AotModel model(package("kinds"));
  model.to(*queue_);
  for (const std::size_t rows : {1U, 2U, 33U, 1000U}) {
    const auto hits = upload<Hits>(
        rows,
        [](auto v) {
          *v.field = 0.5F;
          *v.offset = 100.F;
          for (std::size_t i = 0; i < v.size(); ++i) {
            v.x[i] = noise(i);
            v.y[i] = v.u[i] = noise(i + 1);
            v.z[i] = noise(i + 2);
            v.w[i] = noise(i + 3);
            v.v[i] = noise(i + 4);
            v.layer[i] = static_cast<std::int32_t>(i % 48);
            v.time[i] = static_cast<double>(i) + 0.25;
            v.weight[i] = 2.;
            for (std::size_t k = 0; k < 3; ++k) {
              v.direction[i][k] = static_cast<float>(k + 1);
              for (std::size_t r = 0; r < 2; ++r) {
                v.jacobian[i](r, k) = noise(i + 7 * r + 11 * k);
              }
            }
          }
        },
        rows + 9);
    auto fits = upload<Fits>(
        rows,
        [](auto v) {
          for (std::size_t i = 0; i < v.size(); ++i) v.a[i] = v.between[i] = v.b[i] = kUntouched;
        },
        rows + 9);
    auto summary = upload<Summary>(1, [](auto) {});
    // Const inputs: a program that wrote one would be an error of the exporter.
    EXPECT_EQ(model.forward(kinds_metadata(hits.const_view(), fits.view(), summary.view())),
              kNothingCopied);

    const auto host = download(fits);
    const auto fit = host.const_view();
    for (std::size_t i = 0; i < rows; ++i) {
      ASSERT_FLOAT_EQ(fit.a[i], noise(i + 3) * 2 + noise(i));
      ASSERT_FLOAT_EQ(fit.b[i], noise(i) * 2 + noise(i + 2));
      ASSERT_FLOAT_EQ(fit.c[i], noise(i + 1) * 2 + noise(i + 4));
      for (std::size_t r = 0; r < 2; ++r) {
        const float expected =
            noise(i + 7 * r) + 2 * noise(i + 7 * r + 11) + 3 * noise(i + 7 * r + 22) + 0.5F;
        ASSERT_NEAR(fit.moved[i][r], expected, 1e-5);
      }
      ASSERT_EQ(fit.id[i], static_cast<std::int64_t>(i % 48) * 10);
    }
    for (std::size_t i = 0; i < fit.size(); ++i) {
      ASSERT_EQ(fit.between[i], kUntouched) << "a column that is not bound, row " << i;
    }
    for (std::size_t i = rows; i < fit.size(); ++i) {
      ASSERT_EQ(fit.a[i], kUntouched) << "beyond the rows, row " << i;
      ASSERT_EQ(fit.b[i], kUntouched) << "beyond the rows, row " << i;
    }
    const auto sums = download(summary);
    const auto n = static_cast<double>(rows);
    EXPECT_NEAR(sums.const_view().mean[0], n * (n - 1) / 2 + n * 0.25, 1e-9 * n * n);
    EXPECT_NEAR(sums.const_view().largest[0], 2 * n, 1e-9 * n);
  }
}

TEST_P(AotEngine, TwoLengthsArgumentsAndResultsByName) {
  AotModel model(package("graph"));
  model.to(*queue_);
  for (const auto& [nodes_count, links_count] :
       {std::pair{5U, 40U}, std::pair{40U, 5U}, std::pair{7U, 7U}, std::pair{1U, 1U},
        std::pair{9U, 0U}}) {
    const std::size_t n = nodes_count;
    auto nodes = upload<Nodes>(n, [](auto view) {
      for (std::size_t i = 0; i < view.size(); ++i) {
        view.charge[i] = noise(i);
        view.mass[i] = noise(i + 50);
      }
    });
    auto links = upload<Links>(links_count, [n](auto view) {
      for (std::size_t i = 0; i < view.size(); ++i) {
        view.source[i] = static_cast<std::int64_t>((i * 3) % n);
        view.target[i] = static_cast<std::int64_t>((i * 5 + 1) % n);
      }
    });
    EXPECT_EQ(model.forward(graph_metadata(nodes.view(), links.view())), kNothingCopied);
    std::vector<double> total(n);
    const auto linked = download(links);
    for (std::size_t i = 0; i < links_count; ++i) {
      const std::size_t source = (i * 3) % n;
      const std::size_t target = (i * 5 + 1) % n;
      ASSERT_FLOAT_EQ(linked.const_view().product[i], noise(source) * noise(target));
      total[target] += noise(source + 50);
    }
    const auto summed = download(nodes);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_NEAR(summed.const_view().total[i], total[i], 1e-5);
    }
  }
}

TEST_P(AotEngine, ColumnsThatAreReadAndWrittenAreCopiedFirst) {
  AotModel model(package("mlp"));
  model.to(*queue_);
  const std::size_t rows = 50;
  auto in = points(rows);
  const auto records = in.view().records();
  // Writes x and y while x, y and z are read.
  PortableCollection<Answers> out(rows, GetParam());
  auto binding = mlp_metadata(in.const_view(), out.view()).binding();
  auto& tensor = binding.outputs[0].tensor;
  tensor.data = records.x().column.data;
  tensor.stride_of_dim[1] =
      static_cast<std::int64_t>((static_cast<std::byte*>(records.y().column.data) -
                                 static_cast<std::byte*>(records.x().column.data)) /
                                static_cast<std::ptrdiff_t>(sizeof(float)));
  const CopyReport report = model.forward(*queue_, binding);
  EXPECT_EQ(report, (CopyReport{.bytes_in = rows * 3 * sizeof(float), .bytes_out = 0}));
  EXPECT_TRUE(report.has(CopyReason::kInputIsWritten));
  const auto host = download(in);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto expected = mlp_({noise(3 * i), noise(3 * i + 1), noise(3 * i + 2)});
    ASSERT_NEAR(host.const_view().x[i], expected[0], 2e-6);
    ASSERT_NEAR(host.const_view().y[i], expected[1], 2e-6);
  }
}

// ---- bindings that do not fit; the outputs stay as they are

template <template <class> class F>
struct OtherPoints {
  F<float> x, between, y, z;
  F<double> dx, dy, dz;
};

TEST_P(AotEngine, ABindingOfOtherColumnsIsAnErrorThatNamesThem) {
  AotModel model(package("mlp"));
  model.to(*queue_);
  PortableCollection<OtherPoints> others(10, GetParam());
  auto out = answers(10);
  SoAMetadata<Answers> outputs(10);
  outputs.append_block("preds", out.view().records().m(), out.view().records().n());
  const auto other = others.view().records();
  const auto run_with = [&](const auto&... columns) {
    return [&] {
      SoAMetadata<OtherPoints> inputs(10);
      inputs.append_block(Repack{}, "features", columns...);
      model.forward(ModelMetadata(inputs, outputs));
    };
  };
  const auto names = [](const std::string& what) {
    return ThrowsMessage<BindingError>(AllOf(is_short(), HasSubstr("was made for other columns"),
                                             HasSubstr("block \"features\""), HasSubstr(what)));
  };
  EXPECT_THAT(run_with(other.x(), other.y(), other.z()),
              names("the place of column y among the planes of the block is 2, expected 1"));
  EXPECT_THAT(run_with(other.y(), other.x(), other.z()), names("column 0 is y, expected x"));
  EXPECT_THAT(run_with(other.x(), other.between()),
              names("the number of columns is 2, expected 3"));
  EXPECT_THAT(run_with(other.dx(), other.dy(), other.dz()), names("column 0 is dx, expected x"));
  expect_mlp(out, 0, 0);
}

template <template <class> class F>
struct PointsInDouble {
  F<double> x, y, z;
};

TEST_P(AotEngine, AnotherDTypeIsAnError) {
  AotModel model(package("mlp"));
  model.to(*queue_);
  PortableCollection<PointsInDouble> wide(10, GetParam());
  auto out = answers(10);
  SoAMetadata<PointsInDouble> inputs(10);
  inputs.append_block("features", wide.view().records().x(), wide.view().records().y(),
                      wide.view().records().z());
  SoAMetadata<Answers> outputs(10);
  outputs.append_block("preds", out.view().records().m(), out.view().records().n());
  EXPECT_THAT(
      [&] { model.forward(ModelMetadata(inputs, outputs)); },
      ThrowsMessage<BindingError>(HasSubstr("the dtype of column x is float64, expected float32")));
}

TEST_P(AotEngine, NumbersOfRowsThatDoNotFitAreErrors) {
  AotModel model(package("mlp"));
  model.to(*queue_);
  const auto in = points(10);
  auto out = answers(9);
  EXPECT_THAT([&] { model.forward(mlp_metadata(in.const_view(), out.view())); },
              ThrowsMessage<BindingError>(HasSubstr("has 9 rows, expected 10, as block "
                                                    "\"features\"")));
  expect_mlp(out, 0, 0);

  AotModel kinds(package("kinds"));
  kinds.to(*queue_);
  PortableCollection<Hits> hits(3, GetParam());
  PortableCollection<Fits> fits(3, GetParam());
  PortableCollection<Summary> summary(3, GetParam());
  EXPECT_THAT([&] { kinds.forward(kinds_metadata(hits.view(), fits.view(), summary.view())); },
              ThrowsMessage<BindingError>(HasSubstr("has 3 rows, expected 1, always")));
}

TEST_P(AotEngine, TheNumberOfBlocksIsChecked) {
  AotModel model(package("mlp"));
  model.to(*queue_);
  const auto in = points(10);
  auto out = answers(10);
  SoAMetadata<Points> inputs(10);
  inputs.append_block("features", in.const_view().records().x(), in.const_view().records().y(),
                      in.const_view().records().z());
  SoAMetadata<Answers> outputs(10);
  outputs.append_block("m", out.view().records().m());
  outputs.append_block("n", out.view().records().n());
  EXPECT_THAT([&] { model.forward(ModelMetadata(inputs, outputs)); },
              ThrowsMessage<BindingError>(HasSubstr("gives 1 outputs, got 2 output blocks")));
  EXPECT_THAT([&] { model.forward(ModelMetadata(SoAMetadata<>(), outputs)); },
              ThrowsMessage<BindingError>(HasSubstr("takes 1 inputs (features), got 0 blocks")));
}

TEST_P(AotEngine, ColumnsInPlaceThatAreNoPlanesOfOnePitchAreAnError) {
  AotModel model(package("kinds"));
  model.to(*queue_);
  PortableCollection<Hits> hits(40, GetParam());
  PortableCollection<Fits> fits(40, GetParam());
  PortableCollection<Summary> summary(1, GetParam());
  const Binding whole = kinds_metadata(hits.view(), fits.view(), summary.view()).binding();
  for (const std::int64_t stride : {65, 2, 0}) {  // in between, upon each other
    Binding shifted = whole;
    shifted.inputs[1].tensor.stride_of_dim[1] = stride;
    EXPECT_THAT([&] { model.forward(*queue_, shifted); },
                ThrowsMessage<BindingError>(
                    AllOf(is_short(),
                          HasSubstr("block \"even\" (columns x, z, v): its columns do "
                                    "not lie in memory as the package was made for"),
                          HasSubstr("or request a copy (Repack)"))));
  }
}

TEST_P(AotEngine, ColumnsToRepackThatAreNoPlanesOfOnePitchAreGathered) {
  AotModel model(package("kinds"));
  model.to(*queue_);
  PortableCollection<Hits> hits(40, GetParam());
  PortableCollection<Fits> fits(40, GetParam());
  PortableCollection<Summary> summary(1, GetParam());
  zero_bytes(*queue_, hits.data(), hits.bytes());
  Binding binding = kinds_metadata(hits.view(), fits.view(), summary.view()).binding();
  EXPECT_EQ(model.forward(*queue_, binding), kNothingCopied);
  std::swap(binding.inputs[0].sources[1].data, binding.inputs[0].sources[2].data);
  const CopyReport report = model.forward(*queue_, binding);
  EXPECT_EQ(report, (CopyReport{.bytes_in = 3 * 40 * sizeof(float), .bytes_out = 0}));
  EXPECT_TRUE(report.has(CopyReason::kRepack));
}

/// TorchScript reads these columns as they are; a program for planes alone would read them wrong.
TEST_P(AotEngine, TensorsOfTheCallersOwnThatAreNoPlanesAreAnError) {
  AotModel model(package("mlp"));
  model.to(*queue_);
  const auto in = points(10);
  auto out = answers(10);
  const Binding whole = mlp_metadata(in.const_view(), out.view()).binding();
  const auto expect_refused = [&](const auto& spoil, const std::string& message) {
    Binding binding = whole;
    spoil(binding.inputs[0].tensor);
    EXPECT_THAT([&] { model.forward(*queue_, binding); },
                ThrowsMessage<BindingError>(AllOf(is_short(), HasSubstr(message))));
  };
  expect_refused(
      [](TensorView& tensor) {
        tensor.stride_of_dim = {3, 1};
      },
      "its stride from one row to the next is 3, expected 1");
  expect_refused([](TensorView& tensor) { tensor.stride_of_dim[0] = 0; },
                 "its stride from one row to the next is 0, expected 1");
  expect_refused([](TensorView& tensor) { tensor.size_of_dim[1] = 2; },
                 "its shape is [10, 2], expected [10, 3]");
  expect_refused([](TensorView& tensor) { tensor.stride_of_dim[1] = -32; },
                 "has the stride -32 in dimension 1, expected 0 or more");
  expect_mlp(out, 0, 0);
}

TEST_P(AotEngine, ResultsByNameNeedABlockOfTheirName) {
  AotModel model(package("graph"));
  model.to(*queue_);
  PortableCollection<Nodes> nodes(5, GetParam());
  PortableCollection<Links> links(5, GetParam());
  Binding binding = graph_metadata(nodes.view(), links.view()).binding();
  binding.outputs[1].name = "sum";
  EXPECT_THAT([&] { model.forward(*queue_, binding); },
              ThrowsMessage<BindingError>(HasSubstr("there is no block called \"total\"")));
}

// ---- CUDA graphs that are captured

/// Packages of TorchInductor that say that they can be captured, on a GPU.
class AotGraphs : public AotEngine {
 protected:
  static constexpr package::Options kGraphs{.cuda_graphs = true};

  static CopyReport staged(std::size_t rows) {
    return {.bytes_in = rows * 3 * sizeof(float), .bytes_out = rows * 2 * sizeof(float)};
  }

  void warm_up(const AotModel& model, const Queue& queue, std::size_t rows) {
    const auto in = points(1);
    auto out = answers(1);
    model.warm_up(queue, model.plan(mlp_metadata(in.const_view(), out.view())), rows, rows);
    expect_mlp(out, 0, 0);
  }
};

INSTANTIATE_TEST_SUITE_P(On, AotGraphs, testing::Values(Device::cuda(0)),
                         [](const auto&) { return std::string("Cuda"); });

TEST_P(AotGraphs, CallsOfWarmedUpRowsAreReplayedAndEqualOthersToTheBit) {
  const AotModel plain(package("mlp_graphs"));
  const AotModel model(package("mlp_graphs"), kGraphs);
  for (const std::size_t rows : {33U, 1U, 5000U}) warm_up(model, *queue_, rows);
  for (const std::size_t rows : {33U, 1U, 5000U, 33U, 34U, 0U, 2U, 5000U}) {
    const bool is_warm = rows == 33 || rows == 1 || rows == 5000;
    const auto in = points(rows);
    auto out = answers(rows);
    auto expected = answers(rows);
    const CopyReport report =
        model.forward(*queue_, model.plan(mlp_metadata(in.const_view(), out.view())));
    plain.forward(*queue_, plain.plan(mlp_metadata(in.const_view(), expected.view())));
    EXPECT_EQ(report, is_warm ? staged(rows) : kNothingCopied) << rows;
    EXPECT_EQ(report.has(CopyReason::kCudaGraph), is_warm) << rows;
    expect_mlp(out, 0, rows);
    const auto a = download(out);
    const auto b = download(expected);
    for (std::size_t i = 0; i < rows; ++i) {
      ASSERT_EQ(a.const_view().m[i], b.const_view().m[i]) << "row " << i << " of " << rows;
      ASSERT_EQ(a.const_view().n[i], b.const_view().n[i]) << "row " << i << " of " << rows;
    }
  }
}

TEST_P(AotGraphs, AReplayReadsAndWritesColumnsWhereverTheyLie) {
  const AotModel model(package("mlp_graphs"), kGraphs);
  warm_up(model, *queue_, 33);
  const auto in = points(200);
  auto before = answers(200);
  auto plan = model.plan(mlp_metadata(in.const_view(), before.view()));
  for (const std::size_t first : {0U, 1U, 31U, 167U}) {
    auto out = answers(200);
    plan.rebind(slice(in.const_view(), first, 33), slice(out.view(), first, 33));
    EXPECT_EQ(model.forward(*queue_, plan), staged(33));
    expect_mlp(out, first, first + 33);
  }
}

TEST_P(AotGraphs, CollectionsOfSeveralLengthsAreABucketTogether) {
  const AotModel model(package("graph_graphs"), kGraphs);
  PortableCollection<Nodes> few(1, GetParam());
  PortableCollection<Links> none(1, GetParam());
  model.warm_up(*queue_, model.plan(graph_metadata(few.view(), none.view())), 7, 40, 7, 40);
  for (const auto& [n, links_count] :
       {std::pair{7U, 40U}, std::pair{7U, 41U}, std::pair{8U, 40U}}) {
    auto nodes = upload<Nodes>(n, [](auto view) {
      for (std::size_t i = 0; i < view.size(); ++i) {
        view.charge[i] = noise(i);
        view.mass[i] = noise(i + 50);
      }
    });
    auto links = upload<Links>(links_count, [n = n](auto view) {
      for (std::size_t i = 0; i < view.size(); ++i) {
        view.source[i] = static_cast<std::int64_t>((i * 3) % n);
        view.target[i] = static_cast<std::int64_t>((i * 5 + 1) % n);
      }
    });
    const CopyReport report =
        model.forward(*queue_, model.plan(graph_metadata(nodes.view(), links.view())));
    EXPECT_EQ(report.has(CopyReason::kCudaGraph), n == 7 && links_count == 40);
    std::vector<double> total(n);
    const auto linked = download(links);
    for (std::size_t i = 0; i < links_count; ++i) {
      ASSERT_FLOAT_EQ(linked.const_view().product[i], noise((i * 3) % n) * noise((i * 5 + 1) % n));
      total[(i * 5 + 1) % n] += noise((i * 3) % n + 50);
    }
    const auto summed = download(nodes);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_NEAR(summed.const_view().total[i], total[i], 1e-5);
    }
  }
}

TEST_P(AotGraphs, QueuesHaveGraphsOfTheirOwn) {
  const AotModel model(package("mlp_graphs"), kGraphs);
  const Queue other(GetParam());
  warm_up(model, *queue_, 100);
  const auto in = points(100);
  auto out = answers(100);
  const auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
  EXPECT_EQ(model.forward(other, plan), kNothingCopied);
  other.wait();
  EXPECT_EQ(model.forward(*queue_, plan), staged(100));
  expect_mlp(out, 0, 100);
}

TEST_P(AotGraphs, ThreadsWarmUpAndReplayAtTheSameTime) {
  const AotModel model(package("mlp_graphs"), kGraphs);
  const AotModel plain(package("mlp_graphs"));
  constexpr std::size_t kThreads = 8;
  std::vector<PortableCollection<Points>> ins;
  std::vector<PortableCollection<Answers>> outs;
  for (std::size_t i = 0; i < kThreads; ++i) {
    ins.push_back(points(500 + 77 * i));
    outs.push_back(answers(500 + 77 * i));
  }
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        const Queue queue(GetParam());
        const AotModel& mine = i % 2 == 0 ? model : plain;
        const auto plan = mine.plan(mlp_metadata(ins[i].const_view(), outs[i].view()));
        for (int call = 0; call < 50; ++call) {
          if (call == static_cast<int>(i) * 3) {
            mine.warm_up(queue, plan, ins[i].size(), ins[i].size());
          }
          mine.forward(queue, plan);
        }
        queue.wait();
      });
    }
  }
  for (std::size_t i = 0; i < kThreads; ++i) expect_mlp(outs[i], 0, ins[i].size());
}

TEST_P(AotGraphs, PackagesThatDoNotSaySoAreRefusedWithTheWayOut) {
  const auto loading = [&](const std::string& name) {
    return [this, name] { AotModel(package(name), kGraphs).deploy(GetParam()); };
  };
  EXPECT_THAT(
      loading("mlp"),
      ThrowsMessage<LoadError>(
          AllOf(is_short(),
                HasSubstr("CUDA graphs are off for it: no capture of its program was tried on sm_"),
                HasSubstr("python -m tensoa.export --check"),
                HasSubstr("the device can be used as before"))));
  EXPECT_THAT(loading("mlp_no_graphs"),
              ThrowsMessage<LoadError>(AllOf(
                  is_short(), HasSubstr("a capture failed when it was checked (it cannot)"))));
  AotModel model(package("mlp_no_graphs"));
  const auto in = points(4);
  auto out = answers(4);
  model.forward(*queue_, model.plan(mlp_metadata(in.const_view(), out.view())));
  expect_mlp(out, 0, 4);
}

TEST_P(AotGraphs, ACaptureThatFailsIsAnErrorThatSaysWhatStillWorks) {
  const AotModel model(package("synchronises_graphs"), kGraphs);
  for (int repeat = 0; repeat < 2; ++repeat) {
    EXPECT_THAT(
        [&] { warm_up(model, *queue_, 10); },
        ThrowsMessage<EngineError>(AllOf(
            SizeIs(testing::Lt(700U)), Not(HasSubstr("\n")),
            HasSubstr("CUDA graphs are off for this model on cuda:0: capturing a call failed"),
            HasSubstr("the device can be used as before, and calls run without graphs"))));
  }
  const auto in = points(10);
  auto out = answers(10);
  const auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
  EXPECT_EQ(model.forward(*queue_, plan), kNothingCopied);
  float largest = 0;
  for (std::size_t i = 0; i < 30; ++i) largest = std::max(largest, std::abs(noise(i)));
  const auto host = download(out);
  for (std::size_t i = 0; i < 10; ++i) {
    const float expected = (noise(3 * i) * 2 + noise(3 * i + 2)) / (1 + std::floor(largest));
    ASSERT_NEAR(host.const_view().m[i], expected, 1e-5);
  }

  const AotModel other(package("mlp_graphs"), kGraphs);  // is captured after it, on the same queue
  warm_up(other, *queue_, 10);
  auto answer = answers(10);
  EXPECT_EQ(other.forward(*queue_, other.plan(mlp_metadata(in.const_view(), answer.view()))),
            staged(10));
  expect_mlp(answer, 0, 10);
}

TEST_P(AotGraphs, MemoryIsFlatOverTenThousandReplays) {
  const AotModel model(package("mlp_graphs"), kGraphs);
  warm_up(model, *queue_, 100);
  const auto in = points(100);
  auto out = answers(100);
  const auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
  for (int i = 0; i < 100; ++i) model.forward(*queue_, plan);
  queue_->wait();
  const std::size_t before = mallinfo2().uordblks;
  constexpr std::size_t kCalls = 10'000;
  for (std::size_t i = 0; i < kCalls; ++i) model.forward(*queue_, plan);
  queue_->wait();
  EXPECT_LT(mallinfo2().uordblks, before + 16 * kCalls);
  expect_mlp(out, 0, 100);
}

// ---- files that are not packages for this place

class AotPackage : public testing::Test {
 protected:
  void SetUp() override { pytorch::register_engines(); }

  static auto loading(const std::string& name) {
    return [name] { AotModel(packages() / (name + ".pt2")).deploy(Device::cpu()); };
  }
  static auto fails_with(const std::string& what) {
    return ThrowsMessage<LoadError>(AllOf(SizeIs(testing::Lt(400U)), Not(HasSubstr("\n")),
                                          HasSubstr(".pt2: "), HasSubstr(what)));
  }
};

TEST_F(AotPackage, FilesThatAreNoPackagesAreRefused) {
  EXPECT_THAT(loading("empty"), fails_with("is empty"));
  EXPECT_THAT(loading("truncated"), fails_with("is not a package of tensoa, or was cut off"));
  EXPECT_THAT(loading("foreign"), fails_with("is not a package of tensoa, or was cut off"));
  EXPECT_THAT(loading("no_archive"), fails_with("is not a package that this version can read"));
}

TEST_F(AotPackage, AnyChangedByteIsFound) {
  EXPECT_THAT(loading("tampered_first"), fails_with("its checksum is wrong"));
  EXPECT_THAT(loading("tampered_middle"), fails_with("its checksum is wrong"));
  EXPECT_THAT(loading("tampered_last"), fails_with("its checksum is wrong"));
}

TEST_F(AotPackage, PackagesForOtherPlacesAreRefused) {
  EXPECT_THAT(loading("other_torch"),
              fails_with("was made with torch 1.13.1+cpu, this program runs torch " +
                         pytorch::torch_version()));
  EXPECT_THAT(
      loading("other_schema"),
      fails_with(
          "its format is 99, this version of tensoa reads 2 and 3; a newer tensoa wrote it"));
  EXPECT_THAT(loading("other_machine"), fails_with("was made for vax, this machine is "));
  EXPECT_THAT(loading("other_processor"),
              fails_with("needs instructions that this processor does not have: quantum"));
  EXPECT_THAT(loading("other_target"),
              fails_with("was made for --target cuda, requested on cpu; make one package for both: "
                         "tensoa compile MODEL --target cpu,cuda --out FILE"));
}

TEST_F(AotPackage, PackagesThatAreNotWholeAreRefused) {
  EXPECT_THAT(loading("no_rows"), fails_with("is not a package that this version can read"));
  EXPECT_THAT(loading("no_program"), fails_with("holds no compiled program (.so)"));
}

TEST_F(AotPackage, IsLoadedByTheTypesThatSayAheadOfTimeOrAny) {
  EXPECT_THROW(Model<CompilationType::kJustInTime>(packages() / "mlp-cpu.pt2"), LoadError);
  EXPECT_THROW(AotModel(TENSOA_TEST_MODELS "mlp.pt"), LoadError);
}

TEST_F(AotPackage, ADTypeCannotBeAskedFor) {
  EXPECT_THAT(
      [] {
        AotModel(packages() / "mlp-cpu.pt2", pytorch::TorchScriptOptions{.dtype = DType::kF64});
      },
      fails_with("got options of TorchScript (pytorch::TorchScriptOptions), the engine that loads "
                 "it is package"));
}

TEST_F(AotPackage, SaysWhatItTakesAndGives) {
  const AotModel model(packages() / "mlp-cpu.pt2");
  const Signature& signature = model.deploy(Device::cpu());
  ASSERT_EQ(signature.inputs.size(), 1U);
  EXPECT_EQ(signature.inputs[0].name, "features");
  EXPECT_EQ(signature.inputs[0].type(), "float32[?, 3]");
  ASSERT_EQ(signature.outputs.size(), 1U);
  EXPECT_EQ(signature.outputs[0].type(), "float32[?, 2]");
  EXPECT_EQ(signature.outputs[0].block->columns.size(), 2U);
}

TEST_F(AotPackage, IsUnpackedInAPrivateFolderThatGoesWithTheModel) {
  const std::filesystem::path parent =
      std::filesystem::path(testing::TempDir()) / ("packages-" + std::to_string(getpid()));
  const Variable folder("TENSOA_PACKAGE_FOLDER", parent.string());
  const auto own = [&] { return std::filesystem::directory_iterator(parent)->path(); };
  const auto entries = [&] {
    return std::distance(std::filesystem::directory_iterator(own()), {});
  };
  {
    const AotModel model(packages() / "mlp-cpu.pt2");
    model.deploy(Device::cpu());
    ASSERT_EQ(entries(), 1);
    EXPECT_EQ(std::filesystem::status(own()).permissions(), std::filesystem::perms::owner_all);
  }
  EXPECT_EQ(entries(), 0);
  EXPECT_THAT(loading("no_program"), fails_with("holds no compiled program"));
  EXPECT_EQ(entries(), 0) << "left behind by a package that was refused";
  std::filesystem::remove(own());
  std::filesystem::remove(parent);
}

TEST_F(AotPackage, AFolderThatCannotBeWrittenIsNamed) {
  const Variable folder("TENSOA_PACKAGE_FOLDER", "/proc/none");
  EXPECT_THAT(loading("mlp-cpu"),
              ThrowsMessage<LoadError>(AllOf(HasSubstr("cannot be unpacked in /proc/none"),
                                             HasSubstr("set TENSOA_PACKAGE_FOLDER"))));
}

// ---- threads

TEST_P(AotEngine, StartsNoThread) {
  const std::size_t before = threads_of_this_process();
  AotModel model(package("mlp"));
  model.to(*queue_);
  const auto in = points(1000);
  auto out = answers(1000);
  if (GetParam().is_cpu()) {
    model.forward(mlp_metadata(in.const_view(), out.view()));
    EXPECT_EQ(threads_of_this_process(), before);
  }
}

TEST_P(AotEngine, CallsAtTheSameTimeShareTheWeightsAndNothingElse) {
  const AotModel model(package("mlp"));
  const auto in = points(20'000);  // for some milliseconds
  std::vector<PortableCollection<Answers>> outs;
  for (int i = 0; i < 4; ++i) outs.push_back(answers(in.size()));
  {
    std::vector<std::jthread> threads;
    for (auto& out : outs) {
      threads.emplace_back([&] {
        const Queue queue(GetParam());
        const auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
        for (int call = 0; call < 20; ++call) model.forward(queue, plan);
        queue.wait();
      });
    }
  }
  for (auto& out : outs) expect_mlp(out, 0, in.size());
}

TEST_P(AotEngine, MemoryIsFlatOverTenThousandCalls) {
  const AotModel model(package("mlp"));
  const auto in = points(100);
  auto out = answers(100);
  auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
  model.warm_up(*queue_, plan, 100, 100);
  const auto call = [&](std::size_t rows) {
    plan.rebind(slice(in.const_view(), 0, rows), slice(out.view(), 0, rows));
    model.forward(*queue_, plan);
  };
  constexpr std::size_t kCalls = 10'000;
  for (std::size_t i = 0; i < kCalls; ++i) call(1 + i % 100);
  queue_->wait();
  const std::size_t before = mallinfo2().uordblks;
  for (std::size_t i = 0; i < kCalls; ++i) call(1 + i % 100);
  queue_->wait();
  EXPECT_LT(mallinfo2().uordblks, before + 16 * kCalls) << "the least that malloc takes, each call";
  expect_mlp(out, 0, 100);
}

TEST_P(AotEngine, LoadsAndRunsOnSixteenThreadsAtTheSameTime) {
  const AotModel shared(package("mlp"));
  std::vector<PortableCollection<Points>> ins;
  std::vector<PortableCollection<Answers>> outs;
  for (std::size_t i = 0; i < 16; ++i) {
    ins.push_back(points(10 + 17 * i));
    outs.push_back(answers(10 + 17 * i));
  }
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 16; ++i) {
      threads.emplace_back([&, i] {
        const Queue queue(GetParam());
        const AotModel own(package("mlp"));  // a separate load for every other thread
        const AotModel& model = i % 2 == 0 ? shared : own;
        const auto plan = model.plan(mlp_metadata(ins[i].const_view(), outs[i].view()));
        for (int call = 0; call < 5; ++call) model.forward(queue, plan);
        queue.wait();
      });
    }
  }
  for (std::size_t i = 0; i < 16; ++i) expect_mlp(outs[i], 0, 10 + 17 * i);
}

}  // namespace
}  // namespace tensoa
