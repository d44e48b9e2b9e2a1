// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "deploy/check_service.hpp"
#include "deploy/envoy.hpp"
#include "deploy/helm_chart.hpp"
#include "deploy/model_folder.hpp"
#include "deploy/triton_model.hpp"
#include "seams/remote_seam.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLoopback = "127.0.0.1";
constexpr int kEnvoyPort = 9001;
constexpr const char* kConfig = "config.pbtxt";  // marks a folder as ours, as
constexpr const char* kChart = "Chart.yaml";     // does this

struct DeployCall {
  TritonModelCall model;
  std::string to;
  std::string variant = "native";
  std::vector<std::string> envoy;
  std::string listen = kLoopback;
  std::string helm;
  std::string check;
  ServerOptions servers;
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

/// Where the back-end `tensoa` is, next to the program or where it was installed.
fs::path backends() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const fs::path& folder :
       {program / "triton_backends", program / ".." / TENSOA_LIBDIR / "triton_backends"}) {
    if (fs::exists(folder / "tensoa" / "libtriton_tensoa.so", ignored))
      return folder.lexically_normal();
  }
  return {};
}

void print_start(const DeployCall& call, const std::string& config) {
  const bool is_ours = config.find("backend: \"tensoa\"") != std::string::npos;
  const fs::path folder = is_ours ? backends() : fs::path();
  fmt::print(
      "start: tritonserver --model-repository={}{} --http-address=127.0.0.1 "
      "--grpc-address=127.0.0.1\n",
      call.to,
      is_ours ? " --backend-directory=" + (folder.empty() ? "FOLDER" : folder.string()) : "");
  if (is_ours && folder.empty()) {
    fmt::print(
        "  FOLDER has tensoa/libtriton_tensoa.so, which is not next to this program: `cmake "
        "--build "
        "build --target tensoa_triton_backend` builds it (docs/triton.md)\n");
  }
  fmt::print(
      "  for this host alone; without the addresses Triton listens on all interfaces, without "
      "authentication (docs/service.md)\n");
}

/// @throws InputError, ConfigError
Endpoint listen_of(const DeployCall& call) {
  Endpoint listen = parse_listen(call.listen);
  if (call.envoy.empty() && (listen.port != 0 || (call.helm.empty() && call.listen != kLoopback))) {
    throw ConfigError("--listen: got " + call.listen +
                      (call.helm.empty() ? ", which is for --envoy and --helm; expected one of them"
                                         : " without --envoy, expected an address without a port: "
                                           "the servers of a chart have port 8001"));
  }
  if (listen.port == 0) listen.port = kEnvoyPort;
  return listen;
}

int deploy(DeployCall call) {
  if (!call.check.empty()) {
    const bool are_equal =
        answers_equally(call.model.model, call.check, options_for(call.check, call.servers));
    return are_equal ? kSuccess : kFailure;
  }
  if (const std::string given = call.servers.first_given(); !given.empty()) {
    throw ConfigError(given + ": is for --check, which asks a server; leave it out with --to");
  }
  if (call.model.name.empty()) call.model.name = fs::path(call.model.model).stem().string();
  require_name(call.model.name);
  call.model.is_python = call.variant == "python";
  std::vector<Endpoint> servers;
  servers.reserve(call.envoy.size());
  for (const std::string& server : call.envoy) servers.push_back(parse_endpoint(server));
  const Endpoint listen = listen_of(call);
  const fs::path folder = fs::path(call.to) / call.model.name;
  const fs::path envoy = fs::path(call.to) / "envoy.yaml";
  const std::vector<std::uint64_t> served = served_versions(call.model, versions_in(folder));
  const std::vector<NewFile> files = triton_model(call.model);
  // Nothing is written before all of it can be.
  require_free(folder, kConfig);
  require_same_tensors(call.model, files, folder / kConfig, served);
  if (!servers.empty()) require_free_file(envoy);
  if (!call.helm.empty()) {
    require_outside(call.helm, call.to);
    require_free(call.helm, kChart);
  }

  write_folder(folder, files, kConfig);
  fmt::print("{}: version {}, {} files; served: {}\n", folder.string(), call.model.version,
             files.size(), fmt::join(served, ", "));
  print_start(call, files.front().text);
  const char* const rights =
      is_loopback(listen.host)
          ? ""
          : "; without TLS and authentication: every client that reaches it may run the models";
  if (!servers.empty()) {
    write_marked_file(envoy, envoy_yaml(servers, listen));
    fmt::print("{}: {} servers; listens on {}, its admin page on 127.0.0.1:19901{}\n",
               envoy.string(), servers.size(), to_string(listen), rights);
  }
  if (!call.helm.empty()) {
    write_folder(call.helm, helm_chart(call.model.name, listen.host), kChart);
    fmt::print("{}: a Helm chart, not run on a cluster; a server listens on {} of its pod{}\n",
               call.helm, listen.host,
               is_loopback(listen.host)
                   ? ", which `kubectl port-forward` reaches; --listen 0.0.0.0 "
                     "lets the pods of the namespace in"
                   : rights);
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
      ->add_option(
          "MODEL", call->model.model,
          "Package (.pt2), tree file, TorchScript file (.pt) or ONNX file; a package is made "
          "of a program of torch.export first")
      ->required();
  CLI::Option_group* const what = command->add_option_group("what", "One of them");
  what->require_option(1);
  what->add_option("--to", call->to, "The folder of the repository");
  what->add_option("--check", call->check,
                   "URL of the model on a server: compares its answers with those here, bit for "
                   "bit, and writes nothing");
  command->add_option("--name", call->model.name,
                      "Name of the Triton model (default: the file's, without its ending)");
  command->add_option("--version", call->model.version, "Version of the Triton model")
      ->check(CLI::Range(std::uint64_t{1}, kMostVersion))
      ->capture_default_str();
  command
      ->add_option("--version-policy", call->model.version_policy,
                   "The versions that the server offers: all, latest, or 1,3. A URL without a "
                   "version gets the highest of them")
      ->capture_default_str();
  command->add_option("--binding", call->model.binding,
                      "The columns of a TorchScript or ONNX file: a file of describe()");
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
  command
      ->add_option("--listen", call->listen,
                   "Where the Envoy of --envoy (ADDRESS or ADDRESS:PORT) and the servers of --helm "
                   "accept calls: 127.0.0.1 is their host or pod alone, 0.0.0.0 all interfaces")
      ->capture_default_str();
  add_server_options(*command, call->servers);
  command->callback([call, &action] { action = [call] { return deploy(*call); }; });
}

}  // namespace tensoa::tools
