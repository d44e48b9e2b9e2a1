// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Packages made of ONNX files against ONNX Runtime on these files, calls of one thread and of all: what networks.py calls.
//     compare_networks describe FOLDER                                           FOLDER/NAME.json: the columns of each network
//     compare_networks run ONNXRUNTIME_LIBRARY FOLDER RESULT.json [INPUT...]     FOLDER/NAME.onnx and FOLDER/NAME.pt2

#include <fmt/core.h>

#include <cstddef>
#include <deque>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/result_file.hpp"
#include "bench/workloads.hpp"
#include "contenders.hpp"
#include "tensoa/core/output_file.hpp"
#include "tensoa/engine/describe.hpp"
#include "tensoa/events/impl/random.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"

namespace tensoa::peers {
namespace {

using bench::GraphCase;
using bench::MlpCase;
using bench::ResultRow;

// Of the rows of a call: ONNX Runtime has memory for each layer of all rows.
constexpr std::size_t kMostBytes = 100'000'000;
constexpr int kTurnsOfGraphs = 30;
constexpr bench::GraphModel kNetwork = bench::kGraphModels[0];

template <template <class> class F>
struct Candidate {
  F<Vector<float, 15>> features;
};
template <template <class> class F>
struct Score {
  F<float> answers;
};
template <template <class> class F>
struct Jet {
  F<Vector<float, 16>> features;
};
template <template <class> class F>
struct JetClasses {
  F<Vector<float, 5>> answers;
};
/// The 16 hardest particles of a jet, four numbers each.
template <template <class> class F>
struct JetParticles {
  F<Matrix<float, 16, 4>> features;
};

/// A network over n rows of one collection.
template <template <template <class> class> class In, template <template <class> class> class Out>
class RowCase {
 public:
  RowCase(std::size_t n, const Queue& queue) : in_(n, queue.device()), out_(n, queue.device()) {
    events::Random random(n);
    auto* const numbers = reinterpret_cast<float*>(in_.data());
    for (std::size_t i = 0; i < in_.bytes() / sizeof(float); ++i)
      numbers[i] = static_cast<float>(random.uniform(-2, 2));
  }

  auto metadata() {
    SoAMetadata<In> inputs(in_.size());
    inputs.append_block("features", in_.const_view().records().features());
    SoAMetadata<Out> outputs(out_.size());
    outputs.append_block("answers", out_.view().records().answers());
    return ModelMetadata(inputs, outputs);
  }
  void rebind(Plan<In, Out>& plan) { plan.rebind(in_.const_view(), out_.view()); }

 private:
  PortableCollection<In> in_;
  PortableCollection<Out> out_;
};

/// Compares packages of networks with ONNX Runtime, whose answers are the reference for errors.
class Comparison {
 public:
  Comparison(std::string onnxruntime, std::filesystem::path folder)
      : onnxruntime_(std::move(onnxruntime)), folder_(std::move(folder)) {}

  /// Calls of one thread and of all, each with a separate Case. @param arguments of its constructor, in front of the queue
  template <class Case, class... Arguments>
  void add(const char* name, std::size_t n, int turns, const Arguments&... arguments) {
    const Model<> model(folder_ / (std::string(name) + ".pt2"));
    for (const std::size_t threads : numbers_of_threads()) {
      std::deque<ThreadData<Case>> data;
      std::vector<std::vector<Contender>> contenders(threads);
      for (std::vector<Contender>& of_thread : contenders) {
        auto& [queue, work, packed] = data.emplace_back(arguments...);
        of_thread = {onnxruntime(onnxruntime_, folder_ / (std::string(name) + ".onnx"), packed),
                     {"tensoa",
                      [&work, &model, &queue, plan = model.plan(work.metadata())]() mutable {
                        work.rebind(plan);
                        model.forward(queue, plan);
                      },
                      [&work] { return RowMajor(work.metadata().binding()).answer(); },
                      /*is_peer=*/false}};
      }
      contenders[0][0].run();
      const std::vector<float> truth = contenders[0][0].answer();
      measure(rows_, name, n, contenders, {truth.begin(), truth.end()}, turns);
    }
  }

