// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "progress_bar.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace tensoa::tools {

ProgressBar::ProgressBar(std::string label, std::size_t total)
    : label_(std::move(label)), total_(total), on_terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::advance(const std::string& where) {
  ++done_;
  ++done_where_[where];
  const Clock::time_point now = Clock::now();
  if (!on_terminal_ || now - drawn_ < std::chrono::milliseconds(100)) return;
  drawn_ = now;
  draw();
}

void ProgressBar::draw() {
  constexpr std::size_t kWidth = 32;
  const std::size_t filled = total_ == 0 ? kWidth : kWidth * done_ / total_;
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  std::string bar;
  for (std::size_t i = 0; i < kWidth; ++i) bar += i < filled ? "█" : "░";
  std::string shares;
  if (done_where_.size() > 1) {
    for (const auto& [where, done] : done_where_) {
      shares += fmt::format("  {} {} %", where, 100 * done / done_);
    }
  }
  fmt::print(stderr, "\r\033[K{} {} {}/{}  {:.1f} events/s{}", label_, bar, done_, total_,
             static_cast<double>(done_) / seconds, shares);
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (!on_terminal_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

}  // namespace tensoa::tools
