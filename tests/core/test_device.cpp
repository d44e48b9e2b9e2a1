// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

std::string message_of(std::string_view text) {
  try {
    parse_device(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Device, TheCpuIsAlwaysThere) {
  EXPECT_EQ(device_count(DeviceKind::kCpu), 1);
  EXPECT_EQ(parse_device("cpu"), Device::cpu());
  EXPECT_EQ(to_string(Device::cpu()), "cpu");
  EXPECT_EQ(device_name(Device::cpu()), "CPU");
}

TEST(Device, AutoIsTheFirstGpuOrElseTheCpu) {
  const bool has_gpu = device_count(DeviceKind::kCuda) > 0;
  EXPECT_EQ(parse_device("auto"), has_gpu ? Device::cuda(0) : Device::cpu());
}

TEST(Device, UnknownTextsSayWhatIsExpected) {
  for (const char* text : {"", "gpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda0", "CPU"}) {
    EXPECT_THROW(parse_device(text), ConfigError) << text;
    EXPECT_THAT(message_of(text), testing::HasSubstr("expected auto, cpu or cuda:N")) << text;
  }
}

TEST(Device, OneThatIsNotThereSaysWhatIsThere) {
  EXPECT_THROW(parse_device("cuda:99"), DeviceError);
  EXPECT_THAT(message_of("cuda:99"),
              testing::HasSubstr("device cuda:99 is not there; there is: cpu"));
  EXPECT_THAT(
      [] {
        require_available(Device{DeviceKind::kCpu, 1});
      },
      testing::ThrowsMessage<DeviceError>(
          testing::HasSubstr("device cpu:1 is not there; there is: cpu")));
  EXPECT_THROW(device_name(Device::cuda(99)), DeviceError);
}

TEST(Device, AGpuHasAName) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  EXPECT_FALSE(device_name(Device::cuda(0)).empty());
}

}  // namespace
}  // namespace tensoa
