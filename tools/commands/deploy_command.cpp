// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "deploy/check_service.hpp"
#include "deploy/infrastructure.hpp"
#include "deploy/model_folder.hpp"
#include "deploy/triton_model.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::tools {
namespace {

namespace fs = std::filesystem;

struct DeployCall {
  TritonModelCall model;
  std::string to;
  std::string variant = "native";
  std::vector<std::string> envoy;
  std::string helm;
  std::string check;
};

constexpr std::uint64_t kMostVersion = 1'000'000'000;

void require_name(const std::string& name) {
  constexpr std::size_t kLongest = 64;
  const bool is_right = !name.empty() && name.size() <= kLongest && name.front() != '.' &&
                        std::ranges::all_of(name, [](unsigned char c) {
                          return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
                        });
  if (is_right) return;
  throw InputError("the name of the Triton model: got \"" + name +
                   "\", expected 1 to 64 letters, digits, '_', '-' or '.', and no '.' at the "
                   "beginning; give one with --name");
}

/// Triton would take a folder in its repository for a model.
void require_outside(const fs::path& chart, const fs::path& repository) {
  const fs::path inside = fs::weakly_canonical(fs::absolute(chart))
                              .lexically_relative(fs::weakly_canonical(fs::absolute(repository)));
  if (!inside.empty() && *inside.begin() != "..") {
    throw InputError("--helm: got " + chart.string() + ", which lies in the repository " +
                     repository.string() +
                     ", where Triton takes every folder for a model; give a folder outside");
  }
}

int deploy(DeployCall call) {
  if (!call.check.empty())
    return answers_equally(call.model.model, call.check) ? kSuccess : kFailure;
  if (call.model.name.empty()) call.model.name = fs::path(call.model.model).stem().string();
  require_name(call.model.name);
  call.model.is_python = call.variant == "python";
  std::vector<Endpoint> servers;
  servers.reserve(call.envoy.size());
  for (const std::string& server : call.envoy) servers.push_back(parse_endpoint(server));
  if (!call.helm.empty()) require_outside(call.helm, call.to);

  const std::vector<NewFile> files = triton_model(call.model);
  const fs::path folder = fs::path(call.to) / call.model.name;
  write_folder(folder, files, "config.pbtxt");
  fmt::print("{}: version {}, {} files\n", folder.string(), call.model.version, files.size());
  if (!servers.empty()) {
    const fs::path envoy = fs::path(call.to) / "envoy.yaml";
    write_marked_file(envoy, envoy_yaml(servers));
    fmt::print("{}: {} servers, port 9001\n", envoy.string(), servers.size());
  }
  if (!call.helm.empty()) {
    write_folder(call.helm, helm_chart(call.model.name), "Chart.yaml");
    fmt::print("{}: a Helm chart, not run on a cluster\n", call.helm);
  }
  return kSuccess;
}

}  // namespace

void add_deploy_command(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("deploy",
                                             "Writes a Triton model repository: a package for the "
                                             "back-end tensoa, TorchScript for pytorch, ONNX for "
                                             "onnxruntime. A model of this name that this command "
                                             "wrote is replaced, its other versions are kept");
  auto call = std::make_shared<DeployCall>();
  command
      ->add_option("MODEL", call->model.model,
                   "Package (.pt2), tree file, TorchScript file (.pt) or ONNX file")
      ->required();
  CLI::Option_group* const what = command->add_option_group("what", "One of them");
  what->require_option(1);
  what->add_option("--to", call->to, "The folder of the repository");
  what->add_option("--check", call->check,
                   "URL of the package on a server: compares its answers with those here, bit for "
                   "bit, and writes nothing");
  command->add_option("--name", call->model.name,
                      "Of the Triton model (default: the file's, without its ending)");
  command->add_option("--version", call->model.version, "Of the Triton model")
      ->check(CLI::Range(std::uint64_t{1}, kMostVersion))
      ->capture_default_str();
  command->add_option("--binding", call->model.binding,
                      "The columns of a TorchScript or ONNX file: what describe() wrote");
  command
      ->add_option("--variant", call->variant,
                   "native, or python: a model.py that runs TorchScript or ONNX in any Triton")
      ->check(CLI::IsMember({"native", "python"}))
      ->capture_default_str();
  command->add_option("--envoy", call->envoy,
                      "HOST:PORT of Triton servers: also write TO/envoy.yaml, which spreads calls "
                      "over them");
  command->add_option("--helm", call->helm,
                      "Also write a Helm chart for Kubernetes, with autoscaling, to this folder");
  command->callback([call, &action] { action = [call] { return deploy(*call); }; });
}

}  // namespace tensoa::tools
