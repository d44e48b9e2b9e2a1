// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/read_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ReadFile, ReturnsAllBytes) {
  const test::TemporaryFolder folder;
  const std::string bytes("a\0\r\n\xFF", 5);
  EXPECT_EQ(read_file(folder.write("file", bytes)), bytes);
  EXPECT_EQ(read_file(folder.write("empty", "")), "");
}

TEST(ReadFile, SaysWhyItCannot) {
  const test::TemporaryFolder folder;
  EXPECT_THAT([&] { read_file(folder.path()); },
              ThrowsMessage<InputError>(folder.path().string() + ": is a folder, expected a file"));
  EXPECT_THAT([&] { read_file(folder.path() / "none"); },
              ThrowsMessage<InputError>(HasSubstr("none: cannot be read: No such file")));
  // Can be opened; the address 0 cannot be read.
  EXPECT_THAT([&] { read_file("/proc/self/mem"); },
              ThrowsMessage<InputError>(HasSubstr("/proc/self/mem: cannot be read: ")));
}

}  // namespace
}  // namespace tensoa
