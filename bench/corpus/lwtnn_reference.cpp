// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
//
// The results of LWTNN itself: lwtnn_reference NETWORK.json < rows > answers. A row has all variables in the order of the file.

#include <cstddef>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <lwtnn/LightweightGraph.hh>
#include <lwtnn/LightweightNeuralNetwork.hh>
#include <lwtnn/parse_json.hh>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Values = std::map<std::string, double>;

struct Network {
  std::vector<std::vector<lwt::Input>> inputs;  ///< of each input node, or of the network
  std::vector<std::string> labels;
  std::function<Values(const std::vector<Values>&)> compute;
};

Network sequential(std::istream& file) {
  const lwt::JSONConfig config = lwt::parse_json(file);
  auto network =
      std::make_shared<lwt::LightweightNeuralNetwork>(config.inputs, config.layers, config.outputs);
  return {{config.inputs}, config.outputs, [network](const std::vector<Values>& values) {
            return network->compute(values.front());
          }};
}

Network graph(std::istream& file) {
  const lwt::GraphConfig config = lwt::parse_json_graph(file);
  const auto& [name, output] = *config.outputs.begin();
  auto network = std::make_shared<lwt::LightweightGraph>(config, name);
  Network made{{}, output.labels, {}};
  std::vector<std::string> names;
  for (const lwt::InputNodeConfig& input : config.inputs) {
    made.inputs.push_back(input.variables);
    names.push_back(input.name);
  }
  made.compute = [network, names](const std::vector<Values>& values) {
    std::map<std::string, Values> nodes;
    for (std::size_t i = 0; i < names.size(); ++i) nodes[names[i]] = values[i];
    return network->compute(nodes);
  };
  return made;
}

Network load(const char* path) {
  try {
    std::ifstream file(path);
    return sequential(file);
  } catch (const std::exception&) {
    std::ifstream file(path);
    return graph(file);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("expected one argument, a network in JSON");
    const Network network = load(argv[1]);
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream row(line);
      std::vector<Values> values;
      for (const std::vector<lwt::Input>& variables : network.inputs) {
        values.emplace_back();
        for (const lwt::Input& variable : variables) row >> values.back()[variable.name];
      }
      if (!row) throw std::runtime_error("a row has too few numbers");
      const Values answers = network.compute(values);
      for (const std::string& label : network.labels) std::printf("%.17g ", answers.at(label));
      std::printf("\n");
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
