// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/forest/engines.hpp"
#include "tensoa/forest/forest.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "tree_files.hpp"

namespace {

using namespace tensoa;
using tensoa::test::Matrix;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// The seven features of the files, of several kinds and dtypes.
template <template <class> class F>
struct Features {
  F<float> between, a, b;
  F<double> c, d;
  F<Vector<float, 2>> pair;
  F<float> last;
};
template <template <class> class F>
struct Answers {
  F<float> unused, margin;
  F<double> precise;
  F<std::int32_t> whole;
};

class TreeFiles : public testing::Test {
 protected:
  void SetUp() override { forest::register_engines(); }

  static std::filesystem::path path(const std::string& name) {
    return std::filesystem::path(TENSOA_TREE_FILES) / name;
  }

  explicit TreeFiles(const std::string& name = "xgboost_regression.json")
      : model(path(name)), rows(std::filesystem::path(model).replace_extension(".rows")) {}

  void fill() {
    const auto view = features.view();
    for (std::size_t r = 0; r < rows.rows; ++r) {
      const auto row = rows.row(r);
      view.a[r] = static_cast<float>(row[0]);
      view.b[r] = static_cast<float>(row[1]);
      view.c[r] = row[2];
      view.d[r] = row[3];
      view.pair[r][0] = static_cast<float>(row[4]);
      view.pair[r][1] = static_cast<float>(row[5]);
      view.last[r] = static_cast<float>(row[6]);
    }
  }

  /// Three blocks of features, in order. The one of several dtypes has to request a copy, which trees do not need.
  template <class... Outputs>
  ModelMetadata<Features, Answers> metadata(const Outputs&... outputs) {
    const auto in = features.const_view().records();
    SoAMetadata<Features> inputs(rows.rows);
    inputs.append_block(Repack{DType::kF64}, "numbers", in.a(), in.b(), in.c(), in.d());
    inputs.append_block("pair", in.pair());
    inputs.append_block("last", in.last());
    SoAMetadata<Answers> out(rows.rows);
    out.append_block("answers", outputs...);
    return {inputs, out, Match::kByOrder};
  }

  std::filesystem::path model;
  Matrix rows;
  PortableCollection<Features> features{rows.rows, Device::cpu()};
  PortableCollection<Answers> answers{rows.rows, Device::cpu()};
  Queue queue{Device::cpu()};
};

TEST_F(TreeFiles, GiveTheFrameworksMarginsOnColumnsOfAnyDtypeAndPlaceWithoutACopy) {
  fill();
  const Matrix margins(std::filesystem::path(model).replace_extension(".margins"));
  const auto out = answers.view();
  // [load]
  Model<> trees(model, forest::Options{.margin = true});  // model.json, model.ubj, model.txt
  const auto plan = trees.plan(metadata(out.records().margin()));
  const CopyReport copies = trees.forward(queue, plan);  // 0 bytes
  // [/load]
  EXPECT_EQ(copies.bytes_in + copies.bytes_out, 0U);
  for (std::size_t r = 0; r < rows.rows; ++r) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(out.margin[r]),
              std::bit_cast<std::uint32_t>(static_cast<float>(margins.row(r)[0])))
        << "row " << r;
  }
}

TEST_F(TreeFiles, AnswersAreMarginsThroughTheLink) {
  fill();
  Model<> trees(path("xgboost_binary.json"));
  Model<> margins(path("xgboost_binary.json"), forest::Options{.margin = true});
  const auto out = answers.view();
  trees.forward(queue, trees.plan(metadata(out.records().margin())));
  margins.forward(queue, margins.plan(metadata(out.records().unused())));
  for (std::size_t r = 0; r < rows.rows; ++r) {
    ASSERT_FLOAT_EQ(out.margin[r], 1 / (1 + std::exp(-out.unused[r]))) << "row " << r;
  }
}

