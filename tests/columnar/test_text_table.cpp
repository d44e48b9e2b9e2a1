// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/columnar/text_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "../support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::columnar {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::size_t kMiB = 1 << 20;

TEST(TextTable, ColumnsAreReadInTheOrderThatIsAskedFor) {
  const TableChunk table = parse_text("a.csv", "n,other,x\n1,a,0.5\n-2,b,1e3\n",
                                      {{"x", DType::kF64}, {"n", DType::kI32}}, true);
  ASSERT_EQ(table.rows(), 2U);
  NumberMemory memory;
  const auto* x = reinterpret_cast<const double*>(table.numbers(0, DType::kF64, {}, memory));
  const auto* n = reinterpret_cast<const std::int32_t*>(table.numbers(1, DType::kI32, {}, memory));
  EXPECT_EQ(x[0], 0.5);
  EXPECT_EQ(x[1], 1000);
  EXPECT_EQ(n[1], -2);
  EXPECT_EQ(memory.copied, 0U);
}

TEST(TextTable, WithoutNamesTheColumnsAreAll) {
  const TableChunk table = parse_text("a.csv", "1,2\n3,4\n", {{"x"}, {"y"}}, false);
  NumberMemory memory;
  const auto* y = reinterpret_cast<const float*>(table.numbers(1, DType::kF32, {}, memory));
  EXPECT_EQ(y[1], 4);
  EXPECT_EQ(parse_text("a.csv", "x,y", {{"x"}, {"y"}}, true).rows(), 0U);
}

TEST(TextTable, WhatIsNotANumberIsRefused) {
  const auto parsed = [](const char* text) {
    return [=] { parse_text("a.csv", text, {{"x"}}, true); };
  };
  EXPECT_THAT(parsed("y,z\n1,2\n"),
              ThrowsMessage<InputError>("a.csv: wrong columns: got y, z; expected x, each once"));
  EXPECT_THAT(parsed("x,x\n1,2\n"), ThrowsMessage<InputError>(HasSubstr("each once")));
  EXPECT_THAT(parsed("x\none\n"),
              ThrowsMessage<InputError>(
                  AllOf(HasSubstr("a.csv: is not CSV with numbers"), HasSubstr("one"))));
  EXPECT_THAT(parsed("x,y\n,1\n"), ThrowsMessage<InputError>(HasSubstr("is not CSV with numbers")));
}

TEST(TextTable, TextIsReadUpToALimit) {
  const test::TemporaryFolder folder;
  const auto read = [&](const std::string& name, const std::string& contents) {
    return [=, path = folder.write(name, contents)] { return read_text(path, {kMiB, "less"}); };
  };
  EXPECT_EQ(read("a.csv", "\xEF\xBB\xBFx\n1\n")(), "x\n1\n");
  EXPECT_THAT(
      read("long.csv", std::string(kMiB + 1, '1')),
      ThrowsMessage<InputError>(HasSubstr("has more than 1 MiB of text, unpacked; expected less")));
  EXPECT_THAT(read("a.csv.gz", "x\n1\n"), ThrowsMessage<InputError>(HasSubstr("is not gzip")));
  EXPECT_THAT(read("empty.csv", ""), ThrowsMessage<InputError>(HasSubstr("empty file")));
  EXPECT_THAT(read("b.csv", std::string("x\0", 2)),
              ThrowsMessage<InputError>(HasSubstr("binary data")));
  EXPECT_THAT(
      [&] {
        read_text(folder.path() / "none.csv", {kMiB, "less"});
      },
      ThrowsMessage<InputError>(HasSubstr("none.csv: cannot be opened")));
}

}  // namespace
}  // namespace tensoa::columnar
