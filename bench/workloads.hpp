// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "bench/float64.hpp"
#include "bench/models/mlp_columns.hpp"
#include "bench/tensor_cost.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/events/impl/random.hpp"
#include "tensoa/package/options.hpp"
#include "tensoa/track/edge_scorer.hpp"

/// @file
/// The models that are compared call by call (suites/forward.cpp, peers/): their columns, and
/// their files in the folder that `make bench-packages` fills. A case has columns on the device of its
/// queue, a plan over them, what the model answered, and what it should have answered.

namespace tensoa::bench {

template <template <class> class F>
struct Points64 {
  F<double> x, y, z;
};
template <template <class> class F>
struct Answers64 {
  F<double> m, n;
};

/// The same columns as mlp_metadata, in float64.
inline ModelMetadata<Points64, Answers64> mlp_metadata64(ConstView<Points64> points,
                                                         View<Answers64> answers) {
  SoAMetadata<Points64> inputs(points.size());
  inputs.append_block("features", points.records().x(), points.records().y(), points.records().z());
  SoAMetadata<Answers64> outputs(answers.size());
  outputs.append_block("preds", answers.records().m(), answers.records().n());
  return {inputs, outputs};
}

/// Columns of float32 in host memory, wherever they came from.
inline std::vector<float> on_host(const Queue& queue, std::initializer_list<const float*> columns,
                                  std::size_t n) {
  std::vector<float> numbers(columns.size() * n);
  std::size_t column = 0;
  for (const float* from : columns) {
    copy_bytes(queue, numbers.data() + n * column++, Device::cpu(), from, queue.device(),
               n * sizeof(float));
  }
  queue.wait();
  return numbers;
}

/// The multi-layer perceptron 3-64-64-2 over n rows.
class MlpCase {
 public:
  static constexpr const char* kModel = "mlp";

  const char* model() const { return kModel; }

  MlpCase(std::size_t n, const Queue& queue)
      : queue_(queue),
        host_(n, Device::cpu()),
        points_(n, queue.device()),
        answers_(n, queue.device()) {
    events::Random random(n);
    const View<Points> point = host_.view();
    for (std::size_t i = 0; i < n; ++i) {
      for (const auto& column : {point.x, point.y, point.z}) {
        column[i] = static_cast<float>(random.uniform(-2, 2));
      }
    }
    copy(queue, host_, points_);
    queue.wait();
  }

  std::size_t size() const { return points_.size(); }
  auto metadata() { return mlp_metadata(points_.const_view(), answers_.view()); }
  void rebind(Plan<Points, Answers>& plan) { plan.rebind(points_.const_view(), answers_.view()); }

  std::vector<float> answer() const {
    const ConstView<Answers> answer = answers_.const_view();
    return on_host(queue_, {answer.m.data(), answer.n.data()}, size());
  }
  void forget() { zero_bytes(queue_, answers_.data(), answers_.bytes()); }

  std::vector<double> truth(const Model<>& model64) const {
    PortableCollection<Points64> points(size(), Device::cpu());
    PortableCollection<Answers64> answers(size(), Device::cpu());
    const View<Points64> to = points.view();
    const ConstView<Points> from = host_.const_view();
    std::copy_n(from.x.data(), size(), to.x.data());
    std::copy_n(from.y.data(), size(), to.y.data());
    std::copy_n(from.z.data(), size(), to.z.data());
    model64.forward(Queue(Device::cpu()),
                    model64.plan(mlp_metadata64(points.const_view(), answers.view())));
    const View<Answers64> answer = answers.view();
    std::vector<double> numbers(answer.m.data(), answer.m.data() + size());
    numbers.insert(numbers.end(), answer.n.data(), answer.n.data() + size());
    return numbers;
  }

 private:
  const Queue& queue_;
  PortableCollection<Points> host_;
  PortableCollection<Points> points_;
  PortableCollection<Answers> answers_;
};

/// A graph network: our own, or the Exa.TrkX one, which identifies edges by their hits alone.
struct GraphModel {
  const char* name;
  bool takes_edge_columns;
};
inline constexpr GraphModel kGraphModels[] = {{"edge_network", true}, {"exatrkx", false}};

/// A graph network over the candidate edges of an event.
class GraphCase {
 public:
  GraphCase(const GraphModel& model, const PortableCollection<track::Hit>& hits,
            const PortableCollection<track::Edge>& edges, const Queue& queue)
      : model_(model),
        queue_(queue),
        host_hits_(hits),
        host_edges_(edges),
        hits_(hits.size(), queue.device()),
        edges_(edges.size(), queue.device()) {
    copy(queue, hits, hits_);
    copy(queue, edges, edges_);
    queue.wait();
  }

  const char* model() const { return model_.name; }
  std::size_t size() const { return edges_.size(); }
  auto metadata() {
    return track::bind_edge_network(model_.takes_edge_columns, hits_.const_view(),
                                    edges_.const_view(), edges_.view());
  }
  void rebind(Plan<track::Hit, track::Edge, track::Edge>& plan) {
    plan.rebind(hits_.const_view(), edges_.const_view(), edges_.view());
  }

  std::vector<float> answer() const {
    return on_host(queue_, {edges_.const_view().score.data()}, size());
  }
  void forget() { zero_bytes(queue_, edges_.view().score.data(), size() * sizeof(float)); }

  std::vector<double> truth(const Model<>& model64) const {
    return scores_in_float64(model64, host_hits_.const_view(), host_edges_.const_view());
  }

 private:
  const GraphModel& model_;
  const Queue& queue_;
  const PortableCollection<track::Hit>& host_hits_;
  const PortableCollection<track::Edge>& host_edges_;
  PortableCollection<track::Hit> hits_;
  PortableCollection<track::Edge> edges_;
};

/// A file of the folder that `make bench-packages` fills. @throws InputError where it is not there
inline std::filesystem::path file_of_packages(const std::string& folder, const std::string& name) {
  std::filesystem::path path = std::filesystem::path(folder) / name;
  if (std::filesystem::exists(path)) return path;
  throw InputError(path.string() +
                   ": there is no such file; `make bench-packages` writes it, on a machine with "
                   "a GPU also what is for CUDA");
}

/// The fused package of a model. @throws InputError where it is not there
inline std::filesystem::path fused_package(const std::string& folder, const std::string& model,
                                           Device device) {
  return file_of_packages(folder, model + (device.is_cpu() ? "-cpu" : "-cuda") + "-fused.pt2");
}

/// The files of one model for one device.
struct ForwardFiles {
  ForwardFiles(const std::string& folder, const std::string& model, const Queue& queue)
      : torchscript(file_of_packages(folder, model + ".pt")),
        truth(torchscript.location(), in_float64()),
        exported(file_of_packages(folder, model + "-jit.pt2")),
        aot(file_of_packages(folder, model + '-' + target(queue) + "-plain.pt2")),
        aot_fused(fused_package(folder, model, queue.device())),
        aot_graph(aot_fused.location(), package::Options{.cuda_graphs = true}) {}

  Model<> torchscript, truth, exported, aot, aot_fused;
  Model<> aot_graph;  ///< aot_fused in a CUDA graph; not for the CPU

 private:
  static std::string target(const Queue& queue) { return queue.device().is_cpu() ? "cpu" : "cuda"; }
};

}  // namespace tensoa::bench
