// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "pytorch/copy_truth.hpp"
#include "support/function_loader.hpp"
#include "support/process_threads.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/engine/engine.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/options.hpp"
#include "tensoa/pytorch/engines.hpp"
#include "tensoa/pytorch/options.hpp"
#include "tensoa/soa/foreign_view.hpp"
#include "tensoa/soa/group.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "tensoa/soa/slice.hpp"

#if __has_include(<Eigen/Core>)  // last: nothing above needs it first
#include <Eigen/Core>
#define TENSOA_TEST_EIGEN 1
#endif

// One test for each row of docs/pitfalls.md, with its name; scripts/check_docs.py compares the two.

namespace tensoa {

void PrintTo(const Device& device, std::ostream* out) { *out << to_string(device); }
void PrintTo(const CopyReport& report, std::ostream* out) {
  *out << report.bytes_in << " bytes in, " << report.bytes_out << " out";
}

namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using JitModel = Model<CompilationType::kJustInTime>;

constexpr std::size_t kRows = 100;
constexpr std::size_t kColumn = kRows * sizeof(float);  // bytes

template <template <class> class F>
struct Hits {
  F<float> x, y, z, e;
  F<double> time;
  F<std::int32_t> layer;
  F<Vector<float, 3>> direction;
  F<Matrix<float, 2, 3>> covariance;
  F<Scalar<float>> field;
};

template <template <class> class F>
struct Answers {
  F<float> m, n, o;
  F<Vector<float, 3>> v, w;
  F<Matrix<float, 2, 3>> matrix;
};

template <template <class> class F>
struct Links {
  F<std::int64_t> source, target;
  F<float> score;
};

template <template <class> class F>
struct Tracks {
  F<std::int32_t> first_hit;
};

std::string model_file(const std::string& name) { return TENSOA_TEST_MODELS + name + ".pt"; }

/// function(0), function(1), …: what a column of `rows` rows should be.
template <class Function>
std::vector<float> each_row(std::size_t rows, Function function) {
  std::vector<float> values;
  for (std::size_t i = 0; i < rows; ++i) values.push_back(function(static_cast<float>(i)));
  return values;
}

std::vector<std::int64_t> list(std::span<const std::int64_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

/// The modes that torch's operators ran under, in this thread, while `call` ran.
struct Surroundings {
  std::set<std::string> operators;
  bool always_without_gradients = true;
  std::set<std::pair<int, void*>> streams;  ///< CUDA: the current device and its current stream
};
thread_local Surroundings* t_surroundings = nullptr;

std::unique_ptr<at::ObserverContext> look_around(const at::RecordFunction& function) {
  t_surroundings->operators.insert(function.name());
  t_surroundings->always_without_gradients &= c10::InferenceMode::is_enabled();
  if (device_count(DeviceKind::kCuda) > 0) {
    const c10::impl::VirtualGuardImpl cuda(c10::DeviceType::CUDA);
    const c10::Device device = cuda.getDevice();
    t_surroundings->streams.emplace(device.index(), cuda.getStream(device).native_handle());
  }
  return nullptr;
}

Surroundings surroundings_of(const std::function<void()>& call) {
  Surroundings seen;
  struct Looking {
    explicit Looking(Surroundings& into) { t_surroundings = &into; }
    ~Looking() { at::removeCallback(handle); }
    at::CallbackHandle handle = at::addThreadLocalCallback(
        at::RecordFunctionCallback(&look_around).scopes({at::RecordScope::FUNCTION}));
  } const looking(seen);
  call();
  return seen;
}

/// `bytes` of host memory, the last of them right before a page without access: code that reads or
/// writes on is stopped.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes)
      : bytes_(bytes), mapped_((bytes + kPage - 1) / kPage * kPage + kPage) {
    start_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(start_, MAP_FAILED);
    EXPECT_EQ(mprotect(static_cast<std::byte*>(start_) + mapped_ - kPage, kPage, PROT_NONE), 0);
  }
  ~GuardedMemory() { munmap(start_, mapped_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  float* floats() const {
    return reinterpret_cast<float*>(static_cast<std::byte*>(start_) + mapped_ - kPage - bytes_);
  }

 private:
  static constexpr std::size_t kPage = 1U << 16U;  // of any machine
  std::size_t bytes_;
  std::size_t mapped_;
  void* start_;
};

class Pitfall : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (device_count(GetParam().kind) == 0) GTEST_SKIP() << "no CUDA device";
    pytorch::register_engines();
    queue_.emplace(GetParam());
  }

  template <template <template <class> class> class Layout, class Fill>
  PortableCollection<Layout> upload(std::size_t rows, Fill fill, Device device) {
    PortableCollection<Layout> host(rows + 5, Device::cpu());
    std::fill_n(reinterpret_cast<float*>(host.data()), host.bytes() / sizeof(float), kUntouched);
    host.resize(rows);
    fill(host.view());
    PortableCollection<Layout> there(rows + 5, device);
    const Queue queue(device);
    copy(queue, host, there);
    queue.wait();
    return there;
  }

  /// x, y, z, e and time are i, i + 1000, …; vectors and matrices count their planes.
  PortableCollection<Hits> hits(std::size_t rows, Device device) {
    const auto fill = [](const View<Hits>& view) {
      *view.field = 3.5F;
      for (std::size_t i = 0; i < view.size(); ++i) {
        const auto value = static_cast<float>(i);
        view.x[i] = value;
        view.y[i] = value + 1000.F;
        view.z[i] = value + 2000.F;
        view.e[i] = value + 3000.F;
        view.time[i] = value + 4000.;
        view.layer[i] = static_cast<std::int32_t>(i % 10);
        for (std::size_t k = 0; k < 3; ++k) {
          view.direction[i][k] = value + static_cast<float>(k);
          for (std::size_t r = 0; r < 2; ++r) {
            view.covariance[i](r, k) = value + static_cast<float>(10 * r + k);
          }
        }
      }
    };
    return upload<Hits>(rows, fill, device);
  }
  PortableCollection<Hits> hits(std::size_t rows = kRows) { return hits(rows, GetParam()); }

  /// Answers that are not written yet.
  static constexpr float kUntouched = -77.F;
  PortableCollection<Answers> answers(std::size_t rows, Device device) {
    return upload<Answers>(
        rows, [](const View<Answers>&) {}, device);
  }
  PortableCollection<Answers> answers(std::size_t rows = kRows) {
    return answers(rows, GetParam());
  }

  template <template <template <class> class> class Layout>
  PortableCollection<Layout> download(const PortableCollection<Layout>& there) {
    PortableCollection<Layout> host(there.capacity(), Device::cpu());
    const Queue queue(there.device());
    copy(queue, there, host);
    queue.wait();
    return host;
  }

  /// A plain column, on the host.
  template <template <template <class> class> class Layout, class T>
  std::vector<std::remove_const_t<T>> values(const PortableCollection<Layout>& there,
                                             PlainColumn<T> Layout<ConstColumn>::*column) {
    const auto host = download(there);
    const T* data = (host.const_view().*column).data();
    return std::vector<std::remove_const_t<T>>(data, data + host.size());
  }

  void expect_untouched(const PortableCollection<Answers>& out) {
    for (const auto column : {kM, kN, kO}) EXPECT_THAT(values(out, column), Each(kUntouched));
  }

  /// A block over the columns of one layout.
  template <template <template <class> class> class Layout, class... Columns>
  static SoAMetadata<Layout> block(std::size_t rows, const Columns&... columns) {
    SoAMetadata<Layout> metadata(rows);
    metadata.append_block("block", columns...);
    return metadata;
  }
  template <template <template <class> class> class Layout, class... Columns>
  static SoAMetadata<Layout> repacked(std::size_t rows, Repack repack, const Columns&... columns) {
    SoAMetadata<Layout> metadata(rows);
    metadata.append_block(repack, "block", columns...);
    return metadata;
  }

  template <template <template <class> class> class... Layouts>
  CopyReport run(const std::string& name, const ModelMetadata<Layouts...>& metadata,
                 ModelOptions options = {}) {
    JitModel model(model_file(name), options);
    model.to(*queue_);
    const CopyReport report = model.forward(metadata);
    queue_->wait();
    return report;
  }

  static constexpr auto kM = &Answers<ConstColumn>::m;
  static constexpr auto kN = &Answers<ConstColumn>::n;
  static constexpr auto kO = &Answers<ConstColumn>::o;

  std::optional<Queue> queue_;
};

INSTANTIATE_TEST_SUITE_P(On, Pitfall, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& device) {
                           return std::string(device.param.is_cpu() ? "Cpu" : "Cuda");
                         });

