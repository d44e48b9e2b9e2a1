// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../package/fused_columns.hpp"
#include "backend_calls.hpp"
#include "fake_host.hpp"
#include "support/temporary_folder.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/package/published.hpp"
#include "tensoa/package/sha256.hpp"
#include "tensoa/triton/model_config.hpp"
#include "tensoa/triton/served_file.hpp"

// The back-end in a fake server. The programs are those of tests/package/fused_fixture.cpp.

namespace tensoa {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace test;

constexpr int kFp32 = 11;
constexpr int kInt64 = 9;
constexpr int kRight = -1;

/// Deletes `error`. @return its text; empty for none
std::string text_of_error(TRITONSERVER_Error* error) {
  if (error == nullptr) return {};
  std::string text = error->message;
  TRITONSERVER_ErrorDelete(error);
  return text;
}

/// A tensor [1, planes, n] of a request, and its memory.
template <class T>
struct Tensor {
  Tensor(std::string name_of_block, int type, std::size_t planes, std::vector<T> all)
      : values(std::move(all)) {
    const std::size_t n = values.size() / planes;
    input.name = std::move(name_of_block);
    input.type = type;
    input.shape = {1, static_cast<std::int64_t>(planes), static_cast<std::int64_t>(n)};
    input.bytes = values.size() * sizeof(T);
    if (!values.empty()) input.buffers.emplace_back(values.data(), input.bytes);
  }
  std::vector<T> values;
  TRITONBACKEND_Input input;
};
using Floats = Tensor<float>;

/// "features" of the package "fused": numbers that follow from `seed`.
std::vector<float> feature_values(std::size_t rows, std::size_t seed) {
  std::vector<float> values(3 * rows);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = noise(i + seed);
  return values;
}

/// The local engine's results: the planes of "preds".
std::vector<float> local_preds(const std::vector<float>& features) {
  static const Model<> model(fused_package("fused"));
  const std::size_t rows = features.size() / 3;
  PortableCollection<Points> in(rows, Device::cpu());
  PortableCollection<Answers> out(rows, Device::cpu());
  for (std::size_t i = 0; i < rows; ++i) {
    in.view().x[i] = features[i];
    in.view().y[i] = features[rows + i];
    in.view().z[i] = features[2 * rows + i];
  }
  model.forward(Queue(Device::cpu()), model.plan(mlp_metadata(in.const_view(), out.view())));
  std::vector<float> preds;
  for (std::size_t i = 0; i < rows; ++i) preds.push_back(out.view().m[i]);
  for (std::size_t i = 0; i < rows; ++i) preds.push_back(out.view().n[i]);
  return preds;
}

template <class T>
std::vector<T> values_of(const TRITONBACKEND_Output* output) {
  if (output == nullptr) return {};
  std::vector<T> values(output->bytes / sizeof(T));
  if (!values.empty()) {
    std::memcpy(values.data(), output->memory.data() + output->offset, output->bytes);
  }
  return values;
}

class TritonBackend : public testing::Test {
 protected:
  void SetUp() override {
    faults() = {};
    log_lines().clear();
    ASSERT_EQ(text_of_error(TRITONBACKEND_Initialize(&backend_)), "");
  }
  void TearDown() override {
    faults() = {};
    unload();
    EXPECT_EQ(live_errors(), 0);
    EXPECT_EQ(live_messages(), 0);
  }

  std::string load_model(const std::filesystem::path& file, const std::string& name = "model.pt2") {
    const std::filesystem::path version = folder_.path() / "1";
    std::filesystem::create_directories(version);
    std::filesystem::copy_file(file, version / name,
                               std::filesystem::copy_options::overwrite_existing);
    model_.folder = folder_.path();
    return text_of_error(TRITONBACKEND_ModelInitialize(&model_));
  }
  std::string load_instance() {
    instance_.model = &model_;
    return text_of_error(TRITONBACKEND_ModelInstanceInitialize(&instance_));
  }
  void load(const std::string& package) {
    ASSERT_EQ(load_model(fused_package(package)), "");
    ASSERT_EQ(load_instance(), "");
  }
  void unload() {
    EXPECT_EQ(text_of_error(TRITONBACKEND_ModelInstanceFinalize(&instance_)), "");
    EXPECT_EQ(text_of_error(TRITONBACKEND_ModelFinalize(&model_)), "");
    EXPECT_EQ(model_.state, nullptr);
    EXPECT_EQ(instance_.state, nullptr);
  }

