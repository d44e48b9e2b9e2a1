// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "fused_columns.hpp"
#include "inspect_package.hpp"
#include "support/device_double.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/package/program.hpp"

// Packages for several targets, on simulated GPUs: which program is taken on which device. The fused programs are replaced
// by one that says what it was loaded from.

namespace tensoa {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::ThrowsMessage;
using namespace test;
using AotModel = Model<CompilationType::kAheadOfTime>;
using package::Package;
using package::TargetDescription;

/// Writes into all rows of the first output how many kernels for GPUs its target has.
class Kernels final : public package::Program {
 public:
  explicit Kernels(const TargetDescription& target)
      : kernels_(target.fused->kernels ? target.fused->kernels->kernels.size() : 0) {}

  CopyReport run(const Queue& /*queue*/, std::span<const package::BlockMemory> blocks) override {
    auto* const values = reinterpret_cast<float*>(blocks.back().first);
    for (std::int64_t i = 0; i < blocks.back().rows; ++i) values[i] = static_cast<float>(kernels_);
    return {};
  }

 private:
  std::size_t kernels_;
};

class Targets : public testing::Test {
 protected:
  void SetUp() override {
    DeviceDouble::reset();
    package::register_engines();
    package::register_program_kind(
        {.name = "fused", .load = [](const Package& read, Device device, const auto&, auto) {
           return std::make_unique<Kernels>(
               *package::target_for(read.manifest().targets, device.kind));
         }});
  }

  static float answer(const AotModel& model, Device device) {
    const Queue queue(device);
    const PortableCollection<Points> in(3, device);
    PortableCollection<Answers> out(3, device);
    model.forward(queue, model.plan(mlp_metadata(in.const_view(), out.view())));
    queue.wait();
    return out.view().m[2];  // memory of a simulated GPU is the host's
  }
};

auto loading(const std::string& name, Device device) {
  return [=] { AotModel(fused_package(name)).deploy(device); };
}

auto fails_with(const std::string& what) {
  return ThrowsMessage<LoadError>(AllOf(HasSubstr(".pt2: "), HasSubstr(what)));
}

TEST_F(Targets, OneModelRunsOnAllDevicesWithTheProgramOfEach) {
  for (const char* name : {"both", "both_reversed"}) {
    const AotModel model(fused_package(name));
    EXPECT_EQ(answer(model, Device::cuda(1)), 2);
    EXPECT_EQ(answer(model, Device::cpu()), 0);
    EXPECT_EQ(answer(model, Device::cuda(0)), 2);
  }
}

TEST_F(Targets, OtherWeightsAreLoadedOnAllDevices) {
  const AotModel model(fused_package("both"));
  const std::vector devices{Device::cpu(), Device::cuda(0), Device::cuda(1)};
  for (const Device device : devices) model.deploy(device);
  model.reload(fused_package("both_reversed"));
  EXPECT_THAT([&] { model.reload(fused_package("fused")); },
              fails_with("was made for --target cpu, requested on cuda:0"));
  EXPECT_EQ(answer(model, Device::cuda(0)), 2);
  EXPECT_EQ(answer(model, Device::cpu()), 0);
}

TEST_F(Targets, APackageForOneTargetSaysOnAnotherDeviceWhichCommandAddsIt) {
  const std::string command =
      "; make one package for both: tensoa compile MODEL --target cpu,cuda --out FILE";
  EXPECT_THAT(loading("fused", Device::cuda(1)),
              fails_with("was made for --target cpu, requested on cuda:1" + command));
  EXPECT_THAT(loading("fused_gpu_sums", Device::cpu()),
              fails_with("was made for --target cuda, requested on cpu" + command));
}

TEST_F(Targets, ATargetMayNeedTorchWhereAnotherDoesNot) {
  EXPECT_NO_THROW(loading("both_ways", Device::cpu())());
  EXPECT_THAT(loading("both_ways", Device::cuda(0)),
              fails_with("its program is one of TorchInductor, which needs torch"));
}

TEST_F(Targets, WithoutADeviceTheCpuIsTakenWhereThePackageRunsThere) {
  const auto device = [](const std::string& name) {
    return package::device_for("auto", package::inspect(fused_package(name)));
  };
  EXPECT_EQ(device("fused"), Device::cpu());
  EXPECT_EQ(device("both_reversed"), Device::cpu());
  EXPECT_EQ(device("fused_gpu_sums"), Device::cuda(0));
  EXPECT_EQ(package::device_for("cuda:1", package::inspect(fused_package("both"))),
            Device::cuda(1));
}

TEST_F(Targets, ListsThatAreNoTargetsAreRefused) {
  const auto refused = [](const std::string& name, const std::string& what) {
    EXPECT_THAT([&] { const Package read(fused_package(name)); }, fails_with(what)) << name;
  };
  refused("both_twice", "its \"targets\" are cpu,cpu,cuda, expected each once, and any alone");
  refused("both_and_any", "its \"targets\" are cpu,any, expected each once, and any alone");
  refused("both_none", "its \"targets\" are empty");
  refused("both_tpu", "its target is \"tpu\", expected cpu, cuda or any");
  refused("both_exchanged", "its target cpu has programs for other devices");
}

// ---- what is said of them

std::vector<std::pair<std::string, std::string>> programs_of(const TargetDescription& target) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& program : target.programs) all.emplace_back(program.kind, program.name);
  return all;
}

TEST_F(Targets, EachHasItsOwnProgramsInTheDescription) {
  const auto model = package::inspect(fused_package("both_ways"));
  EXPECT_EQ(package::names_of(model.targets), "cpu,cuda");
  EXPECT_EQ(model.format, "package 3");
  EXPECT_THAT(programs_of(model.targets[0]), ElementsAre(Pair("fused", "plain")));
  EXPECT_THAT(programs_of(model.targets[1]), ElementsAre(Pair("inductor", "sm_90")));
  EXPECT_EQ(package::inspect(fused_package("fused")).format, "package 2");
}

TEST_F(Targets, TheJsonOfOneHasItsKeysAndThatOfSeveralAList) {
  const auto json = [](const std::string& name) {
    return nlohmann::json::parse(package::to_json(package::inspect(fused_package(name))));
  };
  const auto both = json("both");
  EXPECT_EQ(both["target"], "cpu,cuda");
  EXPECT_FALSE(both.contains("programs"));
  ASSERT_EQ(both["targets"].size(), 2U);
  EXPECT_EQ(both["targets"][0]["target"], "cpu");
  const auto one = json("fused");
  EXPECT_EQ(one["target"], "cpu");
  EXPECT_EQ(one["programs"], both["targets"][0]["programs"]);
  EXPECT_FALSE(one.contains("targets"));
}

}  // namespace
}  // namespace tensoa