TEST_P(Pitfall, L01_AConstInputIsCopiedOnlyIfTheModelWritesIt) {
  const auto in = hits();
  auto out = answers();
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  const ModelMetadata metadata(block<Hits>(kRows, from.x(), from.y(), from.z()),
                               block<Answers>(kRows, to.m(), to.n(), to.o()));
  const MemoryRange memory{in.data(), in.bytes()};
  const auto seen_of = [&](const std::string& model, std::size_t bytes_in) {
    CopyReport report;
    const Seen seen = watch({&memory, 1}, kRows, [&] { report = run(model, metadata); });
    EXPECT_EQ(report, (CopyReport{bytes_in, 3 * kColumn}));
    EXPECT_EQ(seen.from_columns, bytes_in) << seen.story;
    EXPECT_EQ(values(in, &Hits<ConstColumn>::x), each_row(kRows, [](float i) { return i; }));
    return seen;
  };
  EXPECT_TRUE(seen_of("affine", 0).in_place.contains(in.const_view().x.data()));
  seen_of("writes_input", 3 * kColumn);
}

TEST_P(Pitfall, L02_ColumnsOfOneTensorNeedNotBeNeighbours) {
  const auto in = hits();
  auto out = answers();
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  EXPECT_EQ(run("affine", ModelMetadata(block<Hits>(kRows, from.x(), from.z()),
                                        block<Answers>(kRows, to.m(), to.o()))),
            (CopyReport{0, 2 * kColumn}));
  EXPECT_EQ(values(out, kO), each_row(kRows, [](float i) { return 2 * (i + 2000) + 1; }));
  EXPECT_THAT(values(out, kN), Each(kUntouched));

  const auto to_all = block<Answers>(kRows, to.m(), to.n(), to.o());
  EXPECT_THAT([&] { block<Hits>(kRows, from.x(), from.y(), from.e()); },
              ThrowsMessage<BindingError>(
                  AllOf(HasSubstr("(columns x, y, e): the columns lie 512, 1024 bytes apart"),
                        HasSubstr("request a copy (Repack)"))));
  EXPECT_EQ(
      run("affine", ModelMetadata(repacked<Hits>(kRows, {}, from.x(), from.y(), from.e()), to_all)),
      (CopyReport{3 * kColumn, 3 * kColumn}));
  EXPECT_EQ(values(out, kO), each_row(kRows, [](float i) { return 2 * (i + 3000) + 1; }));
}

TEST_P(Pitfall, L03_ColumnsOfSeveralDtypesAreGatheredAndConvertedInOneCopy) {
  const auto in = hits();
  auto out = answers();
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  const Repack to_float{DType::kF32};
  const ModelMetadata metadata(repacked<Hits>(kRows, to_float, from.x(), from.time(), from.layer()),
                               block<Answers>(kRows, to.m(), to.n(), to.o()));
  EXPECT_EQ(run("affine", metadata), (CopyReport{3 * kColumn, 3 * kColumn}));
  EXPECT_EQ(values(out, kM), each_row(kRows, [](float i) { return 2 * i + 1; }));
  EXPECT_EQ(values(out, kN), each_row(kRows, [](float i) { return 2 * (i + 4000) + 1; }));
  EXPECT_EQ(values(out, kO), each_row(kRows, [](float i) {
              return 2 * static_cast<float>(static_cast<int>(i) % 10) + 1;
            }));
}