  void execute(std::vector<TRITONBACKEND_Request*> requests) {
    const auto count = static_cast<std::uint32_t>(requests.size());
    ASSERT_EQ(text_of_error(TRITONBACKEND_ModelInstanceExecute(&instance_, requests.data(), count)),
              "");
    for (const TRITONBACKEND_Request* request : requests) EXPECT_EQ(request->released, 1);
  }

  /// The error of a request alone in a batch.
  std::string refused(TRITONBACKEND_Request& request, int code = TRITONSERVER_ERROR_INVALID_ARG) {
    execute({&request});
    EXPECT_EQ(request.sent, 1);
    EXPECT_EQ(request.code, code);
    EXPECT_EQ(instance_.reported.back(), false);
    return request.message;
  }

  static void expect_preds(const TRITONBACKEND_Request& request,
                           const std::vector<float>& features) {
    EXPECT_EQ(request.sent, 1);
    ASSERT_EQ(request.code, kRight) << request.message;
    const TRITONBACKEND_Output* output = request.output("preds");
    ASSERT_NE(output, nullptr);
    EXPECT_THAT(output->shape, ElementsAre(1, 2, features.size() / 3));
    EXPECT_EQ(output->type, kFp32);
    const auto got = values_of<float>(output);
    const auto expected = local_preds(features);
    ASSERT_EQ(got.size(), expected.size());
    EXPECT_TRUE(got.empty() ||
                std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)) == 0);
  }

  TemporaryFolder folder_;
  TRITONBACKEND_Backend backend_;
  TRITONBACKEND_Model model_;
  TRITONBACKEND_ModelInstance instance_;
};

TRITONBACKEND_Request request_of(const TRITONBACKEND_Input& input) {
  TRITONBACKEND_Request request;
  request.inputs = {input};
  request.wanted = {"preds"};
  return request;
}

TEST_F(TritonBackend, CompletesTheConfigurationFromThePackage) {
  ASSERT_EQ(load_model(fused_package("fused")), "");
  EXPECT_THAT(model_.config,
              AllOf(HasSubstr(R"("max_batch_size":256)"), HasSubstr(R"("dynamic_batching":{})"),
                    HasSubstr(R"("allow_ragged_batch":true)"), HasSubstr(R"("dims":[3,-1])"),
                    HasSubstr(R"("dims":[2,-1])"), HasSubstr(R"("data_type":"TYPE_FP32")"),
                    HasSubstr(R"("name":"features")"), HasSubstr(R"("name":"preds")")));
}

TEST_F(TritonBackend, KeepsTheBatchSizeOfTheConfiguration) {
  model_.config = R"({"name": "m", "max_batch_size": 7})";
  ASSERT_EQ(load_model(fused_package("fused")), "");
  EXPECT_THAT(model_.config, HasSubstr(R"("max_batch_size":7)"));
}

TEST_F(TritonBackend, RefusesAConfigurationThatIsNotThePackages) {
  model_.auto_completes = false;
  EXPECT_THAT(load_model(fused_package("fused")),
              AllOf(HasSubstr("max_batch_size 0"), HasSubstr("--disable-auto-complete-config")));
  model_.config = R"({"max_batch_size": 8})";
  EXPECT_THAT(load_model(fused_package("fused")), HasSubstr("0 input entries, expected the 1"));
  model_.config = R"({"max_batch_size": 8, "input": [{"name": "features", "data_type": "TYPE_FP32",
    "dims": ["4", "-1"], "allow_ragged_batch": true}]})";
  EXPECT_THAT(load_model(fused_package("fused")),
              AllOf(HasSubstr("TYPE_FP32 [4,-1]"), HasSubstr("expected TYPE_FP32 [3,-1]")));
  model_.config = R"({"max_batch_size": 8, "input": [{"name": "features", "data_type": "TYPE_FP32",
    "dims": ["3", "-1"]}]})";
  EXPECT_THAT(load_model(fused_package("fused")), HasSubstr("allow_ragged_batch: true"));
  model_.config = "{";
  EXPECT_THAT(load_model(fused_package("fused")), HasSubstr("cannot be read"));
}

