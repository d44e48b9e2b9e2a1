// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../support/temporary_folder.hpp"
#include "handles.hpp"

namespace {

using tensoa::test::CallOwner;
using tensoa::test::ModelOwner;
using tensoa::test::QueueOwner;
using tensoa::test::said;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kMlp = TENSOA_FUSED_PACKAGES "fused.pt2";  // m = x + 2 y + 3 z, n = x y - z
const std::string kGraph = TENSOA_FUSED_PACKAGES "fused_graph.pt2";  // along edges and at nodes

class C : public testing::Test {
 protected:
  void load(const std::string& path) {
    ASSERT_EQ(said(tensoa_load(path.c_str(), "cpu", &model.handle)), "0: ");
    ASSERT_EQ(said(tensoa_new_call(model, nullptr, &call.handle)), "0: ");
  }

  ModelOwner model;
  CallOwner call;
};

class COfMlp : public C {
 protected:
  void SetUp() override { load(kMlp); }
};

TEST_F(C, APackageForSeveralTargetsRunsOnTheDeviceThatIsNamedAndElseOnTheCpu) {
  const std::string both = std::string(TENSOA_FUSED_PACKAGES) + "both.pt2";
  const std::string of_gpus = std::string(TENSOA_FUSED_PACKAGES) + "fused_gpu_sums.pt2";
  for (const char* device : {"cpu", "auto"}) {
    ModelOwner one;
    EXPECT_EQ(said(tensoa_load(both.c_str(), device, &one.handle)), "0: ");
    EXPECT_THAT(tensoa_describe(one), HasSubstr(R"("target":"cpu,cuda")"));
  }
  ModelOwner other;
  EXPECT_THAT(said(tensoa_load(of_gpus.c_str(), "cpu", &other.handle)),
              HasSubstr("--target cpu,cuda --out FILE"));
}

TEST_F(COfMlp, ColumnsOfOneArrayAreReadAndWrittenWhereTheyLie) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const std::size_t rows : {0U, 1U, 16U, 1000U, 33U}) {
    // Columns that lie apart are copied, and give the same.
    for (const std::size_t apart : {0U, 7U}) {
      const std::size_t pitch = rows + 5;
      std::vector<float> in(3 * pitch + apart);
      std::vector<float> out(2 * pitch);
      for (float& number : in) number = normal(random);
      const float* const x = in.data();
      const float* const y = x + pitch;
      const float* const z = y + pitch + apart;
      float* const m = out.data();
      float* const n = m + pitch;
      const auto bind = [&](const char* name, const float* column) {
        return said(tensoa_bind(call, name, column, TENSOA_F32, sizeof(float),
                                static_cast<std::int64_t>(rows)));
      };
      ASSERT_EQ(bind("x", x) + bind("y", y) + bind("z", z) + bind("m", m) + bind("n", n),
                "0: 0: 0: 0: 0: ");
      ASSERT_EQ(said(tensoa_run(call)), "0: ");
      for (std::size_t i = 0; i < rows; ++i) {
        EXPECT_EQ(m[i], x[i] + 2 * y[i] + 3 * z[i]);
        EXPECT_FLOAT_EQ(n[i], x[i] * y[i] - z[i]);
      }
      std::size_t bytes_in = 1;
      std::size_t bytes_out = 1;
      ASSERT_EQ(tensoa_last_copies(call, &bytes_in, &bytes_out), TENSOA_OK);
      EXPECT_EQ(bytes_in, apart > 0 ? 3 * rows * sizeof(float) : 0);
      EXPECT_EQ(bytes_out, 0U);
    }
  }
}

TEST_F(COfMlp, RowsOfStructuresAreReadByTheirStride) {
  struct Row {
    float x, y, z, m, n;
  };
  std::vector<Row> rows;
  for (int i = 0; i < 20; ++i) {
    const auto x = static_cast<float>(i);
    rows.push_back({x, 2 * x, -1, 0, 0});
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(tensoa_bind_input(call, i, &rows[0].x + i, TENSOA_F32, sizeof(Row), count),
              TENSOA_OK);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(tensoa_bind_output(call, i, &rows[0].m + i, TENSOA_F32, sizeof(Row), count),
              TENSOA_OK);
  }
  ASSERT_EQ(said(tensoa_run(call)), "0: ");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].m, 5.0F * static_cast<float>(i) - 3);
    EXPECT_EQ(rows[i].n, rows[i].x * rows[i].y + 1);
  }
  std::size_t bytes_in = 0;
  std::size_t bytes_out = 0;
  ASSERT_EQ(tensoa_last_copies(call, &bytes_in, &bytes_out), TENSOA_OK);
  EXPECT_EQ(bytes_in, 3 * 20 * sizeof(float));
  EXPECT_EQ(bytes_out, 2 * 20 * sizeof(float));
}

