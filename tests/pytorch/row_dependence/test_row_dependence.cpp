// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/row_dependence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "exported/program_file.hpp"
#include "exported/row_dependence.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/pytorch/engines.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "torchscript/script.hpp"

namespace tensoa {
namespace {

using Answer = RowDependence::Answer;
using testing::HasSubstr;

template <template <class> class F>
struct Four {
  F<float> a, b, c, d;
};

template <template <class> class F>
struct One {
  F<float> y;
};

/// Of a model float32[n, 4] -> float32[n, 1].
RowDependence rows_of(const std::string& path) {
  pytorch::register_engines();
  PortableCollection<Four> in(3, Device::cpu());
  PortableCollection<One> out(3, Device::cpu());
  const auto r = in.const_view().records();
  SoAMetadata<Four> inputs(3);
  inputs.append_block("x", r.a(), r.b(), r.c(), r.d());
  SoAMetadata<One> outputs(3);
  outputs.append_block("y", out.view().records().y());
  const Model<> model(path);
  return model.row_dependence(model.plan(ModelMetadata<Four, One>(inputs, outputs)));
}

/// A file of make_row_models.py.
struct Case {
  std::string name;
  bool is_seen;    ///< an oracle sees a row change another one
  bool is_proven;  ///< its rows are independent, and that has to be found
};

std::vector<Case> cases(const std::string& list) {
  std::ifstream lines(TENSOA_TEST_ROW_MODELS + list);
  std::vector<Case> all;
  for (Case one; lines >> one.name >> one.is_seen >> one.is_proven;) all.push_back(one);
  return all;
}

class RowsOf : public testing::TestWithParam<std::string> {};

TEST_P(RowsOf, AreNeverCalledIndependentWhereARowChangesAnother) {
  std::size_t independent = 0;
  std::size_t dependent = 0;
  for (const Case& one : cases("models.txt")) {
    if (!one.name.ends_with(GetParam())) continue;
    const RowDependence found = rows_of(TENSOA_TEST_ROW_MODELS + one.name);
    EXPECT_FALSE(one.is_seen && found.are_independent()) << one.name;
    EXPECT_TRUE(!one.is_proven || found.are_independent()) << one.name << ": " << to_string(found);
    EXPECT_EQ(found.are_independent(), found.reason.empty()) << one.name;
    independent += found.are_independent() ? 1 : 0;
    dependent += found.answer == Answer::kDependent ? 1 : 0;
  }
  EXPECT_GT(independent, 20u);
  EXPECT_GT(dependent, 20u);
}

std::int64_t peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

/// With memory for the 1009 rows that are followed each layer would need 1 GB.
TEST_P(RowsOf, AreFollowedWithoutMemoryForThem) {
  const std::int64_t before = peak_megabytes();
  EXPECT_TRUE(rows_of(TENSOA_TEST_ROW_MODELS "images" + GetParam()).are_independent());
  EXPECT_LT(peak_megabytes() - before, 500);
}

INSTANTIATE_TEST_SUITE_P(Files, RowsOf, testing::Values(".pt", ".pt2"), [](const auto& one) {
  return one.param == ".pt" ? "TorchScript" : "TorchExport";
});

/// Of any program of torch.export.
RowDependence rows_of_program(const std::string& path) {
  const pytorch::exported::ProgramFile file(path);
  return rows_of(pytorch::exported::read_program(file.program(), c10::kCPU)).dependence;
}

TEST(RowsOfPrograms, OfTwoCollectionsAreNeverCalledIndependentWhereOneChangesTheOther) {
  std::size_t independent = 0;
  std::size_t dependent = 0;
  for (const Case& one : cases("two.txt")) {
    const RowDependence found = rows_of_program(TENSOA_TEST_ROW_MODELS + one.name);
    EXPECT_FALSE(one.is_seen && found.are_independent()) << one.name;
    independent += found.are_independent() ? 1 : 0;
    dependent += found.answer == Answer::kDependent ? 1 : 0;
  }
  EXPECT_GT(independent, 0u);
  EXPECT_GT(dependent, 5u);
}

/// Of TorchScript with x: float32[n, 4].
RowDependence rows_of_source(const std::string& body) {
  // Not a TemporaryFolder: libtorch has its own remove_all(), which fails.
  const std::string path = testing::TempDir() + "row_dependence.pt";
  test::module_of("\ndef forward(self, x):\n" + body).save(path);
  const RowDependence found = rows_of(path);
  std::remove(path.c_str());
  return found;
}

TEST(RowsOfScripts, BranchesAndLoopsOfConstantsAreFollowed) {
  EXPECT_EQ(rows_of_source(R"(
    y = x
    for i in range(3):
        if x.size(1) == 4 and i > 0:
            y = torch.relu(y @ self.weight @ self.weight.t())
    return y.sum(1, keepdim=True)
)")
                .answer,
            Answer::kIndependent);
}

TEST(RowsOfScripts, ABranchOrALoopOnTheNumberOfRowsProvesNothing) {
  const char* const kBodies[] = {
      R"(
    if x.size(0) > 1000000000:
        return (x - x.mean(0)).sum(1, keepdim=True)
    return x.sum(1, keepdim=True)
)",
      R"(
    y = x
    for i in range(x.size(0)):
        y = y * 0.5
    return y.sum(1, keepdim=True)
)",
      R"(
    return x[:, :min(x.size(0), 4)].sum(1, keepdim=True)
)",
      R"(
    sizes = x.size()
    sizes.append(1)
    return x.view(sizes).sum(1)
)"};
  for (const char* body : kBodies) EXPECT_FALSE(rows_of_source(body).are_independent()) << body;
}