TEST_P(Pitfall, L04_EachOutputIsCopiedOnceStraightIntoItsColumns) {
  const auto in = hits();
  auto out = answers();
  auto second = answers();
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  const std::vector<MemoryRange> memory{{out.data(), out.bytes()}, {second.data(), second.bytes()}};
  const auto expect_one_copy = [&](const std::string& model, const SoAMetadata<Answers>& outputs,
                                   std::size_t bytes) {
    const ModelMetadata metadata(block<Hits>(kRows, from.x(), from.y()), outputs);
    CopyReport report;
    const Seen seen = watch(memory, kRows, [&] { report = run(model, metadata); });
    EXPECT_EQ(report, (CopyReport{0, bytes}));
    EXPECT_EQ(seen.to_columns, bytes) << seen.story;
  };
  expect_one_copy("affine", block<Answers>(kRows, to.m(), to.o()), 2 * kColumn);
  EXPECT_EQ(values(out, kO), each_row(kRows, [](float i) { return 2 * (i + 1000) + 1; }));
  SoAMetadata<Answers> two(kRows);
  two.append_block("plus_one", to.m(), to.o());
  two.append_block("twice", second.view().records().n(), second.view().records().o());
  expect_one_copy("pair", two, 4 * kColumn);
  EXPECT_EQ(values(out, kO), each_row(kRows, [](float i) { return i + 1001; }));
  EXPECT_EQ(values(second, kO), each_row(kRows, [](float i) { return 2 * (i + 1000); }));
}

TEST_P(Pitfall, L05_TuplesListsDictsAndNamedTuplesAreTakenAndCounted) {
  const auto in = hits();
  SoAMetadata<Hits> inputs(kRows);
  inputs.append_block("x", in.const_view().records().x());
  for (const std::string model : {"pair", "list_of_two", "dict_of_two", "named_pair"}) {
    SCOPED_TRACE(model);
    auto out = answers();
    const auto to = out.view().records();
    SoAMetadata<Answers> outputs(kRows);  // the dict and the named tuple have the other order
    outputs.append_block("plus_one", to.m());
    outputs.append_block("twice", to.n());
    EXPECT_EQ(run(model, ModelMetadata(inputs, outputs)), (CopyReport{0, 2 * kColumn}));
    EXPECT_EQ(values(out, kM), each_row(kRows, [](float i) { return i + 1; }));
    EXPECT_EQ(values(out, kN), each_row(kRows, [](float i) { return 2 * i; }));
  }
  auto out = answers();
  EXPECT_THAT(
      [&] { run("pair", ModelMetadata(inputs, block<Answers>(kRows, out.view().records().m()))); },
      ThrowsMessage<BindingError>(HasSubstr("pair.pt: gives 2 outputs, got 1 output blocks")));
  expect_untouched(out);
}

TEST_P(Pitfall, L06_AResultOfAnotherShapeIsNotBroadcastIntoTheColumns) {
  const auto in = hits();
  auto out = answers();
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  const ModelMetadata metadata(block<Hits>(kRows, from.x(), from.y(), from.z()),
                               block<Answers>(kRows, to.m(), to.n(), to.o()));
  const auto refused = [&](const std::string& model, const std::string& shape) {
    EXPECT_THAT([&] { run(model, metadata); },
                ThrowsMessage<BindingError>(
                    AllOf(HasSubstr("gives float32" + shape),
                          HasSubstr("for output block \"block\" (columns m, n, o), which is "
                                    "float32[100, 3]"))));
  };
  refused("mean", "[1, 3]");
  refused("row_sum_kept", "[100, 1]");
  expect_untouched(out);
}

TEST_P(Pitfall, L07_AConversionIsOfOneBlockAndLeavesIndicesAlone) {
  const auto in = hits();
  auto links = upload<Links>(
      kRows,
      [](const View<Links>& view) {
        for (std::size_t i = 0; i < kRows; ++i) {
          view.source[i] = static_cast<std::int64_t>(i);
          view.target[i] = static_cast<std::int64_t>(kRows - 1 - i);
        }
      },
      GetParam());
  const auto link = links.view().records();
  SoAMetadata<Hits, Links> inputs(kRows, kRows);
  inputs.append_block(Repack{DType::kF32}, "x", in.const_view().records().layer());
  inputs.append_block(BlockShape::kColumns, "edge_index", link.source(), link.target());
  EXPECT_EQ(run("graph", ModelMetadata(inputs, block<Links>(kRows, link.score()))),
            (CopyReport{kColumn, kColumn}))
      << "nothing of edge_index";
  EXPECT_EQ(
      values(links, &Links<ConstColumn>::score), each_row(kRows, [](float i) {
        return static_cast<float>((static_cast<int>(i) % 10) * ((99 - static_cast<int>(i)) % 10));
      }));
}

template <template <class> class F>
struct InDouble {
  F<double> x, y, z, m, n;
};

TEST_P(Pitfall, L08_TheModelHasOneDtypeInEveryCallAndRefusesAnother) {
  auto columns = upload<InDouble>(
      kRows, [](const View<InDouble>& view) { std::fill_n(view.x.data(), kRows, 1.); }, GetParam());
  const auto in = columns.const_view().records();
  const auto out = columns.view().records();
  const JitModel model(model_file("mlp"), pytorch::TorchScriptOptions{.dtype = DType::kF64});
  const Plan in_double = model.plan(ModelMetadata(block<InDouble>(kRows, in.x(), in.y(), in.z()),
                                                  block<InDouble>(kRows, out.m(), out.n())));
  model.deploy(GetParam());
  for (int call = 0; call < 3; ++call) {  // none of them moves the model
    EXPECT_EQ(model.forward(*queue_, in_double), (CopyReport{0, 2 * kRows * sizeof(double)}));
  }
  const auto floats = hits();
  auto answers_in_float = answers();
  const auto from = floats.const_view().records();
  const auto to = answers_in_float.view().records();
  const Plan in_float = model.plan(ModelMetadata(block<Hits>(kRows, from.x(), from.y(), from.z()),
                                                 block<Answers>(kRows, to.m(), to.n())));
  EXPECT_THAT([&] { model.forward(*queue_, in_float); },
              ThrowsMessage<EngineError>(HasSubstr("block \"block\" (columns x, y, z) float32")));
  expect_untouched(answers_in_float);
}