TEST_F(TreeFiles, AnAnswerMayLieOnAFeatureRowOnRow) {
  fill();
  Model<> trees(model);
  const auto out = answers.view();
  trees.forward(queue, trees.plan(metadata(out.records().margin())));
  const auto in = features.view().records();
  SoAMetadata<Features> inputs(rows.rows);
  inputs.append_block(Repack{DType::kF64}, "numbers", in.a(), in.b(), in.c(), in.d());
  inputs.append_block("pair", in.pair());
  inputs.append_block("last", in.last());
  SoAMetadata<Features> outputs(rows.rows);
  outputs.append_block("answers", in.a());
  trees.forward(queue, trees.plan(ModelMetadata(inputs, outputs, Match::kByOrder)));
  for (std::size_t r = 0; r < rows.rows; ++r) {
    ASSERT_EQ(features.view().a[r], out.margin[r]) << "row " << r;
  }
}

TEST_F(TreeFiles, PlansForColumnsOfTheSameDtypesShareTheTrees) {
  const auto memory = [] {
    const auto held = mallinfo2();  // zero under a sanitizer
    return held.uordblks + held.hblkhd;
  };
  Model<> trees(path("xgboost_regression.json"));
  const auto out = answers.view();
  std::vector<std::size_t> growth;
  std::vector<decltype(trees.plan(metadata(out.records().margin())))> plans;
  plans.reserve(8);
  for (int i = 0; i < 8; ++i) {
    const std::size_t before = memory();
    plans.push_back(trees.plan(metadata(out.records().margin())));
    growth.push_back(memory() - before);
  }
  EXPECT_THAT(std::vector(growth.begin() + 1, growth.end()),
              testing::Each(testing::Le(growth[0] / 2)))
      << "the first plan compiles the trees: " << growth[0] << " bytes";
  trees.forward(queue, plans.back());
}

TEST_F(TreeFiles, WrongBindingsAreRefusedBeforeACall) {
  Model<> trees(model);
  const auto out = answers.view().records();
  EXPECT_THAT(
      [&] { trees.plan(metadata(out.unused(), out.margin())); },
      ThrowsMessage<BindingError>(HasSubstr("gives 1 outputs a row, got 2 output columns")));
  EXPECT_THAT([&] { trees.plan(metadata(out.whole())); },
              ThrowsMessage<BindingError>(
                  HasSubstr("is of int32, expected float32 or float64 for answers")));
  const auto in = features.const_view().records();
  SoAMetadata<Features> inputs(rows.rows);
  inputs.append_block("numbers", in.a(), in.b());
  SoAMetadata<Answers> outputs(rows.rows);
  outputs.append_block("answers", out.margin());
  EXPECT_THAT([&] { trees.plan(ModelMetadata(inputs, outputs, Match::kByOrder)); },
              ThrowsMessage<BindingError>(AllOf(HasSubstr("takes 7 columns, got 2"),
                                                HasSubstr("bind one for each feature"))));
}

template <template <class> class F>
struct Named {
  F<float> pt, eta_jet, phi, n_tracks;
};

/// The model with other names of its features.
std::filesystem::path file_with_names(const std::string& names, const char* file) {
  std::string text = tensoa::test::tree_file("xgboost_regression.json");
  const std::string key = "\"feature_names\":[";
  const auto begin = text.find(key) + key.size();
  text.replace(begin, text.find(']', begin) - begin, names);
  auto path = std::filesystem::path(testing::TempDir()) / file;
  std::ofstream(path) << text;
  return path;
}

