// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "command.hpp"
#include "progress_bar.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/merge/device_event.hpp"
#include "tensoa/merge/event_source.hpp"
#include "tensoa/merge/writer.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"
#include "tensoa/track/writer.hpp"

namespace tensoa::tools {
namespace {

struct GraphCall {
  std::vector<std::string> inputs;
  std::string of = "hits";
  std::string output;
  std::string graph;
};

/// Writes the graph of each event by `write`.
template <class Source, class Write>
int write_graphs(const GraphCall& call, const std::vector<Source>& sources, const Write& write) {
  ProgressBar bar("graphs", sources.size());
  std::size_t failed = 0;
  const auto fail = [&](const Source& source, const std::string& reason) {
    ++failed;
    bar.clear();
    fmt::print(stderr, "tensoa: event {}: {}\n", source.name(), reason);
  };
  for (const Source& source : sources) {
    try {
      write(source.read());
    } catch (const InputError& error) {
      fail(source, error.what());
    } catch (const std::bad_alloc&) {
      fail(source, "there is not enough memory for this event");
    }
    bar.advance();
  }
  bar.clear();
  fmt::print("{} graphs in {}{}\n", sources.size() - failed, call.output,
             failed > 0 ? fmt::format(", {} events failed and left out", failed) : "");
  return failed == 0 ? kSuccess : kBadInput;
}

int write_graphs(const GraphCall& call) {
  if (call.of == "fragments") {
    if (!call.graph.empty()) {
      throw ConfigError(
          "--graph: got rules of pairs of hits with --of fragments, expected --of hits");
    }
    merge::DeviceEvent on_cpu{Queue(Device::cpu())};
    return write_graphs(call, merge::find_events(call.inputs), [&](merge::Event event) {
      on_cpu.start_graph(event);
      on_cpu.finish_graph();
      merge::write_graph(call.output, event.name, event.fragments.const_view(),
                         on_cpu.nodes().const_view(), on_cpu.edges().const_view());
    });
  }
  track::GraphBuilder builder(call.graph.empty() ? track::GraphRules()
                                                 : track::read_graph_rules(call.graph));
  return write_graphs(call, track::find_events(call.inputs), [&](track::Event event) {
    builder.build(event.hits.view());
    track::write_graph(call.output, event.name, event.hits.const_view(),
                       builder.edges().const_view());
  });
}

}  // namespace

void add_graph_command(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("graph",
                             "Writes candidate graphs for training: NAME-hits.parquet (or "
                             "NAME-fragments.parquet) and NAME-edges.parquet");
  auto call = std::make_shared<GraphCall>();
  command
      ->add_option("INPUT", call->inputs,
                   "Event files, folders of them, or generate:EVENTS[:SEED[:PARTICLES]]")
      ->required();
  command
      ->add_option("--of", call->of,
                   "hits: events of `tensoa track`; fragments: those of `tensoa merge`")
      ->check(CLI::IsMember({"hits", "fragments"}))
      ->capture_default_str();
  cli::add_path_option(*command, "--output", call->output,
                       "The folder to write to; made where it is missing")
      ->required();
  command->add_option(
      "--graph", call->graph,
      "Rules for candidate edges, as of `tensoa track --graph`; default: built-in cuts");
  command->callback([call, &action] { action = [call] { return write_graphs(*call); }; });
}

}  // namespace tensoa::tools
