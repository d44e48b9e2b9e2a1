// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "calorimeter_clusters.hpp"
#include "examples.hpp"
#include "jet_images.hpp"
#include "shower_generator.hpp"
#include "tensoa/engine/describe.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/pytorch/engines.hpp"
#include "trigger_autoencoder.hpp"

namespace tensoa::models {
namespace {

constexpr double kTolerance = 1e-5;  // of the largest number of a block
constexpr float kUntouched = -77.F;
constexpr CopyReport kNothingCopied{};
constexpr auto kRowCounts = {0U, 1U, 2U, 33U, 300U};

std::string file(const std::string& name) { return TENSOA_MODELS + name; }

std::string text_of(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The largest difference from the float64 results of torch, over the largest of those.
double relative_error(const BoundBlock& block, const std::string& model, std::size_t example) {
  const auto expected = numbers_of<double>(example_file(model, example, "out", block.name));
  double error = 0;
  double largest = 1e-30;
  std::size_t next = 0;
  for_each_element(block.tensor, [&](std::int64_t offset) {
    const double exact = expected.at(next++);
    const double got = static_cast<const float*>(block.tensor.data)[offset];
    error = std::isfinite(got) ? std::max(error, std::abs(got - exact)) : INFINITY;
    largest = std::max(largest, std::abs(exact));
  });
  return error / largest;
}

void clear_outputs(const Binding& binding) {
  for (const BoundBlock& block : binding.outputs) {
    for_each_element(block.tensor, [&](std::int64_t offset) {
      static_cast<float*>(block.tensor.data)[offset] = kUntouched;
    });
  }
}

class ShippedModel : public testing::Test {
 protected:
  void SetUp() override { pytorch::register_engines(); }

  /// Package and TorchScript file of the model give what torch gives in float64.
  template <class Metadata>
  void expect_as_float64(const Metadata& metadata, const std::string& model, std::size_t example) {
    const Binding& binding = metadata.binding();
    fill_inputs(binding, model, example);
    for (const bool is_package : {true, false}) {
      clear_outputs(binding);
      if (is_package) {
        Model<CompilationType::kAheadOfTime> package(file(model + "-cpu.pt2"));
        package.to(queue_);
        EXPECT_EQ(package.forward(metadata), kNothingCopied);
      } else {
        Model<CompilationType::kJustInTime> script(file(model + ".pt"));
        script.to(queue_);
        EXPECT_EQ(script.forward(metadata).bytes_in, 0U);
      }
      for (const BoundBlock& block : binding.outputs) {
        EXPECT_LE(relative_error(block, model, example), kTolerance)
            << block.name << (is_package ? " of the package" : " of the TorchScript file");
      }
    }
  }

  Queue queue_{Device::cpu()};
};

// ---- one row in, one row out

template <class Run>
void for_each_row_count(const Run& run) {
  for (const std::size_t rows : kRowCounts) {
    SCOPED_TRACE(rows);
    run(rows);
  }
}

TEST_F(ShippedModel, JetImagesEqualFloat64) {
  for_each_row_count([&](std::size_t rows) {
    PortableCollection<JetImage> images(rows, Device::cpu());
    PortableCollection<JetTag> tags(rows, Device::cpu());
    expect_as_float64(jet_images(images.const_view(), tags.view()), "jet_images", 0);
  });
}

TEST_F(ShippedModel, TriggerAutoencoderEqualsFloat64) {
  for_each_row_count([&](std::size_t rows) {
    PortableCollection<TriggerObjects> objects(rows, Device::cpu());
    PortableCollection<TriggerObjects> reconstruction(rows, Device::cpu());
    PortableCollection<Anomaly> anomaly(rows, Device::cpu());
    expect_as_float64(
        trigger_autoencoder(objects.const_view(), reconstruction.view(), anomaly.view()),
        "trigger_autoencoder", 0);
  });
}

TEST_F(ShippedModel, ShowerGeneratorEqualsFloat64) {
  for_each_row_count([&](std::size_t rows) {
    PortableCollection<ShowerSeed> seeds(rows, Device::cpu());
    PortableCollection<Shower> showers(rows, Device::cpu());
    expect_as_float64(shower_generator(seeds.const_view(), showers.view()), "shower_generator", 0);
  });
}

TEST_F(ShippedModel, ShowersOfTheSameRandomNumbersAreTheSame) {
  const std::size_t rows = 50;
  PortableCollection<ShowerSeed> seeds(rows, Device::cpu());
  PortableCollection<Shower> first(rows, Device::cpu());
  PortableCollection<Shower> second(rows, Device::cpu());
  Model<CompilationType::kAheadOfTime> model(file("shower_generator-cpu.pt2"));
  model.to(queue_);
  const auto metadata = shower_generator(seeds.const_view(), first.view());
  fill_inputs(metadata.binding(), "shower_generator", 0);
  model.forward(metadata);
  model.forward(shower_generator(seeds.const_view(), second.view()));
  const auto& a = metadata.binding().outputs[0].tensor;
  const auto b = shower_generator(seeds.const_view(), second.view()).binding().outputs[0].tensor;
  for_each_element(a, [&](std::int64_t offset) {
    ASSERT_EQ(static_cast<float*>(a.data)[offset], static_cast<float*>(b.data)[offset]);
    ASSERT_GE(static_cast<float*>(a.data)[offset], 0.F);
  });
}

// ---- graphs

TEST_F(ShippedModel, CalorimeterClustersEqualFloat64) {
  const std::string model = "calorimeter_clusters";
  for (std::size_t example = 0; example < 3; ++example) {
    SCOPED_TRACE(example);
    const std::size_t nodes =
        numbers_of<double>(example_file(model, example, "out", "fraction")).size();
    const std::size_t edges =
        numbers_of<double>(example_file(model, example, "out", "merge")).size();
    ASSERT_GT(nodes, 0U);
    PortableCollection<Cluster> clusters(nodes, Device::cpu());
    PortableCollection<ClusterPair> pairs(edges, Device::cpu());
    expect_as_float64(calorimeter_clusters(clusters.const_view(), pairs.const_view(), pairs.view(),
                                           clusters.view()),
                      model, example);
  }
}

TEST_F(ShippedModel, ClustersWithoutPairsAreCorrectedToo) {
  PortableCollection<Cluster> clusters(20, Device::cpu());
  PortableCollection<ClusterPair> pairs(0, Device::cpu());
  const auto view = clusters.view();
  for (std::size_t i = 0; i < 20; ++i) {
    view.energy[i] = 1.F + static_cast<float>(i);
    view.eta[i] = 2.F;
    view.depth[i] = 10.F;
    view.time[i] = view.phi[i] = 0.F;
    view.width[i] = 0.01F;
    view.length[i] = 3.F;
    view.fraction[i] = kUntouched;
  }
  Model<CompilationType::kAheadOfTime> model(file("calorimeter_clusters-cpu.pt2"));
  model.to(queue_);
  model.forward(calorimeter_clusters(clusters.const_view(), pairs.const_view(), pairs.view(),
                                     clusters.view()));
  for (std::size_t i = 0; i < 20; ++i) {
    ASSERT_GE(view.fraction[i], 0.F);
    ASSERT_LE(view.fraction[i], 1.F);
  }
  EXPECT_GT(view.fraction[19], 0.8F) << "20 GeV in time: hardly noise";
}

// ---- columns

TEST_F(ShippedModel, ExamplesLieInTheColumnsThatTheirNamesSay) {
  PortableCollection<JetImage> images(3, Device::cpu());
  PortableCollection<JetTag> tags(3, Device::cpu());
  fill_inputs(jet_images(images.const_view(), tags.view()).binding(), "jet_images", 0);
  const auto pixels = numbers_of<float>(example_file("jet_images", 0, "in", "images"));
  const auto image = images.const_view();
  PortableCollection<ShowerSeed> seeds(3, Device::cpu());
  PortableCollection<Shower> showers(3, Device::cpu());
  fill_inputs(shower_generator(seeds.const_view(), showers.view()).binding(), "shower_generator",
              0);
  const auto latent = numbers_of<float>(example_file("shower_generator", 0, "in", "latent"));
  PortableCollection<TriggerObjects> objects(3, Device::cpu());
  PortableCollection<Anomaly> anomaly(3, Device::cpu());
  fill_inputs(trigger_autoencoder(objects.const_view(), objects.view(), anomaly.view()).binding(),
              "trigger_autoencoder", 0);
  const auto momenta = numbers_of<float>(example_file("trigger_autoencoder", 0, "in", "objects"));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(image.photons[i](7, 5), pixels[((i * 3 + 1) * 12 + 7) * 12 + 5]);
    EXPECT_EQ(image.neutrals[i](0, 11), pixels[((i * 3 + 2) * 12 + 0) * 12 + 11]);
    EXPECT_EQ(seeds.const_view().latent[i][9], latent[i * 16 + 9]);
    EXPECT_EQ(objects.const_view().met_pt[i], momenta[i * 57]);
    EXPECT_EQ(objects.const_view().jet9_phi[i], momenta[i * 57 + 56]);
  }
}

TEST_F(ShippedModel, BindingsInPythonAreThoseOfTheLayouts) {
  PortableCollection<Cluster> clusters(1, Device::cpu());
  PortableCollection<ClusterPair> pairs(1, Device::cpu());
  EXPECT_EQ(describe(calorimeter_clusters(clusters.const_view(), pairs.const_view(), pairs.view(),
                                          clusters.view())),
            to_json(parse_binding(text_of(file("calorimeter_clusters.json")))));
  PortableCollection<JetImage> images(1, Device::cpu());
  PortableCollection<JetTag> tags(1, Device::cpu());
  EXPECT_EQ(describe(jet_images(images.const_view(), tags.view())),
            to_json(parse_binding(text_of(file("jet_images.json")))));
  PortableCollection<ShowerSeed> seeds(1, Device::cpu());
  PortableCollection<Shower> showers(1, Device::cpu());
  EXPECT_EQ(describe(shower_generator(seeds.const_view(), showers.view())),
            to_json(parse_binding(text_of(file("shower_generator.json")))));
  PortableCollection<TriggerObjects> objects(1, Device::cpu());
  PortableCollection<TriggerObjects> reconstruction(1, Device::cpu());
  PortableCollection<Anomaly> anomaly(1, Device::cpu());
  EXPECT_EQ(
      describe(trigger_autoencoder(objects.const_view(), reconstruction.view(), anomaly.view())),
      to_json(parse_binding(text_of(file("trigger_autoencoder.json")))));
}

}  // namespace
}  // namespace tensoa::models