TEST_P(Pitfall, L09_ModelsAreFrozenAndRunWithoutGradientsOnEveryDevice) {
  const auto in = hits();
  auto out = answers();
  const ModelMetadata metadata(block<Hits>(kRows, in.const_view().records().covariance()),
                               block<Answers>(kRows, out.view().records().matrix()));
  JitModel model(model_file("conv_norm"));
  model.to(*queue_);
  const Surroundings seen = surroundings_of([&] { model.forward(metadata); });
  EXPECT_TRUE(seen.always_without_gradients);
  EXPECT_TRUE(seen.operators.contains("aten::convolution"));
  EXPECT_FALSE(seen.operators.contains("aten::batch_norm")) << "freezing puts it into the weights";
  const auto host = download(out);
  EXPECT_NEAR(host.const_view().matrix[7](1, 2), 9.F, 1e-3) << "(7 + 12 - 1) / 2";
}

TEST_P(Pitfall, L10_OneModelRunsOnSeveralDevices) {
  if (GetParam().is_cpu()) GTEST_SKIP() << "a model on the CPU alone";
  const JitModel model(model_file("conv_norm"));
  for (const Device device : {Device::cpu(), GetParam(), Device::cpu()}) {
    const auto in = hits(kRows, device);
    auto out = answers(kRows, device);
    const Queue queue(device);
    model.forward(
        queue, model.plan(ModelMetadata(block<Hits>(kRows, in.const_view().records().covariance()),
                                        block<Answers>(kRows, out.view().records().matrix()))));
    queue.wait();
    EXPECT_NEAR(download(out).const_view().matrix[7](1, 2), 9.F, 1e-3) << to_string(device);
  }
}

/// TorchScript, which counts the files that it loads.
std::atomic<int> loads = 0;