TEST_F(TritonBackend, RefusesAnotherFileThanWasDeployed) {
  model_.auto_completes = false;
  const std::string checksum = package::checksum_of_file(fused_package("fused"));
  const auto config = [](const std::string& sum, const std::string& version) {
    return R"({"max_batch_size": 8,
      "input": [{"name": "features", "data_type": "TYPE_FP32", "dims": ["3", "-1"],
                 "allow_ragged_batch": true}],
      "output": [{"name": "preds", "data_type": "TYPE_FP32", "dims": ["2", "-1"]}],
      "parameters": {"tensoa_checksum": {"string_value": ")" +
           sum + R"("}, "tensoa_version": {"string_value": ")" + version + R"("}}})";
  };
  model_.config = config("abc", "1");
  EXPECT_THAT(load_model(fused_package("fused")),
              AllOf(HasSubstr(checksum), HasSubstr("expects abc"), HasSubstr("deploy it again")));
  model_.config = config("abc", "2");  // of another version in the folder
  EXPECT_EQ(load_model(fused_package("fused")), "");
  unload();
  model_.config = config(checksum, "1");
  EXPECT_EQ(load_model(fused_package("fused")), "");
}

TEST_F(TritonBackend, RefusesAPackageThatNeedsTorchByName) {
  EXPECT_THAT(load_model(fused_package("inductor")),
              AllOf(HasSubstr("model.pt2"), HasSubstr("kind inductor"), HasSubstr("pytorch"),
                    HasSubstr("--no-fuse")));
}

TEST_F(TritonBackend, RefusesAFolderWithoutAModelAndABrokenOne) {
  EXPECT_THAT(load_model(fused_package("fused"), "other.bin"), HasSubstr("got 0 files"));
  ASSERT_EQ(load_model(fused_package("fused"), "other.pt2"), "");  // the only one
  unload();
  EXPECT_THAT(load_model(fused_package("fused"), "second.pt2"), HasSubstr("got 2 files"));
  std::filesystem::remove_all(folder_.path() / "1");
  EXPECT_THAT(load_model(folder_.write("broken.pt2", "hello")), HasSubstr("model.pt2"));
  EXPECT_EQ(model_.state, nullptr);
  EXPECT_THAT(load_instance(), HasSubstr("not loaded"));
}

TEST_F(TritonBackend, AFailureOfTheServerWhileLoadingIsReturned) {
  for (const char* function :
       {"TRITONBACKEND_ModelRepository", "TRITONBACKEND_ModelSetConfig",
        "TRITONSERVER_MessageNewFromSerializedJson", "TRITONBACKEND_ModelSetState"}) {
    faults().failing = function;
    EXPECT_THAT(load_model(fused_package("fused")), HasSubstr("the host fails")) << function;
    faults() = {};
    unload();
  }
}

TEST_F(TritonBackend, NeedsTheFirstMajorVersionOfTheApi) {
  faults().api_major = 2;
  EXPECT_THAT(text_of_error(TRITONBACKEND_Initialize(&backend_)), HasSubstr("expected 1.x"));
}

TEST_F(TritonBackend, InstancesComeFromTheCommandLine) {
  TRITONBACKEND_BackendAttribute attribute;
  EXPECT_EQ(text_of_error(TRITONBACKEND_GetBackendAttribute(&backend_, &attribute)), "");
  EXPECT_GE(attribute.count, 1U);
  backend_.config.json = R"({"cmdline": {"instances": "5"}})";
  EXPECT_EQ(text_of_error(TRITONBACKEND_GetBackendAttribute(&backend_, &attribute)), "");
  EXPECT_EQ(attribute.count, 5U);
  for (const char* wrong : {"0", "-1", "many", "", "99999"}) {
    backend_.config.json = R"({"cmdline": {"instances": ")" + std::string(wrong) + R"("}})";
    EXPECT_THAT(text_of_error(TRITONBACKEND_GetBackendAttribute(&backend_, &attribute)),
                HasSubstr("expected a number"));
  }
}

TEST_F(TritonBackend, AnswersWithTheBitsOfTheLocalEngine) {
  load("fused");
  for (const std::size_t rows : {1U, 2U, 7U, 33U, 1000U, 0U}) {
    const Floats tensor("features", kFp32, 3, feature_values(rows, rows));
    TRITONBACKEND_Request request = request_of(tensor.input);
    execute({&request});
    expect_preds(request, tensor.values);
    EXPECT_EQ(request.response->parameters["tensoa_checksum"],
              package::checksum_of_file(fused_package("fused")));
  }
  EXPECT_EQ(instance_.batches.size(), 6U);
}