TEST_F(TreeFiles, AFeatureWithoutAColumnIsNamedWithTheNearestColumn) {
  const std::string names = R"("pt","eta_jets","phi","n_tracks","x","y","z")";
  Model<> trees(file_with_names(names, "names.json"));
  PortableCollection<Named> named(4, Device::cpu());
  const auto in = named.const_view().records();
  SoAMetadata<Named> inputs(4);
  inputs.append_block("kinematics", in.pt(), in.eta_jet(), in.phi(), in.n_tracks());
  PortableCollection<Answers> few(4, Device::cpu());
  SoAMetadata<Answers> outputs(4);
  outputs.append_block("answers", few.view().records().margin());
  EXPECT_THAT([&] { trees.plan(ModelMetadata(inputs, outputs)); },
              ThrowsMessage<BindingError>(AllOf(HasSubstr("feature \"eta_jets\" is not a column"),
                                                HasSubstr("pt, eta_jet, phi, n_tracks"),
                                                HasSubstr("nearest is eta_jet"))));
  EXPECT_THAT([&] { trees.plan(ModelMetadata(inputs, outputs, Match::kByOrder)); },
              ThrowsMessage<BindingError>(HasSubstr("takes 7 columns, got 4")));
}

TEST_F(TreeFiles, FilesThatAreNoTreesAreNotTaken) {
  const auto file = std::filesystem::path(testing::TempDir()) / "no_trees.json";
  std::ofstream(file) << "{\"learned\": 1}";
  EXPECT_THAT([&] { Model<>{file}; }, testing::Throws<LoadError>());
}

TEST_F(TreeFiles, ADescriptionTakesNoMemoryForColumnsThatAreOnlyCounted) {
  const auto file = file_with_names("", "without_names.json");
  const package::ModelDescription seven = package::inspect(file);
  EXPECT_EQ(seven.match, Match::kByOrder);
  EXPECT_EQ(seven.binding->inputs.front().columns.size(), 7U);
  EXPECT_EQ(package::inspect(model).match, Match::kByName);
  std::string text = tensoa::test::read_file(file);
  const std::string count = "\"num_feature\":\"7\"";
  text.replace(text.rfind(count), count.size(), "\"num_feature\":\"2147483647\"");
  std::ofstream(file) << text;
  const package::ModelDescription many = package::inspect(file);
  EXPECT_FALSE(many.binding.has_value());
  EXPECT_THAT(many.forest_facts,
              testing::Contains(testing::Pair("features", testing::StartsWith("2147483647, "))));
}

/// Every file, on columns of float64, whatever form its trees have.
TEST(TreeFile, CompiledGivesTheFrameworksMargins) {
  for (const char* const framework : {"xgboost_", "lightgbm_"}) {
    for (const char* const ending : {".json", ".txt"}) {
      for (const std::filesystem::path& file : tensoa::test::tree_files(framework, ending)) {
        SCOPED_TRACE(file.filename());
        forest::Ensemble ensemble = forest::read_tree_file(file);
        ensemble.link = forest::Link::kNone;
        const Matrix rows(std::filesystem::path(file).replace_extension(".rows"));
        const Matrix margins(std::filesystem::path(file).replace_extension(".margins"));
        const std::vector<DType> dtypes(ensemble.columns, DType::kF64);
        const forest::Forest compiled(ensemble, dtypes);
        std::vector<double> got(rows.rows * ensemble.outputs);
        const auto stride = static_cast<std::int64_t>(rows.columns);
        std::vector<forest::Column> columns;
        for (std::size_t c = 0; c < rows.columns; ++c) {
          columns.push_back(
              {reinterpret_cast<const std::byte*>(rows.values.data() + c), stride, DType::kF64});
        }
        std::vector<forest::AnswerColumn> answers;
        const auto outputs = static_cast<std::int64_t>(ensemble.outputs);
        for (std::size_t k = 0; k < ensemble.outputs; ++k) {
          answers.push_back({reinterpret_cast<std::byte*>(got.data() + k), outputs, DType::kF64});
        }
        compiled.run(Queue(Device::cpu()), columns, answers, static_cast<std::int64_t>(rows.rows));
        for (std::size_t i = 0; i < got.size(); ++i) {
          ASSERT_EQ(std::bit_cast<std::uint64_t>(got[i]),
                    std::bit_cast<std::uint64_t>(margins.values[i]))
              << "row " << i / ensemble.outputs;
        }
      }
    }
  }
}

}  // namespace
