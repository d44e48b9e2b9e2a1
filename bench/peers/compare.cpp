// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Our packages against ONNX Runtime and SOFIE on the CPU, calls of one thread and of all: what run.py calls.
//     compare ONNXRUNTIME_LIBRARY PEERS_FOLDER PACKAGES_FOLDER RESULT.json [INPUT...]

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/packing_baseline.hpp"
#include "bench/result_file.hpp"
#include "bench/workloads.hpp"
#include "contenders.hpp"
#include "library.hpp"
#include "tensoa/core/output_file.hpp"
#include "tensoa/pytorch/engines.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"

namespace tensoa::peers {
namespace {

using bench::ForwardFiles;
using bench::GraphCase;
using bench::MlpCase;
using bench::ResultRow;

constexpr int kTurnsOfNetwork = 30;

struct Paths {
  std::string onnxruntime;
  std::filesystem::path peers;     ///< what run.py made
  std::filesystem::path packages;  ///< what `make bench-packages` made
};

/// Our models on the columns of a case, through Model.
template <class Case>
void add_ours(std::vector<Contender>& contenders, Case& work, const ForwardFiles& files,
              const Queue& queue) {
  const auto add = [&](const char* name, const Model<>& model, bool is_peer) {
    auto forward = [&work, &model, &queue, plan = model.plan(work.metadata())]() mutable {
      work.rebind(plan);
      model.forward(queue, plan);
    };
    contenders.push_back({name, forward,
                          [&work, forward]() mutable {
                            work.forget();
                            forward();
                            return work.answer();
                          },
                          is_peer});
  };
  add("jit_copy", files.torchscript, true);
  const auto blocks = std::make_shared<bench::PackingBaseline>(queue, work.metadata().binding());
  const auto packed = [blocks, &files] { blocks->run(files.torchscript); };
  contenders.push_back({"jit_packed", packed, [&work, packed] {
                          work.forget();
                          packed();
                          return work.answer();
                        }});
  add("aot", files.aot, true);
  add("aot_fused", files.aot_fused, false);
}

/// The fused program of the package by its C ABI (docs/package_format.md), nothing around it.
void add_bare_program(std::vector<Contender>& contenders, const Paths& paths, MlpCase& work) {
  struct Block {
    void* data;
    std::int64_t pitch;
  };
  using Run = void (*)(const Block*, const std::int64_t*, void*);
  using Workspace = std::int64_t (*)(const std::int64_t*);
  const std::filesystem::path library = paths.peers / "mlp.so";
  const auto run = reinterpret_cast<Run>(symbol(library, "tensoa_program_run"));
  const auto bytes = reinterpret_cast<Workspace>(symbol(library, "tensoa_program_workspace"));
  const auto metadata = work.metadata();
  const TensorView in = metadata.binding().inputs[0].tensor;
  const TensorView out = metadata.binding().outputs[0].tensor;
  const std::array<Block, 2> blocks{
      {{in.data, in.stride_of_dim[1]}, {out.data, out.stride_of_dim[1]}}};
  const auto rows = static_cast<std::int64_t>(work.size());
  const auto workspace =
      std::make_shared<Buffer>(Device::cpu(), static_cast<std::size_t>(bytes(&rows)));
  const auto call = [run, blocks, rows, workspace] {
    run(blocks.data(), &rows, workspace->data());
  };
  contenders.push_back({"fused_call", call,
                        [&work, call] {
                          work.forget();
                          call();
                          return work.answer();
                        },
                        /*is_peer=*/false});
}

void add_onnxruntime(std::vector<Contender>& contenders, const Paths& paths, const char* model,
                     const RowMajor& tensors, auto& work, const Queue& queue) {
  const std::filesystem::path file = paths.peers / (std::string(model) + ".onnx");
  contenders.push_back(onnxruntime(paths.onnxruntime, file, tensors));
  contenders.push_back(onnxruntime_packed(paths.onnxruntime, file, queue, work.metadata().binding(),
                                          [&work] { return work.answer(); }));
}

/// SOFIE's code for n rows; a session for each thread, because it has the memory of its layers.
Contender sofie(const Paths& paths, std::size_t n, const RowMajor& tensors) {
  const std::filesystem::path library = paths.peers / "sofie.so";
  const std::string name = "sofie_mlp_" + std::to_string(n);
  const auto open = reinterpret_cast<void* (*)()>(symbol(library, (name + "_open").c_str()));
  const auto call =
      reinterpret_cast<void (*)(void*, const float*, float*)>(symbol(library, name.c_str()));
  const auto run = [&tensors, call, session = open()] {
    call(session, tensors.numbers(0), tensors.numbers(1));
  };
  return {"sofie", run, [&tensors, run] {
            std::fill_n(tensors.numbers(1), 2, 0.F);
            run();
            return tensors.answer();
          }};
}

void compare_mlp(std::vector<ResultRow>& rows, const Paths& paths, const Queue& queue) {
  const ForwardFiles files(paths.packages, MlpCase::kModel, queue);
  for (const std::size_t n : std::initializer_list<std::size_t>{1, 16, 1000, 100'000, 1'000'000}) {
    for (const std::size_t threads : numbers_of_threads()) {
      std::deque<ThreadData<MlpCase>> data;
      std::vector<std::vector<Contender>> contenders(threads);
      for (std::vector<Contender>& of_thread : contenders) {
        auto& [own, work, packed] = data.emplace_back(n);
        add_onnxruntime(of_thread, paths, MlpCase::kModel, packed, work, own);
        of_thread.push_back(sofie(paths, n, packed));
        add_ours(of_thread, work, files, own);
        add_bare_program(of_thread, paths, work);
      }
      measure(rows, MlpCase::kModel, n, contenders, data[0].work.truth(files.truth), turns_of(n));
    }
  }
}

void compare_network(std::vector<ResultRow>& rows, const Paths& paths, const Queue& queue,
                     const std::vector<std::string>& inputs) {
  constexpr const bench::GraphModel& kNetwork = bench::kGraphModels[0];
  const ForwardFiles files(paths.packages, kNetwork.name, queue);
  track::GraphBuilder builder;
  for (const track::EventSource& source : track::find_events(inputs)) {
    track::Event event = source.read();
    const PortableCollection<track::Edge>& edges = builder.build(event.hits.view());
    for (const std::size_t threads : numbers_of_threads()) {
      std::deque<ThreadData<GraphCase>> data;
      std::vector<std::vector<Contender>> contenders(threads);
      for (std::vector<Contender>& of_thread : contenders) {
        auto& [own, work, packed] = data.emplace_back(kNetwork, event.hits, edges);
        add_onnxruntime(of_thread, paths, kNetwork.name, packed, work, own);
        add_ours(of_thread, work, files, own);
      }
      measure(rows, kNetwork.name, edges.size(), contenders, data[0].work.truth(files.truth),
              edges.size() < 10'000 ? kTurnsOfNetwork : 5);
    }
  }
}

int run(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr,
               "usage: compare ONNXRUNTIME_LIBRARY PEERS PACKAGES RESULT.json [INPUT...]\n");
    return 2;
  }
  std::string command;
  for (int i = 0; i < argc; ++i) command += (i > 0 ? " " : "") + std::string(argv[i]);
  try {
    pytorch::register_engines();
    const Paths paths{argv[1], argv[2], argv[3]};
    const Queue queue(Device::cpu());
    std::vector<ResultRow> rows;
    compare_mlp(rows, paths, queue);
    compare_network(rows, paths, queue, std::vector<std::string>(argv + 5, argv + argc));
    fmt::print("{}", bench::table_of(rows));
    write_file(argv[4],
               bench::result_file("peers", command, pytorch::torch_version(), rows).dump(2) + '\n');
  } catch (const Error& error) {
    fmt::print(stderr, "compare: {}\n", error.what());
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace tensoa::peers

int main(int argc, char** argv) { return tensoa::peers::run(argc, argv); }
