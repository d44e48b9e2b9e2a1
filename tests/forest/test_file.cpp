// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "small_ensemble.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/forest/ensemble.hpp"

namespace tensoa::forest {
namespace {

using test::small_ensemble;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

auto reading(const std::string& bytes) {
  return [bytes] { from_bytes(bytes, "model F: "); };
}

auto fails_with(const std::string& what) {
  return ThrowsMessage<LoadError>(
      AllOf(StartsWith("model F: "), HasSubstr(what), HasSubstr("import")));
}

std::uint64_t header_bytes_of(const std::string& bytes) {
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, &bytes[16], sizeof(header_bytes));
  return header_bytes;
}

/// The file of the small ensemble with `from` in its header replaced by `to`.
std::string changed(std::string_view from, std::string_view to) {
  const std::string bytes = to_bytes(small_ensemble());
  std::string header = bytes.substr(24, header_bytes_of(bytes));
  header.replace(header.find(from), from.size(), to);
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t header_bytes = header.size();
  std::string all = bytes.substr(0, 16);
  all.append(reinterpret_cast<const char*>(&header_bytes), sizeof(header_bytes));
  return all + header + bytes.substr(24 + header_bytes_of(bytes));
}

TEST(ForestFile, ReturnsWhatWasWritten) {
  const Ensemble written = small_ensemble();
  const std::string bytes = to_bytes(written);
  EXPECT_EQ(bytes.size() % 8, 0U);
  EXPECT_TRUE(bytes.starts_with("tensoa forest 1\n"));
  const Ensemble read = from_bytes(bytes, "");
  EXPECT_EQ(to_bytes(read), bytes);
  EXPECT_EQ(read.columns, 3U);
  EXPECT_EQ(read.column_names, written.column_names);
  EXPECT_EQ(read.outputs, 2U);
  EXPECT_EQ(read.features, Precision::kFloat32);
  EXPECT_EQ(read.sums, Precision::kFloat64);
  EXPECT_EQ(read.trees, written.trees);
  EXPECT_EQ(std::memcmp(read.nodes.data(), written.nodes.data(), 8 * sizeof(Node)), 0);
  EXPECT_EQ(read.leaf_values, written.leaf_values);
  EXPECT_EQ(read.sets, written.sets);
  EXPECT_EQ(read.set_words, written.set_words);
  EXPECT_THAT(read.base, ElementsAre(0.125, -0.5));
  EXPECT_EQ(read.factor, 0.5);
  EXPECT_EQ(read.divisor, 3);
  EXPECT_EQ(read.link, Link::kSigmoid);
  EXPECT_EQ(read.link_scale, 2);
  EXPECT_EQ(read.source, "by hand");
  EXPECT_EQ(read.objective, "binary");
  EXPECT_EQ(read.classes, written.classes);
}

// Python writes these files, too.
TEST(ForestFile, LiesAsDocumented) {
  const std::string bytes = to_bytes(small_ensemble());
  const std::uint64_t header_bytes = header_bytes_of(bytes);
  const std::string_view header = std::string_view(bytes).substr(24, header_bytes);
  EXPECT_THAT(header, HasSubstr(R"("features":"float32","sums":"float64","leaf_size":1)"));
  EXPECT_THAT(header, HasSubstr(R"("link":"sigmoid")"));
  EXPECT_THAT(
      header,
      HasSubstr(R"("counts":{"nodes":8,"trees":2,"sets":1,"set_words":2,"leaf_values":4}})"));
  EXPECT_EQ(bytes.size(), 24 + header_bytes + 8 * 32 + 2 * 12 + 8 + 2 * 8 + 4 * 8);
  double threshold = 0;
  std::memcpy(&threshold, &bytes[24 + header_bytes], sizeof(threshold));
  EXPECT_EQ(threshold, 0.5);
}

TEST(ForestFile, CutOffAnywhereIsAnError) {
  const std::string whole = to_bytes(small_ensemble());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(reading(whole.substr(0, size))(), LoadError) << size;
  }
  EXPECT_THAT(reading(whole + "x"), fails_with("it has 1 bytes too many"));
}

TEST(ForestFile, ForeignOnesAreRefused) {
  EXPECT_THAT(reading(""), fails_with("does not begin with \"tensoa forest 1\""));
  EXPECT_THAT(reading("tensoa forest 2\n"), fails_with("does not begin with"));
  EXPECT_THAT(reading("tensoa forest 1\n1234567"), fails_with("it is cut off"));
  EXPECT_THAT(reading("tensoa forest 1\n" + std::string(8, '\xFF')), fails_with("its header has"));
  EXPECT_THAT(reading("tensoa forest 1\n" + std::string("\10\0\0\0\0\0\0\0[[[[[[[[", 16)),
              fails_with("parse error"));
  std::string deep = "tensoa forest 1\n" + std::string("\0\2\0\0\0\0\0\0", 8);
  EXPECT_THAT(reading(deep + std::string(512, '[')), fails_with("nested deeper than 16 levels"));
}

TEST(ForestFile, DamagedHeadersAreRefused) {
  EXPECT_NO_THROW(reading(changed("\"columns\":3", "\"columns\": 3"))());
  EXPECT_THAT(reading(changed("\"columns\":3", "\"columns\":-3")),
              fails_with("\"columns\" is not"));
  EXPECT_THAT(reading(changed("\"columns\":3", "\"columns\":9")), fails_with("column names is 3"));
  EXPECT_THAT(reading(changed("\"outputs\"", "\"output\"")), fails_with("'outputs' not found"));
  EXPECT_THAT(reading(changed("sigmoid", "logit")), fails_with("\"link\" is \"logit\""));
  EXPECT_THAT(reading(changed("float64", "float16")), fails_with("\"sums\" is \"float16\""));
  EXPECT_THAT(reading(changed("[0.125,", "[null,")), fails_with("must be number"));
  EXPECT_THAT(reading(changed("\"nodes\":8", "\"nodes\":9")), fails_with("it is cut off"));
  EXPECT_THAT(reading(changed("\"leaf_values\":4", "\"leaf_values\":18446744073709551615")),
              fails_with("it has 18446744073709551615 leaf_values, but 32 bytes are left"));
  EXPECT_THAT(reading(changed("\"trees\":2", "\"trees\":2305843009213693953")),
              fails_with("2305843009213693953 trees"));
  EXPECT_THAT(reading(changed("\"leaf_values\":4", "\"leaf_values\":3")), fails_with("too many"));
}

TEST(ForestFile, DamagedNodesAreRefused) {
  Ensemble circle = small_ensemble();
  circle.nodes[0].left = 0;
  EXPECT_THAT(reading(to_bytes(circle)), fails_with("tree 0, node 0: it leads to node 0"));
}

}  // namespace
}  // namespace tensoa::forest
