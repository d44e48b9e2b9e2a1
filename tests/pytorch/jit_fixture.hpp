// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>

#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/options.hpp"
#include "tensoa/pytorch/engines.hpp"
#include "tensoa/pytorch/options.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {

// For readable messages and names of tests.
inline void PrintTo(const Device& device, std::ostream* out) { *out << to_string(device); }
inline void PrintTo(const CopyReport& report, std::ostream* out) { *out << to_string(report); }

namespace test {

using JitModel = Model<CompilationType::kJustInTime>;

template <template <class> class F>
struct Points {
  F<float> x, y, z;
};

template <template <class> class F>
struct Answers {
  F<float> m, n, o;
};

/// x, y, z -> m, n: the columns of the model "mlp".
inline ModelMetadata<Points, Answers> mlp_metadata(ConstView<Points> points,
                                                   View<Answers> answers) {
  SoAMetadata<Points> inputs(points.size());
  inputs.append_block("x", points.records().x(), points.records().y(), points.records().z());
  SoAMetadata<Answers> outputs(answers.size());
  outputs.append_block("out", answers.records().m(), answers.records().n());
  return {inputs, outputs};
}

inline std::filesystem::path model_file(const std::string& name) {
  return TENSOA_TEST_MODELS + name + ".pt";
}

/// A test that runs on each device: `TENSOA_ON_EACH_DEVICE(Arguments);` where Arguments derives from
/// this. Skipped where there is no such device.
class JitTest : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (device_count(GetParam().kind) == 0) GTEST_SKIP() << "no CUDA device";
    pytorch::register_engines();
    queue_.emplace(GetParam());
  }

  /// A collection on the device, filled by `fill` on the host.
  template <template <template <class> class> class Layout, class Fill>
  PortableCollection<Layout> upload(std::size_t rows, Fill fill, std::size_t spare_rows = 5) {
    PortableCollection<Layout> host(rows + spare_rows, Device::cpu());
    host.resize(rows);
    fill(host.view());
    PortableCollection<Layout> there(rows + spare_rows, GetParam());
    copy(*queue_, host, there);
    queue_->wait();
    return there;
  }

  /// A copy on the host.
  template <template <template <class> class> class Layout>
  PortableCollection<Layout> download(const PortableCollection<Layout>& there) {
    PortableCollection<Layout> host(there.capacity(), Device::cpu());
    copy(*queue_, there, host);
    queue_->wait();
    return host;
  }

  PortableCollection<Points> points(std::size_t rows) {
    return upload<Points>(rows, [](auto view) {
      for (std::size_t i = 0; i < view.size(); ++i) {
        const auto value = static_cast<float>(i);
        view.x[i] = value;
        view.y[i] = value + 1000.F;
        view.z[i] = value + 2000.F;
      }
    });
  }

  /// Answers that are not written yet.
  static constexpr float kUntouched = -77.F;
  PortableCollection<Answers> answers(std::size_t rows) {
    return upload<Answers>(rows, [](auto view) {
      for (std::size_t i = 0; i < view.size(); ++i) view.m[i] = view.n[i] = view.o[i] = kUntouched;
    });
  }

  void expect_untouched(const PortableCollection<Answers>& answers) {
    const auto host = download(answers);
    const auto view = host.const_view();
    for (std::size_t i = 0; i < view.size(); ++i) {
      ASSERT_THAT((std::array{view.m[i], view.n[i], view.o[i]}), testing::Each(kUntouched));
    }
  }

  void expect_points(const PortableCollection<Points>& points) {
    const auto host = download(points);
    const auto view = host.const_view();
    for (std::size_t i = 0; i < view.size(); ++i) {
      const auto value = static_cast<float>(i);
      ASSERT_THAT((std::array{view.x[i], view.y[i], view.z[i]}),
                  testing::ElementsAre(value, value + 1000.F, value + 2000.F));
    }
  }

  /// Runs x, y, z -> the columns of `Answers` in one block.
  template <class... Columns>
  CopyReport run(const std::string& name, const ConstView<Points>& in, const View<Answers>& out,
                 Columns... columns) {
    SoAMetadata<Points> inputs(in.size());
    inputs.append_block("x", in.records().x(), in.records().y(), in.records().z());
    SoAMetadata<Answers> outputs(out.size());
    const auto records = out.records();
    outputs.append_block("out", (records.*columns)()...);
    return run(name, ModelMetadata(inputs, outputs));
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

  /// All of a message must fit into one short line.
  static auto is_short() {
    return testing::AllOf(testing::SizeIs(testing::Lt(500U)),
                          testing::Not(testing::HasSubstr("\n")));
  }

  std::optional<Queue> queue_;
};

/// Runs the tests of a JitTest on the CPU and on the first GPU.
#define TENSOA_ON_EACH_DEVICE(Suite)                              \
  INSTANTIATE_TEST_SUITE_P(                                       \
      On, Suite, testing::Values(Device::cpu(), Device::cuda(0)), \
      [](const auto& device) { return std::string(device.param.is_cpu() ? "Cpu" : "Cuda"); })

inline constexpr auto kM = &Records<Answers>::m;
inline constexpr auto kN = &Records<Answers>::n;
inline constexpr auto kO = &Records<Answers>::o;

}  // namespace test
}  // namespace tensoa