TEST_F(TritonBackend, APackageForSeveralTargetsAnswersOnTheCpuWhereOnlyItsGpusNeedTorch) {
  for (const std::string package : {"both", "both_ways"}) {
    load(package);
    const Floats tensor("features", kFp32, 3, feature_values(33, 5));
    TRITONBACKEND_Request request = request_of(tensor.input);
    execute({&request});
    expect_preds(request, tensor.values);
    EXPECT_EQ(request.response->parameters["tensoa_checksum"],
              package::checksum_of_file(fused_package(package)));
    unload();
  }
}

TEST_F(TritonBackend, BuffersMayBeAnywhereAndSplitValues) {
  load("fused");
  const Floats tensor("features", kFp32, 3, feature_values(50, 3));
  std::vector<std::byte> memory(tensor.input.bytes + 64);
  for (const std::size_t offset : {1U, 2U, 3U}) {
    std::memcpy(memory.data() + offset, tensor.values.data(), tensor.input.bytes);
    TRITONBACKEND_Request request = request_of(tensor.input);
    request.inputs[0].buffers = {{memory.data() + offset, tensor.input.bytes}};
    execute({&request});
    expect_preds(request, tensor.values);
  }
  std::memcpy(memory.data(), tensor.values.data(), tensor.input.bytes);
  TRITONBACKEND_Request request = request_of(tensor.input);
  request.inputs[0].buffers = {{memory.data(), 5},
                               {nullptr, 0},
                               {memory.data() + 5, 102},
                               {memory.data() + 107, tensor.input.bytes - 107}};
  execute({&request});
  expect_preds(request, tensor.values);
}

TEST_F(TritonBackend, AnswersIntoMemoryThatIsNotAligned) {
  load("fused");
  faults().output_offset = 3;
  const Floats tensor("features", kFp32, 3, feature_values(11, 3));
  TRITONBACKEND_Request request = request_of(tensor.input);
  execute({&request});
  expect_preds(request, tensor.values);
}

TEST_F(TritonBackend, ComputesOnlyIntoTheOutputsThatAreWanted) {
  load("fused_graph");
  const Tensor<std::int64_t> edges("edge_index", kInt64, 2, {0, 1, 2, 2});
  const Floats nodes("x", kFp32, 2, {1, 2, 3, 4, 5, 6});
  TRITONBACKEND_Request request;
  request.inputs = {edges.input, nodes.input};
  request.wanted = {"total"};
  execute({&request});
  ASSERT_EQ(request.code, kRight) << request.message;
  EXPECT_EQ(request.output("product"), nullptr);
  EXPECT_THAT(values_of<float>(request.output("total")), ElementsAre(0, 0, 9));

  TRITONBACKEND_Request all;
  all.inputs = {nodes.input, edges.input};
  execute({&all});
  ASSERT_EQ(all.code, kRight) << all.message;
  EXPECT_THAT(values_of<float>(all.output("product")), ElementsAre(3, 6));
  EXPECT_THAT(values_of<float>(all.output("total")), ElementsAre(0, 0, 9));
}

TEST_F(TritonBackend, ACollectionWithoutRowsIsNotAnError) {
  load("fused_graph");
  const Tensor<std::int64_t> edges("edge_index", kInt64, 2, {});
  const Floats nodes("x", kFp32, 2, {1, 2, 3, 4});
  TRITONBACKEND_Request request;
  request.inputs = {edges.input, nodes.input};
  execute({&request});
  ASSERT_EQ(request.code, kRight) << request.message;
  EXPECT_THAT(values_of<float>(request.output("product")), ElementsAre());
  EXPECT_THAT(values_of<float>(request.output("total")), ElementsAre(0, 0));
}

TEST_F(TritonBackend, AColumnThatABlockHasTwiceIsReadOnce) {
  load("fused_repeated");  // x, x, y, z
  for (const std::size_t rows : {1U, 5U, 1000U, 0U}) {
    const std::vector<float> features = feature_values(rows, rows);
    std::vector<float> sent(features.begin(), features.begin() + static_cast<int>(rows));
    sent.insert(sent.end(), features.begin(), features.end());
    const Floats tensor("features", kFp32, 4, sent);
    TRITONBACKEND_Request request = request_of(tensor.input);
    execute({&request});
    expect_preds(request, features);
  }
  const Floats tensor("features", kFp32, 4, {1, 2, 1, 3, 4, 5, 6, 7});
  TRITONBACKEND_Request request = request_of(tensor.input);
  EXPECT_THAT(refused(request),
              AllOf(HasSubstr("input \"features\": got different values in its columns 1 and 2"),
                    HasSubstr("both are the column x")));
}