  const std::vector<ResultRow>& rows() const { return rows_; }

 private:
  std::string onnxruntime_;
  std::filesystem::path folder_;
  std::vector<ResultRow> rows_;
};

/// Calls `f.operator()<Case>(name)` for each network over rows.
template <class F>
void for_each_row_network(F f) {
  f.template operator()<MlpCase>("mlp_3x64x64x2");
  f.template operator()<RowCase<Candidate, Score>>("mlp_15x64x64x1");
  f.template operator()<RowCase<Jet, JetClasses>>("jet_tagger_16x64x32x32x5");
  f.template operator()<RowCase<JetParticles, JetClasses>>("deep_sets_16x4");
}

void describe_all(const std::filesystem::path& folder) {
  const Queue queue(Device::cpu());
  for_each_row_network([&]<class Case>(const char* name) {
    write_file((folder / (std::string(name) + ".json")).string(),
               describe(Case(1, queue).metadata()));
  });
  const PortableCollection<track::Hit> hits(1, queue.device());
  const PortableCollection<track::Edge> edges(1, queue.device());
  GraphCase work(kNetwork, hits, edges, queue);
  write_file((folder / (std::string(kNetwork.name) + ".json")).string(), describe(work.metadata()));
}

template <class Case>
std::size_t bytes_of_inputs(std::size_t n) {
  const Queue queue(Device::cpu());
  Case row(1, queue);
  return n * static_cast<std::size_t>(row.metadata().binding().inputs[0].tensor.bytes());
}

std::vector<ResultRow> run(const char* library, const char* folder,
                           const std::vector<std::string>& inputs) {
  package::register_engines();
  Comparison comparison(library, folder);
  for (const std::size_t n : std::initializer_list<std::size_t>{1, 16, 1000, 100'000, 1'000'000}) {
    for_each_row_network([&]<class Case>(const char* name) {
      if (bytes_of_inputs<Case>(n) <= kMostBytes) {
        comparison.add<Case>(name, n, turns_of(n), n);
      } else {
        fmt::print("left out: {} with {} rows, because they have more than {} MB\n", name, n,
                   kMostBytes / 1'000'000);
      }
    });
  }
  track::GraphBuilder builder;
  for (const track::EventSource& source : track::find_events(inputs)) {
    track::Event event = source.read();
    const PortableCollection<track::Edge>& edges = builder.build(event.hits.view());
    comparison.add<GraphCase>(kNetwork.name, edges.size(), kTurnsOfGraphs, kNetwork, event.hits,
                              edges);
  }
  return comparison.rows();
}

int main_of(const std::vector<std::string>& arguments) {
  const std::string_view action =
      arguments.size() > 1 ? std::string_view(arguments[1]) : std::string_view();
  if (action == "describe" && arguments.size() == 3) {
    describe_all(arguments[2]);
    return 0;
  }
  if (action != "run" || arguments.size() < 5) {
    fmt::print(stderr,
               "usage: compare_networks describe FOLDER\n"
               "       compare_networks run ONNXRUNTIME_LIBRARY FOLDER RESULT.json [INPUT...]\n");
    return 2;
  }
  std::string command;
  for (const std::string& argument : arguments) command += (command.empty() ? "" : " ") + argument;
  const auto rows =
      run(arguments[2].c_str(), arguments[3].c_str(), {arguments.begin() + 5, arguments.end()});
  fmt::print("{}", bench::table_of(rows));
  write_file(arguments[4], bench::result_file("networks", command, "", rows).dump(2) + '\n');
  return 0;
}

}  // namespace
}  // namespace tensoa::peers

int main(int argc, char** argv) {
  try {
    return tensoa::peers::main_of({argv, argv + argc});
  } catch (const tensoa::Error& error) {
    fmt::print(stderr, "compare_networks: {}\n", error.what());
    return 2;
  }
}