TEST_P(Pitfall, L11_ThreadsShareOneModelThatIsLoadedOnce) {
  const auto torch_script = find_loader(model_file("affine"));
  test::register_function(
      "TorchScript", ".pt",
      [torch_script](const ModelLocation& location, Device device, const ModelOptions& options) {
        ++loads;
        return torch_script->load(location, device, options);
      });
  loads = 0;
  const JitModel model(model_file("affine"));
  std::vector<PortableCollection<Answers>> out;
  for (int i = 0; i < 8; ++i) out.push_back(answers());
  const auto in = hits();
  std::vector<std::thread> threads;
  for (PortableCollection<Answers>& mine : out) {
    threads.emplace_back([&] {
      const Queue queue(GetParam());
      const Plan plan = model.plan(ModelMetadata(block<Hits>(kRows, in.const_view().records().x()),
                                                 block<Answers>(kRows, mine.view().records().m())));
      for (int call = 0; call < 20; ++call) model.forward(queue, plan);
      queue.wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  register_loader(torch_script);
  EXPECT_EQ(loads, 1);
  for (const PortableCollection<Answers>& mine : out) {
    EXPECT_EQ(values(mine, kM), each_row(kRows, [](float i) { return 2 * i + 1; }));
  }
}

TEST_P(Pitfall, L15_ANewThreadWithANewQueueNeedsNoHook) {
  const auto in = hits();
  auto out = answers();
  std::thread([&] {
    at::set_num_threads(2);
    const Queue queue(GetParam());
    const JitModel model(model_file("affine"));
    model.forward(queue,
                  model.plan(ModelMetadata(block<Hits>(kRows, in.const_view().records().x()),
                                           block<Answers>(kRows, out.view().records().m()))));
    queue.wait();
    EXPECT_EQ(at::get_num_threads(), 1);
    EXPECT_FALSE(torch::jit::getProfilingMode());
  }).join();
  EXPECT_EQ(values(out, kM), each_row(kRows, [](float i) { return 2 * i + 1; }));
}

/// In a thread whose current device is `current` and whose current stream of `device` is some other:
/// what `call` runs on a queue of `device` runs there, and afterwards all is as before.
void expect_guarded(Device device, Device current, const std::function<void(const Queue&)>& call) {
  const auto of_torch = [](Device one) {
    return c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(one.index));
  };
  std::thread([&] {
    const c10::impl::VirtualGuardImpl cuda(c10::DeviceType::CUDA);
    const c10::Stream before = cuda.getStreamFromGlobalPool(of_torch(device));
    cuda.exchangeStream(before);
    cuda.setDevice(of_torch(current));
    const Queue queue(device);
    const Surroundings seen = surroundings_of([&] { call(queue); });
    queue.wait();
    EXPECT_THAT(seen.streams, ElementsAre(std::pair(device.index, queue.native_handle())));
    EXPECT_EQ(cuda.getDevice(), of_torch(current));
    EXPECT_EQ(cuda.getStream(of_torch(device)), before);
  }).join();
}

TEST_P(Pitfall, L16_DeviceAndStreamAreSetTogetherAndPutBack) {
  if (GetParam().is_cpu()) GTEST_SKIP() << "the CPU has no streams";
  const auto in = hits();
  auto out = answers();
  const JitModel model(model_file("affine"));
  const Plan plan = model.plan(ModelMetadata(block<Hits>(kRows, in.const_view().records().x()),
                                             block<Answers>(kRows, out.view().records().m())));
  model.deploy(GetParam());
  const auto call = [&](const Queue& queue) { model.forward(queue, plan); };
  expect_guarded(GetParam(), GetParam(), call);
  if (device_count(DeviceKind::kCuda) > 1) expect_guarded(GetParam(), Device::cuda(1), call);
}

TEST_P(Pitfall, L16_AlsoOnTheSecondOfTwoDevices) {
  if (GetParam().is_cpu()) GTEST_SKIP() << "the CPU has no streams";
  if (device_count(DeviceKind::kCuda) < 2) GTEST_SKIP() << "one CUDA device";
  const Device second = Device::cuda(1);
  const auto in = hits(kRows, second);
  auto out = answers(kRows, second);
  const JitModel model(model_file("affine"));
  const Plan plan = model.plan(ModelMetadata(block<Hits>(kRows, in.const_view().records().x()),
                                             block<Answers>(kRows, out.view().records().m())));
  model.deploy(second);
  expect_guarded(second, Device::cuda(0), [&](const Queue& queue) { model.forward(queue, plan); });
  EXPECT_EQ(values(out, kM), each_row(kRows, [](float i) { return 2 * i + 1; }));
}

TEST_P(Pitfall, L17_TorchStartsNoThreads) {
  constexpr std::size_t kMany = 200'000;  // torch would share them among its threads
  const auto in = hits(kMany);
  auto out = answers(kMany);
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  const ModelMetadata metadata(block<Hits>(kMany, from.x(), from.y(), from.z()),
                               block<Answers>(kMany, to.m(), to.n()));
  const std::size_t before = test::threads_of_this_process();
  run("mlp", metadata);
  EXPECT_EQ(test::threads_of_this_process(), before);
}

TEST_P(Pitfall, L18_BatchesAreOfAnySizeAndStartAnywhere) {
  const auto in = hits();
  const auto expected = each_row(kRows, [](float i) { return 2 * i + 1; });
  const JitModel model(model_file("affine"));
  for (const std::size_t batch : {1U, 3U, 7U, 31U, 64U, 100U, 1000U}) {
    auto out = answers();
    const Plan plan = model.plan(ModelMetadata(block<Hits>(kRows, in.const_view().records().x()),
                                               block<Answers>(kRows, out.view().records().m())));
    EXPECT_EQ(model.forward_batches(*queue_, plan, batch), (CopyReport{0, kColumn}));
    queue_->wait();
    EXPECT_EQ(values(out, kM), expected) << batch;
  }
  for (const std::size_t first : {1U, 3U, 5U, 31U}) {
    auto out = answers();
    const auto from = slice(in.const_view(), first, 33).records();
    const auto to = slice(out.view(), first, 33).records();
    run("affine",
        ModelMetadata(block<Hits>(33, from.x(), from.y()), block<Answers>(33, to.m(), to.n())));
    auto only_these = std::vector<float>(kRows, kUntouched);
    std::copy_n(expected.begin() + static_cast<std::ptrdiff_t>(first), 33,
                only_these.begin() + static_cast<std::ptrdiff_t>(first));
    EXPECT_EQ(values(out, kM), only_these) << first;
  }
}

template <template <class> class F>
struct Pair {
  F<float> x, y;
};

TEST(Pitfall, L19_ABatchThatIsCopiedEndsWhereItsColumnEnds) {
  pytorch::register_engines();
  constexpr std::size_t kOdd = 101;
  const GuardedMemory in(2 * kOdd * sizeof(float));
  const GuardedMemory out(2 * kOdd * sizeof(float));
  std::iota(in.floats(), in.floats() + 2 * kOdd, 0.F);
  const auto from =
      foreign_const_view<Pair>(kOdd, Device::cpu(), in.floats(), in.floats() + kOdd).records();
  const auto to =
      foreign_view<Pair>(kOdd, Device::cpu(), out.floats(), out.floats() + kOdd).records();
  SoAMetadata<Pair> inputs(kOdd);
  SoAMetadata<Pair> outputs(kOdd);
  inputs.append_block("x", from.x(), from.y());
  outputs.append_block("out", to.x(), to.y());
  const JitModel model(model_file("writes_input"));
  EXPECT_EQ(
      model.forward_batches(Queue(Device::cpu()), model.plan(ModelMetadata(inputs, outputs)), 7),
      (CopyReport{2 * kOdd * sizeof(float), 2 * kOdd * sizeof(float)}));
  EXPECT_EQ(out.floats()[2 * kOdd - 1], 2.F * (2 * kOdd - 1) + 1);
}

template <template <class> class F>
struct WithScalar {
  F<float> x;
  F<Scalar<float>> field;
};

TEST(Pitfall, L20_AScalarIsOneElementAlsoWhenItIsCopied) {
  pytorch::register_engines();
  const GuardedMemory one(sizeof(float));
  *one.floats() = 3.5F;
  std::vector<float> memory(kRows);
  const auto view = foreign_view<WithScalar>(kRows, Device::cpu(), memory, one.floats());
  SoAMetadata<WithScalar> inputs(kRows);
  SoAMetadata<WithScalar> outputs(kRows);
  inputs.append_block("field", view.records().field());
  outputs.append_block("x", view.records().x());
  const JitModel model(model_file("writes_input"));
  EXPECT_EQ(model.forward(Queue(Device::cpu()), model.plan(ModelMetadata(inputs, outputs))),
            (CopyReport{kColumn, kColumn}));
  EXPECT_THAT(memory, Each(8.F));
  EXPECT_EQ(*one.floats(), 3.5F);

  const PortableCollection<WithScalar> small(10, Device::cpu());
  PortableCollection<WithScalar> large(1000, Device::cpu());
  EXPECT_EQ(copy(Queue(Device::cpu()), small, large), 10 * sizeof(float) + sizeof(float));
}

TEST_P(Pitfall, L21_BatchesCopyNoRowTwiceAndMayRunOnSeveralQueues) {
  const auto in = hits();
  auto out = answers();
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  SoAMetadata<Hits> with_scalar(kRows);
  with_scalar.append_block("matrix", from.covariance());
  with_scalar.append_block("vector", from.direction());
  with_scalar.append_block("offset", from.field());
  const JitModel reads(model_file("moments"));
  const Plan moments =
      reads.plan(ModelMetadata(with_scalar, block<Answers>(kRows, to.m(), to.n())));
  EXPECT_EQ(reads.forward_batches(*queue_, moments, 7).bytes_in, 0U);

  const JitModel model(model_file("writes_input"));
  Plan plan =
      model.plan(ModelMetadata(block<Hits>(kRows, from.x()), block<Answers>(kRows, to.m())));
  EXPECT_EQ(model.forward_batches(*queue_, plan, 7), (CopyReport{kColumn, kColumn}));
  queue_->wait();

  const Queue another(GetParam());
  out = answers();
  plan.rebind(slice(in.const_view(), 0, 51), slice(out.view(), 0, 51));
  Plan rest = plan;
  rest.rebind(slice(in.const_view(), 51, 49), slice(out.view(), 51, 49));
  model.forward(*queue_, plan);
  model.forward(another, rest);
  queue_->wait();
  another.wait();
  EXPECT_EQ(values(out, kM), each_row(kRows, [](float i) { return 2 * i + 1; }));
}

TEST_P(Pitfall, L22_ACallKeepsNothingForTheNext) {
  const auto large = hits();
  const auto small = hits(5);
  auto out_of_large = answers();
  auto out_of_small = answers(5);
  const JitModel model(model_file("affine"));
  Plan plan = model.plan(ModelMetadata(block<Hits>(kRows, large.const_view().records().x()),
                                       block<Answers>(kRows, out_of_large.view().records().m())));
  const CopyReport first = model.forward_batches(*queue_, plan, 7);
  EXPECT_EQ(model.forward_batches(*queue_, plan, 7), first);
  const auto untouched = answers();
  copy(*queue_, untouched, out_of_large);
  plan.rebind(small.const_view(), out_of_small.view());
  EXPECT_EQ(model.forward_batches(*queue_, plan, 7), (CopyReport{0, 5 * sizeof(float)}));
  queue_->wait();
  EXPECT_EQ(values(out_of_small, kM), each_row(5, [](float i) { return 2 * i + 1; }));
  expect_untouched(out_of_large);
}

template <template <class> class F>
struct Direction {
  F<Vector<float, 3>> direction;
};

#ifdef TENSOA_TEST_EIGEN
TEST(Pitfall, L26_TheStorageOrderOfAMatrixIsTakenFromItsType) {
  Eigen::MatrixXf right(20, 3);
  Eigen::Matrix<float, Eigen::Dynamic, 3, Eigen::RowMajor> wrong(20, 3);
  for (Eigen::Index k = 0; k < 3; ++k) right.col(k).setConstant(static_cast<float>(k));
  wrong = right;
  const auto view = foreign_view<Direction>(20, Device::cpu(), right);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(view.direction[19][k], static_cast<float>(k));
  EXPECT_THAT(
      [&] { (void)foreign_view<Direction>(20, Device::cpu(), wrong); },
      ThrowsMessage<BindingError>(AllOf(HasSubstr("column direction"), HasSubstr("row-major"))));
}
#else
TEST(Pitfall, L26_TheStorageOrderOfAMatrixIsTakenFromItsType) {
  GTEST_SKIP() << "Eigen was not found (libeigen3-dev)";
}
#endif

template <template <class> class F>
struct Foreign {
  F<float> x, y;
  F<Vector<float, 3>> v;
};

TEST_P(Pitfall, L27_StridesComeFromTheColumnsWhereverTheyLie) {
  // 33 rows; x and y 45 elements apart, the planes of v 37: no padding makes these of 33.
  std::vector<float> memory(300);
  std::iota(memory.begin(), memory.end(), 0.F);
  const Buffer buffer(GetParam(), memory.size() * sizeof(float));
  copy_bytes(*queue_, buffer.data(), GetParam(), memory.data(), Device::cpu(), buffer.size());
  auto* const at = reinterpret_cast<float*>(buffer.data());
  const auto from =
      foreign_const_view<Foreign>(33, GetParam(), at + 5, at + 50, Planes{at + 101, 37}).records();
  auto out = answers(33);
  const auto to = out.view().records();
  SoAMetadata<Foreign> inputs(33);
  inputs.append_block("x", from.x(), from.y());
  EXPECT_THAT(list(inputs.blocks()[0].tensor.strides()), ElementsAre(1, 45));
  run("affine", ModelMetadata(inputs, block<Answers>(33, to.m(), to.n())));
  EXPECT_EQ(values(out, kN), each_row(33, [](float i) { return 2 * (50 + i) + 1; }));
  run("affine", ModelMetadata(block<Foreign>(33, from.v()), block<Answers>(33, to.v())));
  EXPECT_EQ(download(out).const_view().v[32][2], 2.F * (101 + 2 * 37 + 32) + 1);

  // A collection with room for more rows than it has.
  PortableCollection<Hits> roomy = hits(300);
  roomy.resize(33);
  const auto few = roomy.const_view().records();
  run("affine",
      ModelMetadata(block<Hits>(33, few.x(), few.y()), block<Answers>(33, to.m(), to.n())));
  EXPECT_EQ(values(out, kN), each_row(33, [](float i) { return 2 * (i + 1000) + 1; }));
}

TEST_P(Pitfall, L28_WrongUseIsATypedErrorWithNamesAndNumbersInEveryBuild) {
  auto in = hits();
  auto out = answers();
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  EXPECT_THAT([&] { block<Hits>(106, from.x(), from.y()); },
              ThrowsMessage<BindingError>(
                  HasSubstr("block \"block\" (columns x, y): 106 rows are requested, the "
                            "collection has room for 105")));
  EXPECT_THAT([&] { block<Hits>(kRows, from.x(), from.layer()); },
              ThrowsMessage<BindingError>(HasSubstr("x is plain float32, layer is plain int32")));
  EXPECT_THAT(
      [&] { block<Hits>(kRows, from.x(), from.field()); },
      ThrowsMessage<BindingError>(HasSubstr("x is plain float32, field is scalar float32")));
  EXPECT_THAT([&] { slice(in.view(), 70, 31); },
              ThrowsMessage<BindingError>(HasSubstr("31 rows from row 70")));
  EXPECT_THAT([&] { in.resize(106); },
              ThrowsMessage<ConfigError>(HasSubstr("106 rows do not fit the capacity of 105")));
  const ModelMetadata metadata(block<Hits>(kRows, from.x()), block<Answers>(kRows, to.m()));
  EXPECT_THAT([&] { JitModel(model_file("affine")).forward(metadata); },
              ThrowsMessage<ConfigError>(HasSubstr("this handle has no queue")));
  EXPECT_THAT(
      [&] { run("graph", metadata); },
      ThrowsMessage<BindingError>(HasSubstr("takes 2 inputs (x, edge_index), got 1 blocks")));
  EXPECT_THAT([&] { JitModel(model_file("no_such_model")); },
              ThrowsMessage<LoadError>(HasSubstr("there is no such file")));
  expect_untouched(out);
}

TEST_P(Pitfall, L29_NamesAreUniqueAndFindTheirArguments) {
  const auto in = hits();
  auto out = answers();
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  SoAMetadata<Hits> inputs(kRows);
  inputs.append_block("b", from.y());
  EXPECT_THAT([&] { inputs.append_block("b", from.x()); },
              ThrowsMessage<BindingError>(
                  HasSubstr("block \"b\" (column x): a block of this name is there already")));
  EXPECT_EQ(inputs.blocks().size(), 1U);
  SoAMetadata<Answers> outputs(kRows);
  outputs.append_block("first", to.m());
  outputs.append_block("second", to.n());
  EXPECT_THAT(
      [&] { run("swap", ModelMetadata(inputs, outputs, Match::kByName)); },
      ThrowsMessage<BindingError>(HasSubstr("takes 2 inputs (a, b), got no block called \"a\"")));
  inputs.append_block("a", from.x());
  run("swap", ModelMetadata(inputs, outputs, Match::kByName));  // (a, b) -> (b, a)
  EXPECT_EQ(values(out, kM), each_row(kRows, [](float i) { return i + 1000; }));
  EXPECT_EQ(values(out, kN), each_row(kRows, [](float i) { return i; }));
}

TEST(Pitfall, L30_SizesAndStridesHave64Bits) {
  constexpr std::size_t kMany = 3'000'000'000;  // more than 2^31 elements, 2^33 bytes
  static_assert(MemoryPlan<Hits>(kMany).bytes > 9 * kMany * sizeof(float));
  static_assert(proves_layout<Hits>(kMany));

  // Addresses are reserved, memory is taken where it is touched: at the end of each column.
  const std::size_t bytes = 4 * kMany * sizeof(float);
  void* const reserved = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) GTEST_SKIP() << "no " << bytes << " bytes of addresses";
  auto* const at = static_cast<float*>(reserved);
  const auto in = foreign_view<Pair>(kMany, Device::cpu(), at, at + kMany);
  const auto out = foreign_view<Pair>(kMany, Device::cpu(), at + 2 * kMany, at + 3 * kMany);
  SoAMetadata<Pair> inputs(kMany);
  SoAMetadata<Pair> outputs(kMany);
  inputs.append_block("x", in.records().x(), in.records().y());
  outputs.append_block("out", out.records().x(), out.records().y());
  const TensorView& tensor = inputs.blocks()[0].tensor;
  EXPECT_THAT(list(tensor.sizes()), ElementsAre(3'000'000'000, 2));
  EXPECT_THAT(list(tensor.strides()), ElementsAre(1, 3'000'000'000));
  EXPECT_EQ(tensor.bytes(), 2 * kMany * sizeof(float));

  pytorch::register_engines();
  const std::size_t first = kMany - 10;
  in.y[kMany - 1] = 20.F;
  const JitModel model(model_file("affine"));
  Plan plan = model.plan(ModelMetadata(inputs, outputs));
  Binding batch = plan.binding();
  take_rows(plan.binding(), first, 10, batch);
  EXPECT_EQ(batch.inputs[0].tensor.data, at + first);
  plan.rebind(slice(in, first, 10), slice(out, first, 10));
  model.forward(Queue(Device::cpu()), plan);
  EXPECT_EQ(out.y[kMany - 1], 41.F);
  EXPECT_EQ(out.x[kMany - 10], 1.F);
  munmap(reserved, bytes);
}

TEST_P(Pitfall, L31_RebindingAPlanAllocatesNothing) {
  const auto in = hits();
  const auto other = hits(50);
  auto out = answers();
  auto other_out = answers(50);
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  SoAMetadata<Hits> inputs(kRows);
  inputs.append_block("matrix", from.covariance());
  inputs.append_block(Repack{DType::kF32}, "vector", from.x(), from.layer(), from.y());
  inputs.append_block("offset", from.field());
  const JitModel model(model_file("moments"));
  Plan plan = model.plan(ModelMetadata(inputs, block<Answers>(kRows, to.m(), to.n())));
  const Seen seen = watch({}, 1, [&] {
    plan.rebind(other.const_view(), other_out.view());
    plan.rebind(in.const_view(), out.view());
  });
  EXPECT_EQ(seen.allocations, 0U) << seen.story;
  EXPECT_EQ(plan.binding().inputs[1].sources[0].data, in.const_view().x.data());
}

TEST_P(Pitfall, L32_ConstInputOfEveryKindStaysAsItIs) {
  const auto in = hits();
  auto out = answers();
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  const auto run_on = [&](const auto& column, const auto& target, std::size_t planes) {
    EXPECT_EQ(run("writes_input",
                  ModelMetadata(block<Hits>(kRows, column), block<Answers>(kRows, target))),
              (CopyReport{planes * kColumn, planes * kColumn}));
  };
  run_on(from.x(), to.m(), 1);
  run_on(from.direction(), to.v(), 3);
  run_on(from.covariance(), to.matrix(), 6);
  run_on(from.field(), to.n(), 1);
  EXPECT_EQ(values(out, kN), each_row(kRows, [](float) { return 8.F; }));
  const auto after = download(in);
  const auto before = download(hits());
  EXPECT_EQ(std::memcmp(after.data(), before.data(), before.bytes()), 0);

  const auto const_out = out.const_view().records();
  EXPECT_THAT(
      [&] {
        ModelMetadata(block<Hits>(kRows, from.covariance()),
                      block<Answers>(kRows, const_out.matrix()));
      },
      ThrowsMessage<BindingError>(HasSubstr("an output is bound to a const view")));
}

TEST_P(Pitfall, L33_NoRowsIsAnAnswerAndNothingRuns) {
  auto in = hits();
  auto out = answers();
  in.resize(0);
  out.resize(0);
  const auto from = in.const_view().records();
  const auto to = out.view().records();
  const ModelMetadata metadata(block<Hits>(0, from.x(), from.y()),
                               block<Answers>(0, to.m(), to.n()));
  JitModel model(model_file("raises"));
  model.to(*queue_);
  const Surroundings seen =
      surroundings_of([&] { EXPECT_EQ(model.forward(metadata), CopyReport{}); });
  EXPECT_TRUE(seen.operators.empty());
  out.resize(kRows);
  expect_untouched(out);

  out.resize(0);
  const auto again = out.view().records();
  float* const nothing = nullptr;
  const auto none = foreign_view<Pair>(0, GetParam(), nothing, nothing).records();
  EXPECT_EQ(run("raises", ModelMetadata(block<Pair>(0, none.x(), none.y()),
                                        block<Answers>(0, again.m(), again.n()))),
            CopyReport{});
}

template <template <class> class F>
struct Masks {
  F<bool> first, second;
};
template <template <class> class F>
struct Segments {
  F<std::int64_t> track;
};

TEST_P(Pitfall, L34_RaggedDataIsGroupedByOffsets) {
  const auto in = hits(6);
  const auto tracks = upload<Tracks>(
      4,
      [](const View<Tracks>& view) {
        const std::int32_t offsets[] = {0, 1, 1, 4, 6};
        std::copy_n(offsets, 5, view.first_hit.data());
      },
      GetParam());
  const auto from = in.const_view().records();
  const auto offsets = tracks.const_view().records().first_hit();

  if (GetParam().is_cpu()) {
    const auto hits_of_track = group(in.const_view(), tracks.const_view().first_hit, 2);
    EXPECT_EQ(hits_of_track.size(), 3U);
    EXPECT_EQ(hits_of_track.x.data(), in.const_view().x.data() + 1);
  }

  SoAMetadata<Tracks, Hits> padded(4, 6);
  padded.append_padded("x", offsets, 2, from.x(), from.y(), from.z());
  auto out = answers(4);
  const auto to = out.view().records();
  EXPECT_EQ(run("identity", ModelMetadata(padded, block<Answers>(4, to.v(), to.w()))),
            (CopyReport{4 * 2 * 3 * sizeof(float), 4 * 2 * 3 * sizeof(float)}));
  const auto host = download(out);
  const auto rows = host.const_view();
  const float y_of_first[] = {1000, 0, 1001, 1004};
  const float y_of_second[] = {0, 0, 1002, 1005};
  for (std::size_t track = 0; track < 4; ++track) {
    EXPECT_EQ(rows.v[track][1], y_of_first[track]) << track;
    EXPECT_EQ(rows.w[track][1], y_of_second[track]) << track;
  }

  SoAMetadata<Tracks> mask(4);
  mask.append_mask("is_there", offsets, 2);
  auto is_there = upload<Masks>(
      4, [](const View<Masks>&) {}, GetParam());
  const auto flags = is_there.view().records();
  run("identity", ModelMetadata(mask, block<Masks>(4, flags.first(), flags.second())));
  EXPECT_THAT(values(is_there, &Masks<ConstColumn>::first), ElementsAre(true, false, true, true));
  EXPECT_THAT(values(is_there, &Masks<ConstColumn>::second), ElementsAre(false, false, true, true));

  SoAMetadata<Tracks, Hits> segments(4, 6);
  segments.append_segments<Hits>("track", offsets);
  auto track_of_hit = upload<Segments>(
      6, [](const View<Segments>&) {}, GetParam());
  run("identity",
      ModelMetadata(segments, block<Segments>(6, track_of_hit.view().records().track())));
  EXPECT_THAT(values(track_of_hit, &Segments<ConstColumn>::track), ElementsAre(0, 2, 2, 2, 3, 3));
}

TEST_P(Pitfall, L35_ACollectionThatIsGoneIsAnErrorAndNoWildRead) {
  std::optional in(hits());
  auto out = answers();
  const JitModel model(model_file("affine"));
  const Plan plan = model.plan(ModelMetadata(block<Hits>(kRows, in->const_view().records().x()),
                                             block<Answers>(kRows, out.view().records().m())));
  auto moved = std::move(*in);
  model.forward(*queue_, plan);  // the memory is where it was
  queue_->wait();
  EXPECT_EQ(values(out, kM), each_row(kRows, [](float i) { return 2 * i + 1; }));
  moved = hits();
  EXPECT_THAT([&] { model.forward(*queue_, plan); },
              ThrowsMessage<BindingError>(
                  HasSubstr("block \"block\" (column x): the collection that it was bound to is "
                            "gone")));
  const auto copied = plan;
  EXPECT_THROW(model.forward(*queue_, copied), BindingError);
}

TEST(Pitfall, L36_LayoutsArePlainTemplatesWithoutMacros) {
  // A column is a member that a debugger shows and an IDE completes.
  static_assert(std::is_same_v<decltype(View<Hits>::x), PlainColumn<float>>);
  static_assert(std::is_trivially_copyable_v<View<Hits>>);

  std::size_t headers = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TENSOA_SOA_HEADERS)) {
    if (!entry.is_regular_file()) continue;
    ++headers;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    EXPECT_EQ(text.find("#define"), std::string::npos) << entry.path();
    EXPECT_EQ(text.find("#include <Eigen"), std::string::npos) << entry.path();
  }
  EXPECT_GT(headers, 10U);

#ifdef TENSOA_TEST_EIGEN
  Eigen::MatrixXf any_size(20, 3);  // included last, and not of a fixed size
  EXPECT_EQ(foreign_view<Direction>(20, Device::cpu(), any_size).direction.data(), any_size.data());
#endif
}

}  // namespace
}  // namespace tensoa