TEST(RowsOfScripts, TheOperationIsNamed) {
  const RowDependence found = rows_of_source(R"(
    y = x * 2
    return (y - y.mean(0)).sum(1, keepdim=True)
)");
  EXPECT_EQ(found.answer, Answer::kDependent);
  EXPECT_THAT(found.reason, HasSubstr("aten.mean along the rows"));
}

TEST(RowsOfScripts, WhatIsWrittenInPlaceIsFollowed) {
  EXPECT_EQ(rows_of_source(R"(
    y = torch.zeros_like(x)
    y[:, 0] = x[:, 1]
    y[:, 1:].add_(x[:, 1:])
    return y.sum(1, keepdim=True)
)")
                .answer,
            Answer::kIndependent);
  EXPECT_FALSE(rows_of_source(R"(
    y = x.clone()
    y[1:] = x[:-1]
    return y.sum(1, keepdim=True)
)")
                   .are_independent());
}

TEST(RowsOfScripts, SizesThatFollowFromNumbersOfConstantsAreFollowed) {
  EXPECT_EQ(rows_of_source(R"(
    places = torch.nonzero(torch.tensor([0, 1, 0, 1]))
    count = int(torch.tensor([1, 1]).sum())
    return x[:, :count].index_select(1, places[:, 0] - 1 - torch.arange(places.size(0))).sum(1, keepdim=True)
)")
                .answer,
            Answer::kIndependent);
}

TEST(RowsOfScripts, WhatIsTooLargeToRunOnAFewRowsProvesNothing) {
  const RowDependence found = rows_of_source(R"(
    y = x[:, :, None].expand(x.size(0), 4, 4000000)
    return torch.adaptive_avg_pool1d(y, 2)[:, :1, 0]
)");
  EXPECT_EQ(found.answer, Answer::kUnknown);
  EXPECT_THAT(found.reason, HasSubstr("is too large to follow"));
}

TEST(RowsOfScripts, WhatIsWrittenIntoNumbersOfRowsProvesNothing) {
  const char* const kBodies[] = {
      R"(
    i = torch.arange(x.size(0))
    i[1:].zero_()
    return x[i].sum(1, keepdim=True)
)",
      R"(
    i = torch.arange(x.size(0))
    i.view(-1, 1).mul_(0)
    return x[i].sum(1, keepdim=True)
)",
      R"(
    y = torch.zeros([1, 4]).expand(x.size(0), 4)
    y[x > 0] = 1.0
    return (x + y).sum(1, keepdim=True)
)",
      R"(
    return x[torch.arange(x.size(0)).to(1).to(4)].sum(1, keepdim=True)
)",
      R"(
    return torch.arange(x.size(0)).flip(0)[(x > 1e9).sum(1, keepdim=True)].to(6)
)"};
  for (const char* body : kBodies) EXPECT_FALSE(rows_of_source(body).are_independent()) << body;
}

TEST(RowsOfScripts, ManyRowsAreSomeOfThem) {
  for (const char* rows : {":5000", "-5000:", "1000000:"}) {
    const std::string body = "    return x[" + std::string(rows) + "].sum(1, keepdim=True)\n";
    EXPECT_FALSE(rows_of_source(body).are_independent()) << body;
  }
}

TEST(RowsOfScripts, TensorsThatAreMadeBySizesAreProven) {
  EXPECT_EQ(
      rows_of_source("    return (x.new_zeros([x.size(0), 4]) + x).sum(1, keepdim=True)\n").answer,
      Answer::kIndependent);
}

TEST(RowsOfScripts, RandomNumbersProveNothing) {
  const RowDependence found =
      rows_of_source("    return (x + torch.rand_like(x)).sum(1, keepdim=True)\n");
  EXPECT_EQ(found.answer, Answer::kUnknown);
  EXPECT_THAT(found.reason, HasSubstr("draws random numbers"));
}

}  // namespace
}  // namespace tensoa
