// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace tensoa::tools {

/// A bar on stderr that fills while events are finished; nothing where stderr is not a terminal.
/// It redraws at most ten times a second and wipes itself out at the end. *Threads*: one at a time.
class ProgressBar {
 public:
  ProgressBar(std::string label, std::size_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// One more is done. @param where a device, whose share of all is then shown
  void advance(const std::string& where = {});

  /// Clears the line, so that a message can be printed; the next `advance` draws the bar again.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  void draw();

  std::string label_;
  std::size_t total_;
  std::size_t done_ = 0;
  std::map<std::string, std::size_t> done_where_;
  bool on_terminal_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_{};
};

}  // namespace tensoa::tools