TEST_F(TritonBackend, RowsOfCollectionsThatMustBeEqualAreCompared) {
  load("fused_lengths");
  const Tensor<std::int64_t> edges("edge_index", kInt64, 2, {0, 1, 2, 2});
  const Floats nodes("x", kFp32, 2, {1, 2, 3, 4, 5, 6});
  TRITONBACKEND_Request request;
  request.inputs = {edges.input, nodes.input};
  EXPECT_THAT(refused(request),
              AllOf(HasSubstr("input \"x\": got 3 rows"), HasSubstr("expected 2")));
  // Also where an output has no rows, and nothing would run.
  const Tensor<std::int64_t> none("edge_index", kInt64, 2, {});
  TRITONBACKEND_Request empty;
  empty.inputs = {none.input, nodes.input};
  EXPECT_THAT(refused(empty), HasSubstr("got 3 rows"));
}

TEST_F(TritonBackend, RefusesTensorsOfAnotherShapeTypeOrSize) {
  load("fused");
  const Floats tensor("features", kFp32, 3, feature_values(4, 3));
  const auto message = [&](const auto& change) {
    TRITONBACKEND_Request request = request_of(tensor.input);
    change(request.inputs[0]);
    return refused(request);
  };
  using Input = TRITONBACKEND_Input;
  const auto shaped = [&](std::vector<std::int64_t> shape) {
    return message([&](Input& input) { input.shape = std::move(shape); });
  };
  EXPECT_THAT(shaped({1, 4, 3}),
              AllOf(HasSubstr("got the shape [1, 4, 3]"), HasSubstr("expected FP32[1, 3, n]")));
  EXPECT_THAT(shaped({2, 3, 2}), HasSubstr("[2, 3, 2]"));
  EXPECT_THAT(shaped({3, 4}), HasSubstr("[3, 4]"));
  EXPECT_THAT(shaped({1, 3, -4}), HasSubstr("[1, 3, -4]"));
  EXPECT_THAT(shaped({1, 3, 5}), HasSubstr("48 bytes"));
  EXPECT_THAT(shaped({1, 3, std::int64_t{1} << 62}), HasSubstr("48 bytes"));
  EXPECT_THAT(message([](Input& input) { input.type = kInt64; }), HasSubstr("data type"));
  EXPECT_THAT(message([](Input& input) { input.name = "other"; }), HasSubstr("\"features\""));
  EXPECT_THAT(message([](Input& input) { input.buffers[0].second = 40; }), HasSubstr("40 of 48"));
  EXPECT_THAT(message([](Input& input) { input.buffers[0].second = 50; }),
              HasSubstr("more than 48"));
  EXPECT_THAT(message([](Input& input) { input.buffers[0].first = nullptr; }),
              HasSubstr("without memory"));
  EXPECT_THAT(message([](Input& input) { input.buffers.clear(); }), HasSubstr("0 of 48"));
  TRITONBACKEND_Request request = request_of(tensor.input);
  request.inputs[0].memory = TRITONSERVER_MEMORY_GPU;
  EXPECT_THAT(refused(request, TRITONSERVER_ERROR_UNSUPPORTED), HasSubstr("CUDA shared memory"));
}

TEST_F(TritonBackend, ComparesTheChecksumThatARequestExpects) {
  load("fused");
  const Floats tensor("features", kFp32, 3, feature_values(4, 3));
  const std::string checksum = package::checksum_of_file(fused_package("fused"));
  TRITONBACKEND_Request right = request_of(tensor.input);
  right.parameters = {{"other", "x"}, {"tensoa_checksum", checksum}};
  execute({&right});
  expect_preds(right, tensor.values);
  TRITONBACKEND_Request wrong = request_of(tensor.input);
  wrong.parameters = {{"tensoa_checksum", "0123"}};
  EXPECT_THAT(refused(wrong), HasSubstr("got checksum 0123, serves " + checksum));
}

