// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

namespace tensoa::tools {
namespace {

void add_commands(CLI::App& program, Action& action) {
  add_compile_command(program, action);
  add_track_command(program, action);
  add_merge_command(program, action);
  add_graph_command(program, action);
  add_infer_command(program, action);
  add_check_command(program, action);
  add_inspect_command(program, action);
  add_deploy_command(program, action);
  add_top_command(program, action);
  add_describe_command(program, action);
}

}  // namespace
}  // namespace tensoa::tools

int main(int argc, char** argv) {
  return tensoa::cli::run(
      argc, argv,
      {.name = "tensoa",
       .description =
           "Machine-learning models on structure-of-arrays data, where the data already lies.",
       .add_commands = tensoa::tools::add_commands});
}
