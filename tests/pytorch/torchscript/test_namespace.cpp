// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The forms of docs/using_from_your_framework.md, next to the libraries that own the names torch and
// alpaka. That this file compiles is most of the test.

#include <gtest/gtest.h>
#include <torch/headeronly/core/ScalarType.h>

#include <type_traits>

#include "tensoa/engine/model.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace alpaka {
struct DevCpu {};  // stands in for the library's
}  // namespace alpaka

namespace cms::torch {
namespace alpaka = ::tensoa;
}
namespace cms::torch {
namespace alpaka = ::tensoa;  // as a second header says it
}

using namespace cms::torch::alpaka;

template <>
struct cms::torch::alpaka::DeviceTraits<::alpaka::DevCpu> {
  static Device get(const ::alpaka::DevCpu&) { return Device::cpu(); }
};

namespace {

template <template <class> class F>
struct Points {
  F<float> x;
};

TEST(NamespaceAlias, LeavesTheNamesTorchAndAlpakaToTheirLibraries) {
  static_assert(std::is_same_v<PortableCollection<Points>, tensoa::PortableCollection<Points>>);
  static_assert(std::is_same_v<cms::torch::alpaka::Model<>, tensoa::Model<>>);
  EXPECT_EQ(torch::headeronly::ScalarType::Float, ::torch::headeronly::ScalarType::Float);
  const alpaka::DevCpu device;
  const PortableCollection<Points, alpaka::DevCpu> points(4, device);
  EXPECT_EQ(points.device(), tensoa::Device::cpu());
}

}  // namespace
