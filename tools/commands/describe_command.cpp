// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/describe.hpp"

#include <memory>
#include <string>

#include "command.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/output_file.hpp"
#include "tensoa/merge/edge_network.hpp"
#include "tensoa/track/edge_scorer.hpp"

namespace tensoa::tools {
namespace {

struct DescribeCall {
  std::string output;
  std::string of = "hits";
  bool without_edge_columns = false;
};

int write_description(const DescribeCall& call) {
  if (call.of == "fragments") {
    if (call.without_edge_columns) {
      throw ConfigError(
          "--without-edge-columns: expected --of hits; the network of `tensoa merge` has "
          "edge_attr");
    }
    const PortableCollection<merge::Node> nodes(1, Device::cpu());
    PortableCollection<merge::Edge> links(1, Device::cpu());
    write_file(call.output, describe(merge::EdgeNetwork::bind(3, nodes.const_view(),
                                                              links.const_view(), links.view())));
    return kSuccess;
  }
  const PortableCollection<track::Hit> hits(1, Device::cpu());
  PortableCollection<track::Edge> edges(1, Device::cpu());
  const auto metadata = track::bind_edge_network(!call.without_edge_columns, hits.const_view(),
                                                 edges.const_view(), edges.view());
  write_file(call.output, describe(metadata));
  return kSuccess;
}

}  // namespace

void add_describe_command(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("describe",
                                             "Writes the input and output columns of the network "
                                             "of `track` or `merge`, for tensoa compile --binding");
  auto call = std::make_shared<DescribeCall>();
  cli::add_path_option(*command, "--output", call->output, "The .json file to write")->required();
  command
      ->add_option("--of", call->of,
                   "hits: the network of `tensoa track`; fragments: that of `tensoa merge`")
      ->check(CLI::IsMember({"hits", "fragments"}))
      ->capture_default_str();
  command->add_flag("--without-edge-columns", call->without_edge_columns,
                    "For a network forward(x, edge_index), without edge_attr");
  command->callback([call, &action] { action = [call] { return write_description(*call); }; });
}

}  // namespace tensoa::tools
