// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "command.hpp"
#include "seams/remote_seam.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/location.hpp"
#include "tensoa/remote/server_figures.hpp"

namespace tensoa::tools {
namespace {

using remote::ServerFigures;

struct TopCall {
  std::string url;
  ServerOptions servers;
  double interval = 1;  ///< seconds
  bool is_once = false;
  bool is_prometheus = false;
};

struct Sample {
  std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
  std::vector<ServerFigures> servers;
};

Sample sample(const TopCall& call) {
  Sample taken;
  taken.servers =
      remote::server_figures(call.url, options_for(call.url, call.servers).get<remote::Options>());
  return taken;
}

std::string heading(std::size_t width) {
  return fmt::format("{:<{}}  {:>10} {:>10} {:>11} {:>10} {:>9} {:>10} {:>10}", "server", width,
                     "requests/s", "failures/s", "rows/s", "rows/batch", "queue ms", "compute ms",
                     "network ms");
}

double milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

/// The work of a server between two samples; "-" where there is nothing to divide by.
std::string line_of(const ServerFigures& before, const ServerFigures& now, double seconds,
                    std::size_t width) {
  std::string line = fmt::format("{:<{}}  ", now.server, width);
  if (!now.is_ready || !now.counts) return line + now.error;
  if (!before.counts) return line + "ready";
  const remote::InferenceCounts counts = *now.counts - *before.counts;
  const auto rate = [&](std::uint64_t count) { return static_cast<double>(count) / seconds; };
  line += fmt::format("{:>10.1f} {:>10.1f} {:>11.0f} ", rate(counts.requests),
                      rate(counts.failures), rate(counts.rows));
  line += counts.executions == 0
              ? fmt::format("{:>10}", '-')
              : fmt::format("{:>10.1f}", static_cast<double>(counts.rows) /
                                             static_cast<double>(counts.executions));
  if (const auto split = remote::split(counts, std::chrono::nanoseconds(0))) {
    line += fmt::format(" {:>9.3f} {:>10.3f}", milliseconds(split->queue),
                        milliseconds(split->compute));
  } else {
    line += fmt::format(" {:>9} {:>10}", '-', '-');
  }
  return line + fmt::format(" {:>10.3f}", milliseconds(now.round_trip));
}

std::size_t width_of(const Sample& sample) {
  std::size_t width = std::string_view("server").size();
  for (const ServerFigures& server : sample.servers) width = std::max(width, server.server.size());
  return width;
}

bool is_any_ready(const Sample& sample) {
  return std::ranges::any_of(sample.servers, &ServerFigures::is_ready);
}

/// A screen for a terminal, else lines that begin with the time.
void print(const Sample& before, const Sample& now, const TopCall& call, bool is_terminal,
           bool is_first) {
  const double seconds = std::chrono::duration<double>(now.time - before.time).count();
  const std::size_t width = width_of(now);
  const std::string time = fmt::format("{:%H:%M:%S}", fmt::gmtime(std::time(nullptr)));
  std::string text;
  if (is_terminal) {
    text = fmt::format("\x1b[H\x1b[J{}  {} UTC, every {} s, Ctrl-C ends\n\n{}\n", call.url, time,
                       call.interval, heading(width));
  } else if (is_first) {
    text = fmt::format("{:<8}  {}\n", "UTC", heading(width));
  }
  for (std::size_t i = 0; i < now.servers.size(); ++i) {
    if (!is_terminal) text += time + "  ";
    text += line_of(before.servers[i], now.servers[i], seconds, width) + '\n';
  }
  fmt::print("{}", text);
  if (std::fflush(stdout) != 0) throw OutputError("cannot write to stdout");
}

int top(const TopCall& call) {
  if (!ModelLocation(call.url).is_url()) {
    throw ConfigError("top: got " + call.url +
                      ", expected the URL of a model on servers, grpc://HOST:PORT/MODEL");
  }
  Sample before = sample(call);
  if (call.is_prometheus) {
    fmt::print("{}", remote::prometheus_text(before.servers));
    return is_any_ready(before) ? kSuccess : kFailure;
  }
  const bool is_terminal = !call.is_once && isatty(STDOUT_FILENO) == 1;
  for (bool is_first = true;; is_first = false) {
    std::this_thread::sleep_for(std::chrono::duration<double>(call.interval));
    Sample now = sample(call);
    print(before, now, call, is_terminal, is_first);
    if (call.is_once) {
      if (is_any_ready(now)) return kSuccess;
      throw EngineError("top: no server of " + call.url + " has the model ready");
    }
    before = std::move(now);
  }
}

}  // namespace

void add_top_command(CLI::App& program, Action& action) {
  CLI::App* command =
      program.add_subcommand("top",
                             "Shows the work of a model's servers: requests, failures, rows, time "
                             "in queue, model and network; live until Ctrl-C");
  auto call = std::make_shared<TopCall>();
  command->add_option("URL", call->url, "grpc://HOST:PORT[,HOST:PORT...]/MODEL")->required();
  command->add_option("--interval", call->interval, "Seconds between two lines")
      ->check(cli::number_between(0.1, 3600))
      ->capture_default_str();
  CLI::Option* once =
      command->add_flag("--once", call->is_once, "Print what happens in one interval, and end");
  command
      ->add_flag("--prometheus", call->is_prometheus,
                 "Print what the servers have counted in the text format of Prometheus, and end")
      ->excludes(once);
  add_server_options(*command, call->servers);
  command->callback([call, &action] { action = [call] { return top(*call); }; });
}

}  // namespace tensoa::tools
