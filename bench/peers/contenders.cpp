// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "contenders.hpp"

#include <cstddef>
#include <memory>
#include <thread>
#include <utility>

#include "bench/float64.hpp"
#include "bench/packing_baseline.hpp"
#include "onnxruntime.hpp"

namespace tensoa::peers {

using bench::Errors;
using bench::ResultRow;
using bench::Variant;

Contender onnxruntime(const std::string& library, const std::filesystem::path& model,
                      const RowMajor& tensors) {
  const auto session =
      std::make_shared<OnnxRuntime>(library, model, tensors.tensors(), tensors.names());
  return {"onnxruntime", [session] { session->run(); }, [&tensors] { return tensors.answer(); }};
}

Contender onnxruntime_packed(const std::string& library, const std::filesystem::path& model,
                             const Queue& queue, const Binding& columns,
                             std::function<std::vector<float>()> answer) {
  const auto blocks = std::make_shared<bench::PackingBaseline>(queue, columns);
  const auto session = std::make_shared<OnnxRuntime>(library, model, blocks->rows());
  return {"onnxruntime_packed",
          [blocks, session] {
            blocks->pack();
            session->run();
            blocks->bring_back();
          },
          std::move(answer)};
}

std::vector<std::size_t> numbers_of_threads() {
  const std::size_t cores = std::thread::hardware_concurrency();
  return cores > 1 ? std::vector<std::size_t>{1, cores} : std::vector<std::size_t>{1};
}

void measure(std::vector<ResultRow>& rows, const char* model, std::size_t n,
             const std::vector<std::vector<Contender>>& threads, const std::vector<double>& truth,
             int turns) {
  // Short batches: a median that other processes of the machine do not reach. Longer ones where each batch starts threads.
  constexpr double kShortest = 200;  // us
  constexpr double kShortestOfThreads = 5000;
  const std::vector<Contender>& contenders = threads.front();
  std::vector<Variant> variants;
  variants.reserve(contenders.size());
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const auto run_on = [&threads, i](std::size_t thread, std::size_t calls) {
      for (std::size_t call = 0; call < calls; ++call) threads[thread][i].run();
    };
    variants.push_back({.name = contenders[i].name,
                        .run =
                            [&threads, run_on](std::size_t calls) {
                              std::vector<std::thread> others;
                              for (std::size_t t = 1; t < threads.size(); ++t)
                                others.emplace_back(run_on, t, calls);
                              run_on(0, calls);
                              for (std::thread& other : others) other.join();
                              return std::size_t{0};
                            },
                        .parts = static_cast<double>(threads.size())});
  }
  run_in_turns(variants, turns, threads.size() > 1 ? kShortestOfThreads : kShortest,
               bench::process_clock);
  const std::size_t first = rows.size();
  std::string best;
  double least = 0;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Errors errors = bench::errors_of(contenders[i].answer(), truth);
    ResultRow& row = rows.emplace_back();
    row.model = model;
    row.variant = contenders[i].name;
    row.stage = "total";
    row.device = "cpu";
    row.n = n;
    row.threads = static_cast<int>(threads.size());
    row.timing = bench::summarize(std::move(variants[i].times));
    row.max_abs_error = errors.max_abs;
    row.max_rel_error = errors.relative;
    if (contenders[i].is_peer && (best.empty() || row.timing->median_us < least)) {
      best = row.variant;
      least = row.timing->median_us;
    }
  }
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (!contenders[i].is_peer) rows[first + i].baseline = best;
  }
  bench::set_ratios(rows, first);
}

}  // namespace tensoa::peers