TEST_F(COfMlp, AModelSaysItsColumns) {
  ASSERT_EQ(tensoa_inputs(model), 3U);
  ASSERT_EQ(tensoa_outputs(model), 2U);
  tensoa_column_info info;
  ASSERT_EQ(tensoa_describe_input(model, 1, &info), TENSOA_OK);
  EXPECT_STREQ(info.name, "y");
  EXPECT_STREQ(info.block, "features");
  EXPECT_EQ(info.dtype, TENSOA_F32);
  EXPECT_EQ(info.is_scalar, 0);
  EXPECT_EQ(info.collection, 0);
  ASSERT_EQ(tensoa_describe_output(model, 0, &info), TENSOA_OK);
  EXPECT_STREQ(info.name, "m");
  EXPECT_EQ(said(tensoa_describe_output(model, 2, &info)),
            "1: index is 2, the model has 2 outputs");
  EXPECT_THAT(tensoa_describe(model), AllOf(StartsWith("{"), HasSubstr("\"features\"")));
}

TEST_F(C, CollectionsHaveSeparateNumbersOfRows) {
  load(kGraph);
  std::vector<std::int64_t> source{0, 1, 2, 0};
  std::vector<std::int64_t> target{1, 2, 0, 2};
  std::vector<float> charge{1, -1, 2};
  std::vector<float> mass{10, 20, 30};
  std::vector<float> product(4);
  std::vector<float> total(3);
  const auto bind = [&](const char* name, auto& column, tensoa_dtype dtype) {
    return said(tensoa_bind(call, name, column.data(), dtype, sizeof(column[0]),
                            static_cast<std::int64_t>(column.size())));
  };
  EXPECT_EQ(bind("source", source, TENSOA_I64), "0: ");
  EXPECT_EQ(bind("target", target, TENSOA_I64), "0: ");
  EXPECT_EQ(bind("charge", charge, TENSOA_F32), "0: ");
  EXPECT_EQ(said(tensoa_run(call)), "5: column mass is not bound");
  EXPECT_EQ(bind("mass", mass, TENSOA_F32), "0: ");
  EXPECT_EQ(bind("product", product, TENSOA_F32), "0: ");
  EXPECT_EQ(bind("total", product, TENSOA_F32), "0: ");
  EXPECT_EQ(said(tensoa_run(call)), "5: column total has 4 rows, expected 3, as charge");
  EXPECT_EQ(bind("total", total, TENSOA_F32), "0: ");
  ASSERT_EQ(said(tensoa_run(call)), "0: ");
  EXPECT_EQ(product, (std::vector<float>{-1, -2, 2, 2}));
  EXPECT_EQ(total, (std::vector<float>{30, 10, 30}));
  mass.pop_back();
  EXPECT_EQ(bind("mass", mass, TENSOA_F32), "0: ");
  EXPECT_EQ(said(tensoa_run(call)),
            "5: column mass has 2 rows, charge has 3; expected equal numbers");
}

TEST_F(C, AScalarIsANumberOrLiesInMemory) {
  load(TENSOA_C_PACKAGES "scaled-cpu.pt2");  // x times field, plus 1
  tensoa_column_info info;
  ASSERT_EQ(tensoa_describe_input(model, 1, &info), TENSOA_OK);
  EXPECT_STREQ(info.name, "field");
  EXPECT_EQ(info.is_scalar, 1);
  const std::vector<float> x{1, 2, 3};
  std::vector<float> y(3);
  float field = 2;
  ASSERT_EQ(said(tensoa_bind(call, "x", x.data(), TENSOA_F32, 4, 3)), "0: ");
  ASSERT_EQ(said(tensoa_bind(call, "y", y.data(), TENSOA_F32, 4, 3)), "0: ");
  EXPECT_EQ(said(tensoa_run(call)), "5: column field is not bound");
  EXPECT_EQ(said(tensoa_bind(call, "field", x.data(), TENSOA_F32, 4, 3)),
            "5: column field has 3 elements, expected one: it is a scalar");
  ASSERT_EQ(said(tensoa_bind_number(call, "field", &field, TENSOA_F32)), "0: ");
  field = 100;  // it was copied
  ASSERT_EQ(said(tensoa_run(call)), "0: ");
  EXPECT_EQ(y, (std::vector<float>{3, 5, 7}));
  ASSERT_EQ(said(tensoa_bind(call, "field", &field, TENSOA_F32, 4, 1)), "0: ");
  ASSERT_EQ(said(tensoa_run(call)), "0: ");
  EXPECT_EQ(y, (std::vector<float>{101, 201, 301}));
  field = 1;  // it is read where it lies
  ASSERT_EQ(said(tensoa_run(call)), "0: ");
  EXPECT_EQ(y, (std::vector<float>{2, 3, 4}));
}

