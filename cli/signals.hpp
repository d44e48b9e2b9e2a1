// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tensoa::cli {

/// Sees to it that a signal leaves nothing half-written behind. SIGINT, SIGTERM and SIGHUP remove the
/// temporary files of outputs, say so in one line on stderr, and end the process as they would have
/// without this (a shell calls that 130, 143 and 129); one that was ignored before, as by nohup, stays
/// ignored. A file beyond the limit of sizes (`ulimit -f`) becomes an error of the write instead of
/// SIGXFSZ.
/// @param program its name, which begins the lines; the memory lives as long as the process
void handle_signals(std::string_view program);

/// While it lives, the first SIGINT or SIGTERM only says so in one line and sets signal(); the next one ends the process as
/// handle_signals() says. One at a time.
class GracefulStop {
 public:
  GracefulStop();
  ~GracefulStop();
  GracefulStop(const GracefulStop&) = delete;
  GracefulStop& operator=(const GracefulStop&) = delete;

  /// The signal that came, 0 before. *Threads*: any.
  static int signal() noexcept;

  /// Ends the process by the signal that came, for who waits for the process to see it. Returns where none came.
  static void end_by_signal();
};

}  // namespace tensoa::cli
