// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The models of models/ on the CPU: the package against the TorchScript file, on the same columns. Rows, or for the graph
// network examples of 15, 131 and 748 clusters.

#include <benchmark/benchmark.h>

#include <string>

#include "calorimeter_clusters.hpp"
#include "examples.hpp"
#include "jet_images.hpp"
#include "shower_generator.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/pytorch/engines.hpp"
#include "trigger_autoencoder.hpp"

namespace tensoa::models {
namespace {

/// The collections of a model of one row in, one row out.
struct JetImages {
  static constexpr const char* kName = "jet_images";
  static constexpr std::size_t example_of(std::size_t) { return 0; }
  explicit JetImages(std::size_t rows) : images(rows, Device::cpu()), tags(rows, Device::cpu()) {}
  auto metadata() { return jet_images(images.const_view(), tags.view()); }
  std::size_t rows() const { return images.size(); }
  PortableCollection<JetImage> images;
  PortableCollection<JetTag> tags;
};

struct TriggerAutoencoder {
  static constexpr const char* kName = "trigger_autoencoder";
  static constexpr std::size_t example_of(std::size_t) { return 0; }
  explicit TriggerAutoencoder(std::size_t rows)
      : objects(rows, Device::cpu()),
        reconstruction(rows, Device::cpu()),
        anomaly(rows, Device::cpu()) {}
  auto metadata() {
    return trigger_autoencoder(objects.const_view(), reconstruction.view(), anomaly.view());
  }
  std::size_t rows() const { return objects.size(); }
  PortableCollection<TriggerObjects> objects, reconstruction;
  PortableCollection<Anomaly> anomaly;
};

struct ShowerGenerator {
  static constexpr const char* kName = "shower_generator";
  static constexpr std::size_t example_of(std::size_t) { return 0; }
  explicit ShowerGenerator(std::size_t rows)
      : seeds(rows, Device::cpu()), showers(rows, Device::cpu()) {}
  auto metadata() { return shower_generator(seeds.const_view(), showers.view()); }
  std::size_t rows() const { return seeds.size(); }
  PortableCollection<ShowerSeed> seeds;
  PortableCollection<Shower> showers;
};

/// An event: the argument is its number among the examples.
struct CalorimeterClusters {
  static constexpr const char* kName = "calorimeter_clusters";
  static constexpr std::size_t example_of(std::size_t argument) { return argument; }
  explicit CalorimeterClusters(std::size_t example)
      : clusters(count(example, "fraction"), Device::cpu()),
        pairs(count(example, "merge"), Device::cpu()) {}
  static std::size_t count(std::size_t example, const char* block) {
    return numbers_of<double>(example_file(kName, example, "out", block)).size();
  }
  auto metadata() {
    return calorimeter_clusters(clusters.const_view(), pairs.const_view(), pairs.view(),
                                clusters.view());
  }
  std::size_t rows() const { return clusters.size(); }
  PortableCollection<Cluster> clusters;
  PortableCollection<ClusterPair> pairs;
};

template <class Case, CompilationType kCompilation>
void forward(benchmark::State& state) {
  pytorch::register_engines();
  const auto argument = static_cast<std::size_t>(state.range(0));
  Case columns(argument);
  const auto metadata = columns.metadata();
  fill_inputs(metadata.binding(), Case::kName, Case::example_of(argument));
  const bool is_package = kCompilation == CompilationType::kAheadOfTime;
  const Model<kCompilation> model(TENSOA_MODELS + std::string(Case::kName) +
                                  (is_package ? "-cpu.pt2" : ".pt"));
  const Queue queue(Device::cpu());
  const auto plan = model.plan(metadata);
  CopyReport copies;
  for (int i = 0; i < 3; ++i) copies = model.forward(queue, plan);  // TorchScript optimises now
  for (auto _ : state) benchmark::DoNotOptimize(model.forward(queue, plan));
  const auto rows = static_cast<double>(columns.rows());
  state.counters["rows"] = rows;
  state.counters["bytes_copied"] = static_cast<double>(copies.bytes_in + copies.bytes_out);
  state.counters["rows/s"] =
      benchmark::Counter(rows, benchmark::Counter::kIsIterationInvariantRate);
}

void row_counts(benchmark::internal::Benchmark* benchmark) {
  for (const int rows : {1, 16, 1000, 10000}) benchmark->Arg(rows);
}

BENCHMARK(forward<TriggerAutoencoder, CompilationType::kAheadOfTime>)->Apply(row_counts);
BENCHMARK(forward<TriggerAutoencoder, CompilationType::kJustInTime>)->Apply(row_counts);
BENCHMARK(forward<ShowerGenerator, CompilationType::kAheadOfTime>)->Apply(row_counts);
BENCHMARK(forward<ShowerGenerator, CompilationType::kJustInTime>)->Apply(row_counts);
BENCHMARK(forward<JetImages, CompilationType::kAheadOfTime>)->Arg(1)->Arg(16)->Arg(1000);
BENCHMARK(forward<JetImages, CompilationType::kJustInTime>)->Arg(1)->Arg(16)->Arg(1000);
BENCHMARK(forward<CalorimeterClusters, CompilationType::kAheadOfTime>)->DenseRange(0, 2);
BENCHMARK(forward<CalorimeterClusters, CompilationType::kJustInTime>)->DenseRange(0, 2);

}  // namespace
}  // namespace tensoa::models