TEST_F(COfMlp, AStrideInElementsIsRefused) {
  std::vector<float> x(3);
  EXPECT_EQ(
      said(tensoa_bind(call, "x", x.data(), TENSOA_F32, 1, 3)),
      "5: column x has a stride of 1 bytes, its elements have 4; expected bytes, as sizeof *x");
  EXPECT_EQ(
      said(tensoa_bind(call, "m", x.data(), TENSOA_F32, 0, 3)),
      "5: column m has a stride of 0 bytes, its elements have 4; expected bytes, as sizeof *x");
  EXPECT_EQ(said(tensoa_bind(call, "x", x.data(), TENSOA_F32, 0, 3)), "0: ");  // one number for all
}

TEST_F(COfMlp, WhatDoesNotFitIsRefusedAndWhatWasBoundStays) {
  std::vector<float> x{1, 2};
  const auto bind = [&](const char* name, const void* data, int dtype, std::int64_t count) {
    return said(tensoa_bind(call, name, data, static_cast<tensoa_dtype>(dtype), 4, count));
  };
  for (const char* name : {"x", "y", "z", "m", "n"})
    ASSERT_EQ(bind(name, x.data(), TENSOA_F32, 1), "0: ");
  EXPECT_EQ(bind("xx", x.data(), TENSOA_F32, 1),
            "1: the model has no column xx; there are x, y, z, m, n; the nearest is x");
  EXPECT_EQ(bind("x", x.data(), TENSOA_F64, 1), "5: column x is float64, expected float32");
  EXPECT_EQ(bind("x", x.data(), 0, 1),
            "1: dtype is 0, expected one of tensoa_dtype, TENSOA_BOOL to TENSOA_F64");
  EXPECT_EQ(bind("x", x.data(), TENSOA_F32, -1), "5: column x has -1 rows, expected 0 or more");
  EXPECT_EQ(bind("x", nullptr, TENSOA_F32, 1), "5: column x is NULL, expected memory of 1 rows");
  EXPECT_EQ(bind(nullptr, x.data(), TENSOA_F32, 1), "1: name is NULL, expected that of a column");
  EXPECT_EQ(said(tensoa_bind_input(call, 3, x.data(), TENSOA_F32, 4, 1)),
            "1: index is 3, the model has 3 inputs");
  EXPECT_EQ(said(tensoa_bind_number(call, "x", x.data(), TENSOA_F32)),
            "1: column x is not a scalar that the model reads; expected tensoa_bind()");
  float m = 0;
  float n = 0;
  ASSERT_EQ(bind("m", &m, TENSOA_F32, 1), "0: ");
  ASSERT_EQ(bind("n", &n, TENSOA_F32, 1), "0: ");
  ASSERT_EQ(said(tensoa_run(call)), "0: ");
  EXPECT_EQ(m, 6);
  EXPECT_EQ(n, 0);
}

