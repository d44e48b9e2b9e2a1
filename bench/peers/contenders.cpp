// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "contenders.hpp"

#include <memory>
#include <utility>

#include "bench/float64.hpp"
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

void measure(std::vector<ResultRow>& rows, const char* model, std::size_t n,
             const std::vector<Contender>& contenders, const std::vector<double>& truth, int turns,
             bench::ReadClock clock) {
  // Many short batches: a median that other processes of the machine do not reach.
  constexpr double kShortest = 200;  // us
  std::vector<Variant> variants;
  variants.reserve(contenders.size());
  for (const Contender& contender : contenders) {
    variants.push_back({.name = contender.name, .run = [&contender](std::size_t calls) {
                          for (std::size_t i = 0; i < calls; ++i) contender.run();
                          return std::size_t{0};
                        }});
  }
  run_in_turns(variants, turns, kShortest, clock);
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
