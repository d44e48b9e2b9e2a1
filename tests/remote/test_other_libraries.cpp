// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// A process that also has protobuf, gRPC of the system and ONNX Runtime, with all their symbols for everyone. Two protobufs that
// meet end the process when one registers what the other has.

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "calls.hpp"
#include "fake_server.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

/// Calls a model of a server.
void call_a_server() {
  const test::FakeServer server(test::answer_same);
  remote::register_engines();
  const Model<> model("grpc://" + server.address() + "/same");
  PortableCollection<test::OneColumn> in(3, Device::cpu());
  PortableCollection<test::OneColumn> out(3, Device::cpu());
  in.view().x[0] = in.view().x[1] = in.view().x[2] = 4;
  model.forward(Queue(Device::cpu()), model.plan(test::metadata_of(in, out)));
  if (out.const_view().x[2] != 4) std::exit(1);
}

std::vector<std::string> other_libraries() {
  std::vector<std::string> names{"libprotobuf.so.32", "libprotobuf.so.23", "libgrpc++.so.1.51"};
  if (const char* const runtime = std::getenv("TENSOA_TEST_ONNXRUNTIME"))
    names.emplace_back(runtime);
  return names;
}

/// @return how many there are
int load_others() {
  int loaded = 0;
  for (const std::string& name : other_libraries()) {
    loaded += dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr ? 1 : 0;
  }
  return loaded;
}

class OtherLibraries : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    bool is_there = false;
    for (const std::string& name : other_libraries()) {
      void* const library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
      if (library != nullptr) dlclose(library);
      is_there = is_there || library != nullptr;
    }
    if (!is_there) GTEST_SKIP() << "neither protobuf nor ONNX Runtime is installed";
  }
};

using OtherLibrariesDeathTest = OtherLibraries;

TEST_F(OtherLibrariesDeathTest, MayBeInTheProcessBefore) {
  EXPECT_EXIT(
      {
        if (load_others() == 0) std::exit(2);
        call_a_server();
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(OtherLibrariesDeathTest, MayComeAfterwards) {
  EXPECT_EXIT(
      {
        call_a_server();
        if (load_others() == 0) std::exit(2);
        call_a_server();
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tensoa
