// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/triton/wire.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/triton/model_config.hpp"
#include "tensoa/triton/served_file.hpp"

namespace tensoa::triton {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

BlockDescription block_called(const std::string& name, DType dtype = DType::kF32) {
  return {.name = name,
          .collection = 0,
          .shape = BlockShape::kRows,
          .element = {ColumnKind::kVector, dtype, 3, 1},
          .dtype = dtype,
          .columns = {{"u", 0}, {"v", 3}}};
}

package::ModelDescription model_of(const std::string& input, const std::string& output) {
  package::ModelDescription model;
  model.binding.emplace();
  model.inputs.push_back(package::argument_of(block_called(input), 0));
  model.outputs.push_back(package::argument_of(block_called(output, DType::kBF16), 0));
  return model;
}

TEST(Wire, CountsThePlanesOfAllColumns) {
  const Wire wire = wire_of(model_of("x.1-a", "y"), "model M: ");
  EXPECT_EQ(wire.inputs[0].planes, 6);
  EXPECT_EQ(wire.inputs[0].type(), "FP32[1, 6, n]");
  EXPECT_EQ(wire.outputs[0].type(), "BF16[1, 6, n]");
}

TEST(Wire, RefusesNamesThatTensorsCannotHave) {
  const std::string too_long(129, 'x');
  for (const std::string& name : {std::string(), std::string("a b"), std::string("a\"b"), too_long,
                                  std::string("a\n"), std::string("é")}) {
    EXPECT_THAT([&] { wire_of(model_of(name, "y"), "model M: "); },
                ThrowsMessage<LoadError>(HasSubstr("rename the block")));
  }
  EXPECT_THAT([&] { wire_of(model_of("x", "x"), "model M: "); },
              ThrowsMessage<LoadError>(HasSubstr("input and an output block called \"x\"")));
}

TEST(Wire, NeedsColumnsInputsAndOutputs) {
  package::ModelDescription model = model_of("x", "y");
  model.outputs.clear();
  EXPECT_THAT([&] { wire_of(model, "model M: "); },
              ThrowsMessage<LoadError>(HasSubstr("1 inputs and 0 outputs")));
  model.binding.reset();
  EXPECT_THAT([&] { wire_of(model, "model M: "); },
              ThrowsMessage<LoadError>(HasSubstr("which columns")));
}

TEST(Wire, NamesEveryDtypeAsKserveDoes) {
  EXPECT_EQ(kserve_name(DType::kBool), "BOOL");
  EXPECT_EQ(kserve_name(DType::kU8), "UINT8");
  EXPECT_EQ(kserve_name(DType::kI8), "INT8");
  EXPECT_EQ(kserve_name(DType::kI16), "INT16");
  EXPECT_EQ(kserve_name(DType::kI32), "INT32");
  EXPECT_EQ(kserve_name(DType::kI64), "INT64");
  EXPECT_EQ(kserve_name(DType::kF16), "FP16");
  EXPECT_EQ(kserve_name(DType::kBF16), "BF16");
  EXPECT_EQ(kserve_name(DType::kF32), "FP32");
  EXPECT_EQ(kserve_name(DType::kF64), "FP64");
}

TEST(ModelConfig, TheCompletedOneIsRight) {
  const Wire wire = wire_of(model_of("x", "y"), "model M: ");
  const std::string config = completed_config(wire, R"({"name": "m"})", "model M: ");
  require_config(wire, config, "sum", 1, "model M: ");
  EXPECT_EQ(nlohmann::json::parse(config)["max_batch_size"], kMaxBatch);
  EXPECT_THAT([&] { completed_config(wire, R"({"max_batch_size": -2})", "model M: "); },
              ThrowsMessage<LoadError>(HasSubstr("max_batch_size is -2")));
  EXPECT_THAT([&] { require_config(wire, R"({"max_batch_size": "x"})", "s", 1, "model M: "); },
              testing::Throws<std::exception>());
}

TEST(ModelConfig, TheTextHasTensorsAndParameters) {
  const std::string text = config_pbtxt(wire_of(model_of("x", "y"), ""), "net", "abc", 4);
  EXPECT_THAT(text, HasSubstr("name: \"net\"\nbackend: \"tensoa\"\nmax_batch_size: 256\n"));
  EXPECT_THAT(text, HasSubstr("input [ { name: \"x\" data_type: TYPE_FP32 dims: [ 6, -1 ] "
                              "allow_ragged_batch: true } ]"));
  EXPECT_THAT(text, HasSubstr("output [ { name: \"y\" data_type: TYPE_BF16 dims: [ 6, -1 ] } ]"));
  EXPECT_THAT(text, HasSubstr("key: \"tensoa_checksum\" value { string_value: \"abc\" }"));
}

}  // namespace
}  // namespace tensoa::triton