TEST_F(TritonBackend, DescribesTheModelWithoutComputing) {
  load("fused");
  const Floats tensor("features", kFp32, 3, feature_values(4, 3));
  TRITONBACKEND_Request request = request_of(tensor.input);
  request.inputs[0].shape = {1, 77, 3};  // not looked at
  request.parameters = {{"tensoa_checksum", "0123"}, {"tensoa_describe", ""}};
  execute({&request});
  ASSERT_EQ(request.code, kRight) << request.message;
  EXPECT_THAT(request.response->outputs, IsEmpty());
  const std::string checksum = package::checksum_of_file(fused_package("fused"));
  EXPECT_EQ(request.response->parameters["tensoa_checksum"], checksum);
  const auto published = package::parse_published(request.response->parameters.at("tensoa_model"));
  EXPECT_EQ(published.checksum, checksum);
  EXPECT_EQ(published.named, package::NamedColumns::kAll);
  const package::ModelDescription here = package::inspect(fused_package("fused"));
  EXPECT_EQ(to_json(*published.model.binding), to_json(*here.binding));
  ASSERT_EQ(published.model.outputs.size(), here.outputs.size());
  EXPECT_EQ(published.model.inputs[0].type, here.inputs[0].type);
  EXPECT_EQ(published.model.outputs[0].type, here.outputs[0].type);
}

TEST_F(TritonBackend, TreesWithoutNamesTakeAnyColumns) {
  std::ofstream(folder_.path() / "trees.json") << R"({"learner": {
    "attributes": {}, "feature_names": [], "feature_types": [],
    "gradient_booster": {"model": {"gbtree_model_param": {"num_parallel_tree": "1", "num_trees": "1"},
      "iteration_indptr": [0, 1], "tree_info": [0], "trees": [{
        "base_weights": [0.0, 1.0, 2.0], "categories": [], "categories_nodes": [],
        "categories_segments": [], "categories_sizes": [], "default_left": [0, 0, 0], "id": 0,
        "left_children": [1, -1, -1], "loss_changes": [1.0, 0.0, 0.0], "parents": [2147483647, 0, 0],
        "right_children": [2, -1, -1], "split_conditions": [0.5, 1.0, 2.0],
        "split_indices": [1, 0, 0], "split_type": [0, 0, 0], "sum_hessian": [2.0, 1.0, 1.0],
        "tree_param": {"num_deleted": "0", "num_feature": "2", "num_nodes": "3", "size_leaf_vector": "1"}}]},
      "name": "gbtree"},
    "learner_model_param": {"base_score": "0", "boost_from_average": "1", "num_class": "0",
      "num_feature": "2", "num_target": "1"},
    "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}}},
    "version": [2, 0, 3]})";
  ASSERT_EQ(load_model(folder_.path() / "trees.json", "model.json"), "");
  ASSERT_EQ(load_instance(), "");
  const Floats tensor("features", kFp32, 2, {0.0F, 1.0F});
  TRITONBACKEND_Request request = request_of(tensor.input);
  request.wanted = {"answers"};
  request.parameters = {{"tensoa_describe", "1"}};
  execute({&request});
  ASSERT_EQ(request.code, kRight) << request.message;
  const auto published = package::parse_published(request.response->parameters.at("tensoa_model"));
  EXPECT_EQ(published.named, package::NamedColumns::kNone);
  ASSERT_EQ(published.model.inputs.at(0).block->columns.size(), 2U);
  EXPECT_EQ(published.model.inputs[0].block->columns[1].name, "f1");
}

TEST_F(TritonBackend, RefusesAFileThatIsExchangedWhileItIsLoaded) {
  ASSERT_EQ(load_model(fused_package("fused")), "");
  const std::filesystem::path served = folder_.path() / "1" / "model.pt2";
  std::filesystem::copy_file(fused_package("fused"), folder_.path() / "next");
  std::filesystem::rename(folder_.path() / "next", served);
  EXPECT_THAT(load_instance(), HasSubstr("was changed while the server loaded it"));
}

TEST_F(TritonBackend, AnErrorStaysWithItsRequest) {
  load("fused");
  const Floats good("features", kFp32, 3, feature_values(9, 1));
  const Floats none("features", kFp32, 3, {});
  std::vector<TRITONBACKEND_Request> requests(6);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i] = request_of(i == 4 ? none.input : good.input);
  }
  requests[0].inputs[0].shape = {1, 9, 3};
  requests[2].is_cancelled = true;
  requests[3].inputs.clear();
  std::vector<TRITONBACKEND_Request*> batch;
  for (TRITONBACKEND_Request& request : requests) batch.push_back(&request);
  execute(batch);
  EXPECT_EQ(requests[0].code, TRITONSERVER_ERROR_INVALID_ARG);
  expect_preds(requests[1], good.values);
  EXPECT_EQ(requests[2].code, TRITONSERVER_ERROR_CANCELLED);
  EXPECT_EQ(requests[3].code, TRITONSERVER_ERROR_INVALID_ARG);
  expect_preds(requests[4], none.values);
  expect_preds(requests[5], good.values);
  EXPECT_THAT(instance_.reported, ElementsAre(false, true, false, false, true, true));
  EXPECT_THAT(instance_.batches, ElementsAre(6));
}

