// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "run_summary.hpp"

#include <fmt/core.h>

#include <thread>

#include "seconds.hpp"

namespace tensoa::tools {
namespace {

/// Summed over threads: more than the wall clock where they work at the same time.
double all_stages(const events::StageSeconds& seconds) {
  return seconds.read + seconds.graph + seconds.infer + seconds.answer;
}

std::string more_than_cores(int threads) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return threads > cores ? fmt::format(" on {} core{}", cores, cores == 1 ? "" : "s") : "";
}

}  // namespace

EventFigures& EventFigures::operator+=(const EventFigures& other) {
  events += other.events;
  seconds += other.seconds;
  moved += other.moved;
  again += other.again;
  return *this;
}

void RunSummary::take(const sched::RunTotals& totals) {
  devices = totals.devices;
  for (const auto& of : devices) driver_calls.push_back(tensoa::driver_calls(of.device));
  rerun = totals.rerun;
  thread_moves = totals.thread_moves;
  lock_waits = totals.lock_waits;
  latency = totals.latency;
}

nlohmann::json to_json(const EventFigures& figures, const RunSummary& run,
                       const std::string& last) {
  nlohmann::json devices = nlohmann::json::array();
  for (std::size_t i = 0; i < run.devices.size(); ++i) {
    const auto& device = run.devices[i];
    devices.push_back({{"device", to_string(device.device)},
                       {"events", device.events},
                       {"is_lost", device.is_lost},
                       {"places", device.places},
                       {"ready_seconds", device.ready_seconds}});
    if (device.device.is_cpu()) continue;
    const DriverCalls& calls = run.driver_calls[i];
    devices.back()["driver"] = {
        {"calls", calls.calls}, {"seconds", calls.seconds}, {"thread_switches", calls.switches}};
  }
  nlohmann::json json = {
      {"events", figures.events},
      {"failed", run.failed},
      {"score_cut",
       std::stod(fmt::format("{}", run.min_score))},  // 0.3, not what a float has of it
      {"seconds",
       {{"read", figures.seconds.read},
        {"graph", figures.seconds.graph},
        {"infer", figures.seconds.infer},
        {"all_stages", all_stages(figures.seconds)},
        {"wall_clock", run.wall_seconds},
        {"latency_p50", seconds_of(run.latency.percentile(0.5))},
        {"latency_p99", seconds_of(run.latency.percentile(0.99))},
        {"latency_p999", seconds_of(run.latency.percentile(0.999))}}},
      {"copies",
       {{"bytes_in", figures.moved.copies.bytes_in},
        {"bytes_out", figures.moved.copies.bytes_out}}},
      {"transfers",
       {{"bytes_to_device", figures.moved.bytes_to_device},
        {"bytes_to_host", figures.moved.bytes_to_host}}},
      {"done_again", figures.again},
      {"threads", run.threads},
      {"cores", std::thread::hardware_concurrency()},
      {"wait", run.wait},
      {"in_flight", run.in_flight},
      {"device", run.device},
      {"devices", devices},
      {"rerun", run.rerun},
      {"thread_moves", run.thread_moves},
      {"lock_waits", run.lock_waits},
      {"model", run.model},
      {"servers", run.servers},
  };
  if (!last.empty()) json["seconds"][last] = figures.seconds.answer;
  return json;
}

std::string stage_table(const EventFigures& figures, const RunSummary& run, std::size_t edges,
                        const std::string& last) {
  const double busy = all_stages(figures.seconds);
  const auto events = static_cast<double>(figures.events);
  std::string text =
      fmt::format("{:<12} {:>10} {:>12} {:>7}\n", "stage", "seconds", "ms/event", "share");
  const auto add_stage = [&](const std::string& name, double value) {
    text +=
        fmt::format("{:<12} {:>10.3f} {:>12.2f} {:>6.1f}%\n", name, value,
                    events > 0 ? 1e3 * value / events : 0.0, busy > 0 ? 100 * value / busy : 0.0);
  };
  add_stage("read", figures.seconds.read);
  add_stage("build graph", figures.seconds.graph);
  add_stage("infer", figures.seconds.infer);
  if (!last.empty()) add_stage(last, figures.seconds.answer);
  add_stage("all stages", busy);
  text += fmt::format("{:<12} {:>10.3f}  with {} thread{}: {:.2f} events/s, {:.0f} edges/s\n\n",
                      "wall clock", run.wall_seconds, run.threads,
                      (run.threads == 1 ? "" : "s") + more_than_cores(run.threads),
                      events / run.wall_seconds, static_cast<double>(edges) / run.wall_seconds);
  text += fmt::format("latency p50 {:.1f} ms, p99 {:.1f} ms, p99.9 {:.1f} ms",
                      1e3 * seconds_of(run.latency.percentile(0.5)),
                      1e3 * seconds_of(run.latency.percentile(0.99)),
                      1e3 * seconds_of(run.latency.percentile(0.999)));
  if (run.devices.size() > 1) {
    for (const auto& device : run.devices) {
      text += fmt::format("; {}: {} events{}", to_string(device.device), device.events,
                          device.is_lost ? ", then lost" : "");
    }
  }
  return text + '\n';
}

std::string moved_lines(const EventFigures& figures) {
  std::string text =
      fmt::format("copied for the network: {} in, {} out", bytes(figures.moved.copies.bytes_in),
                  bytes(figures.moved.copies.bytes_out));
  if (figures.moved.bytes_to_device > 0) {
    text += fmt::format("; to the device {}, back {}", bytes(figures.moved.bytes_to_device),
                        bytes(figures.moved.bytes_to_host));
  }
  return text + '\n';
}

std::string again_line(const EventFigures& figures) {
  if (figures.again == 0) return "";
  return fmt::format("{} event{} had more candidate edges than --edge-capacity, done twice\n",
                     grouped(figures.again), figures.again == 1 ? "" : "s");
}

std::string failed_line(const RunSummary& run) {
  if (run.failed == 0) return "";
  return fmt::format("{} event{} failed and left out\n", run.failed, run.failed == 1 ? "" : "s");
}

}  // namespace tensoa::tools
