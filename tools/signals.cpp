// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "signals.hpp"

#include <unistd.h>

#include <csignal>
#include <string_view>

#include "tensoa/core/output_file.hpp"

namespace tensoa::tools {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

/// In a handler: nothing but calls that are safe there.
void end_by(int signal) {
  remove_unfinished_files();
  const std::string_view name = signal == SIGINT    ? "SIGINT"
                                : signal == SIGTERM ? "SIGTERM"
                                                    : "SIGHUP";
  for (const std::string_view part :
       {std::string_view(isatty(STDERR_FILENO) == 1 ? "\r\033[K" : ""),
        std::string_view("tensoa: ended by "), name,
        std::string_view("; outputs that were not finished are removed\n")}) {
    if (write(STDERR_FILENO, part.data(), part.size()) < 0) break;
  }
  raise(signal);  // as by default, which SA_RESETHAND has put back, once this returns
}

}  // namespace

void handle_signals() {
  struct sigaction action {};
  action.sa_handler = end_by;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : kSignals) sigaddset(&action.sa_mask, signal);
  for (const int signal : kSignals) {
    struct sigaction before {};
    const bool is_ignored =
        sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
    if (!is_ignored) sigaction(signal, &action, nullptr);
  }
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace tensoa::tools
