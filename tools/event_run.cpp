// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "event_run.hpp"

namespace tensoa::tools {

void require_call(const EventCall& call) {
  if (!(call.min_score >= 0 && call.min_score <= 1)) {
    throw ConfigError(fmt::format("--cut: got {}, expected 0 to 1", call.min_score));
  }
  std::vector<std::string> files = call.inputs;
  for (const std::string& output :
       {call.output, call.report, call.json, call.trace, call.metrics}) {
    if (output.empty()) continue;
    for (const std::string& other : files) {
      std::error_code ignored;
      const bool is_same = other == output || std::filesystem::equivalent(other, output, ignored);
      const bool is_special = std::filesystem::exists(output, ignored) &&
                              !std::filesystem::is_regular_file(output, ignored);
      if (is_same && !is_special) {
        throw ConfigError(output +
                          " is named twice, and would be overwritten; expected different files");
      }
    }
    files.push_back(output);
  }
}

std::vector<Device> devices_of(const std::vector<std::string>& names) {
  std::vector<Device> devices;
  devices.reserve(names.size());
  for (const std::string& name : names) {
    const Device device = parse_device(name);
    if (std::ranges::find(devices, device) != devices.end()) {
      throw ConfigError(
          "--devices: " + to_string(device) +
          " is named twice; expected different devices (more events at a time on one: "
          "--streams)");
    }
    devices.push_back(device);
  }
  return devices;
}

std::unique_ptr<sched::Waiting> waiting_of(const std::string& wait, std::size_t in_flight) {
  if (wait == "callback") return sched::wait_by_callback();
  if (wait == "blocking") return sched::wait_by_blocking();
  if (wait == "threads") return sched::wait_by_threads(static_cast<int>(in_flight));
  return sched::wait_by_polling();
}

std::string listed(const std::vector<Device>& devices) {
  std::string list;
  for (const Device device : devices) list += (list.empty() ? "" : ",") + to_string(device);
  return list;
}

void add_event_options(CLI::App& command, EventCall& call, const std::string& inputs,
                       const std::string& model, const std::string& cut,
                       const std::string& output) {
  command.add_option("INPUT", call.inputs, inputs)->required();
  command
      .add_option("--model", call.model,
                  "A package or program of torch.export (both .pt2), TorchScript file (.pt) or the "
                  "URL of a model on servers: " +
                      model)
      ->capture_default_str();
  command
      .add_option("--device,--devices", call.devices,
                  "auto, cpu or cuda:N, or several: cpu,cuda:0,cuda:1; each gets a new event when "
                  "it has finished one, unless the others would finish it sooner")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--threads", call.threads, "Threads that work on events")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      .add_option("--streams", call.streams,
                  "Events in flight on each device, each with its own queue and memory; default: "
                  "two for each thread, with GPUs at most 16")
      ->check(CLI::Range(1, 1024));
  command
      .add_option(
          "--wait", call.wait,
          "How to wait for a GPU: polling by idle threads, a callback of the driver, blocking of "
          "the thread of the event, or separate threads, one for each event in flight")
      ->check(CLI::IsMember({"polling", "callback", "blocking", "threads"}))
      ->capture_default_str();
  command.add_flag(
      "--deterministic-placement", call.is_placed_by_number,
      "Event N runs on device N modulo the number of devices, however fast each is: for "
      "the same answers again where programs differ in the last place (CPU and GPU)");
  command.add_option("--edge-capacity", call.edge_capacity,
                     "On a GPU: room for this number of edges, so that nothing waits for the "
                     "number of an event; for networks that pass messages along edges, without "
                     "means or norms over all of them. An event with more edges runs twice");
  command.add_option("--cut", call.min_score, cut)->capture_default_str();
  cli::add_path_option(command, "--output", call.output, output);
  cli::add_path_option(command, "--report", call.report,
                       "Write the run as one HTML page; - for stdout, the table is then on stderr");
  cli::add_path_option(command, "--json", call.json,
                       "Write the figures of the run; - for stdout, the table is then on stderr");
  cli::add_path_option(command, "--metrics", call.metrics,
                       "Write counters for Prometheus to this file, again every 10 s");
  cli::add_path_option(command, "--trace", call.trace,
                       "Write a trace of the run, for https://ui.perfetto.dev");
  add_server_options(command, call.servers);
  add_fallback_option(command, call.servers);
  command.add_option("--resume", call.resume,
                     "Do the rest of a run that was stopped with Ctrl-C: the file that it left; "
                     "the model, its graph rules, the cut and the inputs are the same");
}

}  // namespace tensoa::tools