TEST_F(TritonBackend, AFailureOfTheServerIsAnswered) {
  load("fused");
  const Floats tensor("features", kFp32, 3, feature_values(4, 3));
  for (const char* function : {"TRITONBACKEND_InputProperties", "TRITONBACKEND_InputBuffer",
                               "TRITONBACKEND_ResponseOutput", "TRITONBACKEND_OutputBuffer",
                               "TRITONBACKEND_ResponseSetStringParameter"}) {
    faults().failing = function;
    TRITONBACKEND_Request request = request_of(tensor.input);
    EXPECT_THAT(refused(request, TRITONSERVER_ERROR_UNAVAILABLE), HasSubstr("the host fails"))
        << function;
  }
  for (const char* function :
       {"TRITONBACKEND_ResponseNew", "TRITONBACKEND_ResponseSend", "TRITONBACKEND_RequestRelease",
        "TRITONBACKEND_ModelInstanceReportStatistics"}) {
    faults().failing = function;
    log_lines().clear();
    TRITONBACKEND_Request request = request_of(tensor.input);
    execute({&request});
    EXPECT_THAT(log_lines(), ElementsAre(HasSubstr(function)));
  }
  faults() = {};
  faults().gives_no_memory = true;
  TRITONBACKEND_Request no_memory = request_of(tensor.input);
  EXPECT_THAT(refused(no_memory, TRITONSERVER_ERROR_UNAVAILABLE), HasSubstr("32 bytes"));
  faults() = {};
  faults().gives_gpu_memory = true;
  TRITONBACKEND_Request gpu = request_of(tensor.input);
  EXPECT_THAT(refused(gpu, TRITONSERVER_ERROR_UNSUPPORTED), HasSubstr("memory of a GPU"));
}

TEST_F(TritonBackend, ExecuteWithoutAnInstanceIsAnErrorOfAll) {
  TRITONBACKEND_Request request;
  TRITONBACKEND_Request* requests[] = {&request};
  EXPECT_THAT(text_of_error(TRITONBACKEND_ModelInstanceExecute(&instance_, requests, 1)),
              HasSubstr("not loaded"));
  EXPECT_EQ(request.released, 0);  // they stay with Triton
}

TEST_F(TritonBackend, RandomBatchesHaveTheBitsOfTheLocalEngine) {
  load("fused");
  std::mt19937 random(TENSOA_TEST_SEED);
  const auto below = [&](std::size_t most) { return random() % most; };
  for (int batch = 0; batch < 60; ++batch) {
    std::vector<std::unique_ptr<Floats>> tensors;
    std::vector<std::vector<std::byte>> copies;
    std::vector<TRITONBACKEND_Request> requests(1 + below(16));
    for (TRITONBACKEND_Request& request : requests) {
      const std::size_t rows = below(4) == 0 ? below(3000) : below(20);
      tensors.push_back(
          std::make_unique<Floats>("features", kFp32, 3, feature_values(rows, below(1000))));
      request = request_of(tensors.back()->input);
      const std::size_t bytes = tensors.back()->input.bytes;
      if (bytes == 0 || below(2) == 0) continue;
      // In two buffers that begin anywhere.
      const std::size_t offset = below(8);
      const std::size_t first = below(bytes + 1);
      copies.emplace_back(bytes + 8);
      std::memcpy(copies.back().data() + offset, tensors.back()->values.data(), bytes);
      request.inputs[0].buffers = {{copies.back().data() + offset, first},
                                   {copies.back().data() + offset + first, bytes - first}};
    }
    faults().output_offset = below(3) == 0 ? below(8) : 0;
    std::vector<TRITONBACKEND_Request*> all;
    for (TRITONBACKEND_Request& request : requests) all.push_back(&request);
    execute(all);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      expect_preds(requests[i], tensors[i]->values);
    }
  }
}

}  // namespace
}  // namespace tensoa
