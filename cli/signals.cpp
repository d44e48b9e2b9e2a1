// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <string_view>

#include "tensoa/core/output_file.hpp"

namespace tensoa::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

std::atomic<int> stopped_by = 0;
std::atomic<bool> is_stop_said = false;
std::string_view this_program;

/// In one write, so that the lines of two threads do not mix.
void say(std::initializer_list<std::string_view> parts) {
  std::array<char, 256> line;
  std::size_t size = 0;
  for (const std::string_view part : parts) {
    size += part.copy(line.data() + size, line.size() - size);
  }
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), size);
}

std::string_view start_of_line() { return isatty(STDERR_FILENO) == 1 ? "\r\033[K" : ""; }

std::string_view name_of(int signal) {
  return signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "SIGHUP";
}

/// In a handler: nothing but calls that are safe there.
void end_by(int signal) {
  remove_unfinished_files();
  // Another thread may still be writing the line of a first signal; a full pipe must not keep this one from its end.
  for (int i = 0; i < 100 && stopped_by != 0 && !is_stop_said; ++i) poll(nullptr, 0, 1);
  say({start_of_line(), this_program, ": ended by ", name_of(signal),
       "; outputs that were not finished are removed\n"});
  std::signal(signal, SIG_DFL);
  raise(signal);  // as by default, once this returns
}

/// Where the signal is not ignored. The handler blocks the other signals in its own thread only.
void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  for (const int other : kSignals) sigaddset(&action.sa_mask, other);
  struct sigaction before {};
  const bool is_ignored = sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
  if (!is_ignored) sigaction(signal, &action, nullptr);
}

constexpr int kStops[] = {SIGINT, SIGTERM};

void note_stop(int signal) {
  const int errno_before = errno;
  if (int none = 0; !stopped_by.compare_exchange_strong(none, signal)) return end_by(signal);
  say({start_of_line(), this_program, ": ", name_of(signal),
       ": finishing the events in flight; once more to end now\n"});
  is_stop_said = true;
  errno = errno_before;
}

}  // namespace

void handle_signals(std::string_view program) {
  this_program = program;
  for (const int signal : kSignals) handle(signal, end_by);
  std::signal(SIGXFSZ, SIG_IGN);
}

GracefulStop::GracefulStop() {
  stopped_by = 0;
  is_stop_said = false;
  for (const int stop : kStops) handle(stop, note_stop);
}

GracefulStop::~GracefulStop() {
  for (const int stop : kStops) handle(stop, end_by);
}

int GracefulStop::signal() noexcept { return stopped_by; }

void GracefulStop::end_by_signal() {
  if (stopped_by == 0) return;
  std::signal(stopped_by, SIG_DFL);
  raise(stopped_by);
}

}  // namespace tensoa::cli