TEST_F(C, WhatIsMissingIsNamed) {
  EXPECT_EQ(said(tensoa_load(nullptr, "cpu", &model.handle)),
            "1: path is NULL, expected that of a model");
  EXPECT_EQ(said(tensoa_load(kMlp.c_str(), nullptr, &model.handle)),
            "1: device is NULL, expected cpu, cuda:N or auto");
  EXPECT_EQ(said(tensoa_load(kMlp.c_str(), "cpu", nullptr)),
            "1: model is NULL, expected where to write");
  EXPECT_THAT(said(tensoa_load(kMlp.c_str(), "gpu", &model.handle)), HasSubstr("gpu"));
  EXPECT_THAT(said(tensoa_load("none.pt2", "cpu", &model.handle)),
              AllOf(StartsWith("4: "), HasSubstr("none.pt2")));
  EXPECT_THAT(said(tensoa_load_abi(kMlp.c_str(), "cpu", TENSOA_ABI + 1, &model.handle)),
              AllOf(StartsWith("1: tensoa.h is of ABI 2, libtensoa.so "),
                    HasSubstr("is of ABI 1; compile with the header")));
  EXPECT_EQ(model.handle, nullptr);
  EXPECT_EQ(said(tensoa_new_call(nullptr, nullptr, &call.handle)),
            "1: model is NULL, expected a handle");
  EXPECT_EQ(said(tensoa_run(nullptr)), "1: call is NULL, expected a handle");
  EXPECT_EQ(said(tensoa_wait(nullptr)), "1: queue is NULL, expected a handle");
  EXPECT_EQ(tensoa_inputs(nullptr), 0U);
  EXPECT_EQ(tensoa_describe(nullptr), nullptr);
  tensoa_free_model(nullptr);
  tensoa_free_call(nullptr);
  tensoa_free_queue(nullptr);
}

TEST_F(C, AFileThatIsNotAPackageIsRefused) {
  const tensoa::test::TemporaryFolder folder;
  const std::string path = folder.write("model.pt2", "nothing");
  EXPECT_THAT(said(tensoa_load(path.c_str(), "cpu", &model.handle)),
              AllOf(StartsWith("4: "), HasSubstr(path)));
}

#ifndef NDEBUG
TEST_F(COfMlp, AHandleThatWasFreedIsRefused) {
  tensoa_call* other = nullptr;
  ASSERT_EQ(tensoa_new_call(model, nullptr, &other), TENSOA_OK);
  tensoa_free_call(other);
  EXPECT_EQ(said(tensoa_run(other)), "1: call is not a handle of this type, or was freed");
  tensoa_free_call(other);
  EXPECT_EQ(said(tensoa_run(reinterpret_cast<tensoa_call*>(model.handle))),
            "1: call is not a handle of this type, or was freed");
}
#endif

TEST_F(COfMlp, QueuesSayWhenTheyAreDone) {
  QueueOwner queue;
  ASSERT_EQ(tensoa_new_queue("cpu", &queue.handle), TENSOA_OK);
  CallOwner on_queue;
  ASSERT_EQ(tensoa_new_call(model, queue, &on_queue.handle), TENSOA_OK);
  int done = 0;
  ASSERT_EQ(tensoa_when_done(
                queue,
                [](void* count, const char* failure) {
                  *static_cast<int*>(count) += failure == nullptr ? 1 : 100;
                },
                &done),
            TENSOA_OK);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(tensoa_wait(queue), TENSOA_OK);
  EXPECT_EQ(tensoa_wait_for_call(on_queue), TENSOA_OK);
  EXPECT_EQ(said(tensoa_when_done(queue, nullptr, nullptr)),
            "1: done is NULL, expected a function");
  EXPECT_THAT(said(tensoa_borrow_stream("cpu", &done, &queue.handle)), StartsWith("1: "));
}

TEST_F(COfMlp, ThreadsShareAModelAndHaveSeparateErrors) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      CallOwner own;
      wrong += tensoa_new_call(model, nullptr, &own.handle);
      std::vector<float> x(100, static_cast<float>(t));
      std::vector<float> m(100);
      std::vector<float> n(100);
      for (const char* name : {"x", "y", "z"})
        wrong += tensoa_bind(own, name, x.data(), TENSOA_F32, 4, 100);
      wrong += tensoa_bind(own, "m", m.data(), TENSOA_F32, 4, 100);
      wrong += tensoa_bind(own, "n", n.data(), TENSOA_F32, 4, 100);
      const std::string name = "no" + std::to_string(t);
      for (int i = 0; i < 200; ++i) {
        wrong += tensoa_run(own);
        wrong += m[99] == 6 * x[0] && n[0] == x[0] * x[0] - x[0] ? 0 : 1;
        wrong += tensoa_bind(own, name.c_str(), x.data(), TENSOA_F32, 4, 100) == TENSOA_CONFIG_ERROR
                     ? 0
                     : 1;
        wrong += std::string(tensoa_last_error()).find(name + ";") != std::string::npos ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
