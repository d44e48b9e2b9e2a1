// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/forest/forest.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/harness.hpp"
#include "bench/peers/tree_peers.hpp"
#include "bench/suites/suites.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/forest/readers.hpp"

namespace tensoa::bench {
namespace {

using forest::AnswerColumn;
using forest::Column;
using forest::Ensemble;
using forest::Forest;
using peers::TreePeer;

constexpr const char* kOurs = "tensoa";

/// Rows twice: as a row-major matrix, and as columns.
struct Features {
  Features(const std::string& file, std::size_t width) : columns(width) {
    const std::size_t row_bytes = columns * sizeof(float);
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(file, error);
    if (error || bytes == 0 || bytes % row_bytes != 0) {
      throw InputError("features " + file + ": got " +
                       (error ? error.message() : std::to_string(bytes) + " bytes") +
                       ", expected rows of " + std::to_string(columns) + " float32");
    }
    size = bytes / row_bytes;
    by_row.resize(size * columns);
    std::ifstream(file, std::ios::binary)
        .read(reinterpret_cast<char*>(by_row.data()), static_cast<std::streamsize>(bytes));
    by_column.resize(by_row.size());
    for (std::size_t row = 0; row < size; ++row) {
      for (std::size_t c = 0; c < columns; ++c)
        by_column[c * size + row] = by_row[row * columns + c];
    }
  }

  std::size_t columns;
  std::size_t size = 0;
  std::vector<float> by_row;
  std::vector<float> by_column;
};

/// Our evaluation; the margins are float32 or float64, as the framework sums them.
class Ours {
 public:
  Ours(const Forest& forest, const Features& features, DType sums)
      : forest_(forest),
        features_(features),
        columns_(features.columns),
        floats_(features.size),
        doubles_(features.size) {
    answer_.dtype = sums;
    answer_.first = sums == DType::kF32 ? reinterpret_cast<std::byte*>(floats_.data())
                                        : reinterpret_cast<std::byte*>(doubles_.data());
  }

  void run(std::size_t first, std::size_t n) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      columns_[c].first = reinterpret_cast<const std::byte*>(features_.by_column.data() +
                                                             c * features_.size + first);
    }
    forest_.run(queue_, columns_, {&answer_, 1}, static_cast<std::int64_t>(n));
  }

  double answer(std::size_t row) const {
    return answer_.dtype == DType::kF32 ? floats_[row] : doubles_[row];
  }

 private:
  const Forest& forest_;
  const Features& features_;
  const Queue queue_{Device::cpu()};
  std::vector<Column> columns_;
  std::vector<float> floats_;
  std::vector<double> doubles_;
  AnswerColumn answer_;
};

/// The same on a GPU, where the columns lie; the margins are float32.
class OursOnGpu {
 public:
  OursOnGpu(const Ensemble& ensemble, const Features& features, Device device)
      : forest_(ensemble, std::vector(ensemble.columns, DType::kF32), device),
        size_(features.size),
        queue_(device),
        by_column_(device, features.by_column.size() * sizeof(float)),
        by_row_(device, by_column_.size()),
        answers_(device, features.size * sizeof(float)),
        columns_(features.columns) {
    copy_bytes(queue_, by_column_.data(), device, features.by_column.data(), Device::cpu(),
               by_column_.size());
    copy_bytes(queue_, by_row_.data(), device, features.by_row.data(), Device::cpu(),
               by_row_.size());
    queue_.wait();
  }

  void enqueue(std::size_t first, std::size_t n) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      columns_[c].first = by_column_.data() + (c * size_ + first) * sizeof(float);
    }
    const AnswerColumn answer{answers_.data()};
    forest_.run(queue_, columns_, {&answer, 1}, static_cast<std::int64_t>(n));
  }
  void wait() const { queue_.wait(); }

  /// The row-major matrix of all features, on the GPU.
  const float* by_row() const { return reinterpret_cast<const float*>(by_row_.data()); }

  /// Margins of the last call.
  std::vector<float> answers(std::size_t n) const { return to_host(answers_.data(), n); }

  std::vector<float> to_host(const void* margins, std::size_t n) const {
    std::vector<float> all(n);
    copy_bytes(queue_, all.data(), Device::cpu(), margins, queue_.device(), n * sizeof(float));
    queue_.wait();
    return all;
  }

 private:
  Forest forest_;
  std::size_t size_;
  Queue queue_;
  Buffer by_column_;
  Buffer by_row_;
  Buffer answers_;
  std::vector<Column> columns_;
};

/// Where calls of n rows begin: few rows come from a pool that stays in the cache, more walk over all.
class Walk {
 public:
  Walk(std::size_t n, std::size_t rows) : n_(n), calls_(1) {
    constexpr std::size_t kPool = 1024;
    constexpr std::size_t kFew = 256;
    calls_ = std::max<std::size_t>(1, (n <= kFew ? std::min(kPool, rows) : rows) / n);
  }

  std::size_t calls() const { return calls_; }
  std::size_t next() { return next_++ % calls_ * n_; }

 private:
  std::size_t n_;
  std::size_t calls_;
  std::size_t next_ = 0;
};

/// A peer, and what it answers for all rows.
struct Answered {
  TreePeer peer;
  std::vector<double> answers;
};

struct Difference {
  double most = 0;
  std::size_t rows = 0;  ///< that are not the same number
};

class ModelBench {
 public:
  ModelBench(const std::filesystem::path& file, const BenchOptions& options)
      : name_(file.stem()),
        file_(file),
        options_(options),
        ensemble_(margins_of(file)),
        features_(options.features, ensemble_.columns),
        forest_(ensemble_, std::vector(ensemble_.columns, DType::kF32)),
        ours_(forest_, features_, sums()) {
    for (TreePeer& peer : read_peers()) {
      peer.run(features_.by_row.data(), static_cast<std::int64_t>(features_.size));
      std::vector<double> answers(features_.size);
      for (std::size_t row = 0; row < answers.size(); ++row) answers[row] = peer.answer(row);
      peers_.push_back({std::move(peer), std::move(answers)});
    }
  }

  void measure_calls(std::vector<ResultRow>& rows, std::size_t n) {
    if (n > features_.size) {
      throw ConfigError("--rows " + std::to_string(n) + ": got " + std::to_string(features_.size) +
                        " rows in " + options_.features + ", expected at least that number");
    }
    constexpr double kShortest = 1000;           // us, of a batch
    constexpr double kShortestOfThreads = 5000;  // which are started for each
    constexpr std::size_t kMany = 50'000;
    constexpr int kTurnsOfMany = 3;  // seconds each
    const std::size_t first = rows.size();
    const int turns = n > kMany ? std::min(options_.repeats, kTurnsOfMany) : options_.repeats;
    for (const int threads : options_.threads) {
      std::vector<std::vector<Variant>> of_threads;
      of_threads.reserve(static_cast<std::size_t>(threads));
      for (int t = 0; t < threads; ++t) of_threads.push_back(variants_of(t, n));
      std::vector<Variant> variants;
      variants.reserve(of_threads[0].size());
      for (std::size_t i = 0; i < of_threads[0].size(); ++i)
        variants.push_back(at_the_same_time(of_threads, i));
      run_in_turns(variants, turns, threads > 1 ? kShortestOfThreads : kShortest, process_clock);
      for (Variant& variant : variants) {
        ResultRow& row = add_row(rows, variant.name, "total", n);
        row.threads = threads;
        row.timing = summarize(std::move(variant.times));
        row.more["ns_per_row_and_tree"] = row.timing->median_us * 1000 / static_cast<double>(n) /
                                          static_cast<double>(ensemble_.trees.size());
      }
      if (threads > 1) continue;  // the answers are the same
      compare_answers(rows, first + 1, n);
      compare_times(rows, first);
    }
  }

  /// On a GPU: calls one after another, each waited for by itself, and those of XGBoost, which waits too.
  void measure_gpu_calls(std::vector<ResultRow>& rows, std::size_t n, Device device) {
    constexpr double kShortest = 2000;  // us, of a batch
    OursOnGpu ours(ensemble_, features_, device);
    const Walk walk(n, features_.size);
    const auto per_call = [&](const auto& call) {
      return [call, mine = walk](std::size_t calls) mutable {
        for (std::size_t i = 0; i < calls; ++i) call(mine.next());
        return std::size_t{0};
      };
    };
    std::vector<Variant> variants;
    variants.push_back({.name = kOurs, .run = per_call([&](std::size_t row) {
                                         ours.enqueue(row, n);
                                         ours.wait();
                                       })});
    variants.push_back({.name = kOurs + std::string("_queued"),
                        .run = [&, mine = walk](std::size_t calls) mutable {
                          for (std::size_t i = 0; i < calls; ++i) ours.enqueue(mine.next(), n);
                          ours.wait();
                          return std::size_t{0};
                        }});
    const std::size_t first = rows.size();
    std::optional<peers::GpuTreePeer> peer;
    if (!options_.xgboost_cuda.empty() && ensemble_.source.starts_with("XGBoost")) {
      peer = peers::xgboost_on_gpu(options_.xgboost_cuda, file_, ensemble_.columns, device);
      variants.push_back({.name = "xgboost_cuda", .run = per_call([&](std::size_t row) {
                                                    peer->run(
                                                        ours.by_row() + row * features_.columns,
                                                        static_cast<std::int64_t>(n));
                                                  })});
    }
    run_in_turns(variants, options_.repeats, kShortest, wall_clock);
    for (Variant& variant : variants) {
      ResultRow& row = add_row(rows, variant.name, "gpu", n);
      row.device = to_string(device);
      row.timing = summarize(std::move(variant.times));
      row.more["rows_per_us"] = static_cast<double>(n) / row.timing->median_us;
      if (peer) row.baseline = "xgboost_cuda";
    }
    set_ratios(rows, first);
    compare_gpu_answers(rows, first, n, ours, peer);
  }

  void measure_load(std::vector<ResultRow>& rows, const std::filesystem::path& file) const {
    std::vector<Variant> variants{{.name = kOurs, .run = [&](std::size_t calls) {
                                     for (std::size_t i = 0; i < calls; ++i) {
                                       const Ensemble ensemble = forest::read_tree_file(file);
                                       const Forest forest(
                                           ensemble, std::vector(ensemble.columns, DType::kF32));
                                     }
                                     return std::size_t{0};
                                   }}};
    run_in_turns(variants, options_.repeats, 0, process_clock);
    ResultRow& row = add_row(rows, kOurs, "load", 0);
    row.timing = summarize(std::move(variants[0].times));
    const Forest::Shape shape = forest_.shape();
    row.more["trees"] = ensemble_.trees.size();
    row.more["tests"] = shape.tests;
    row.more["full"] = shape.full;
    row.more["ragged"] = shape.ragged;
    row.more["followed"] = shape.followed;
  }

 private:
  static Ensemble margins_of(const std::filesystem::path& file) {
    Ensemble ensemble = forest::read_tree_file(file);
    if (ensemble.outputs != 1) {
      throw ConfigError("model " + file.string() + ": got " + std::to_string(ensemble.outputs) +
                        " outputs, expected 1");
    }
    ensemble.link = forest::Link::kNone;
    return ensemble;
  }

  DType sums() const {
    return ensemble_.sums == forest::Precision::kFloat32 ? DType::kF32 : DType::kF64;
  }

  std::vector<TreePeer> read_peers() const {
    return peers::tree_peers({options_.xgboost, options_.lightgbm, options_.onnxruntime,
                              options_.fastforest, options_.rbdt},
                             file_, ensemble_, features_.by_row);
  }

  /// Ours and the peers for calls of n rows from thread `t`: the first has those whose answers are compared, the others have
  /// evaluations of their own.
  std::vector<Variant> variants_of(int t, std::size_t n) {
    std::shared_ptr<Ours> ours(&ours_, [](Ours*) {});
    std::vector<std::shared_ptr<const TreePeer>> peers;
    if (t == 0) {
      for (const Answered& answered : peers_)
        peers.emplace_back(&answered.peer, [](const TreePeer*) {});
    } else {
      ours = std::make_shared<Ours>(forest_, features_, sums());
      for (TreePeer& peer : read_peers())
        peers.push_back(std::make_shared<const TreePeer>(std::move(peer)));
    }
    std::vector<Variant> variants{
        variant(kOurs, n, [ours, n](std::size_t row) { ours->run(row, n); })};
    for (const std::shared_ptr<const TreePeer>& peer : peers) {
      variants.push_back(variant(peer->name, n, [this, n, peer](std::size_t row) {
        peer->run(features_.by_row.data() + row * features_.columns, static_cast<std::int64_t>(n));
      }));
    }
    return variants;
  }

  /// The i-th variant of all threads; a call is a part.
  static Variant at_the_same_time(std::vector<std::vector<Variant>>& threads, std::size_t i) {
    return {.name = threads[0][i].name,
            .run =
                [&threads, i](std::size_t calls) {
                  std::vector<std::thread> others;
                  for (std::size_t t = 1; t < threads.size(); ++t)
                    others.emplace_back([&threads, i, t, calls] { threads[t][i].run(calls); });
                  threads[0][i].run(calls);
                  for (std::thread& other : others) other.join();
                  return std::size_t{0};
                },
            .parts = static_cast<double>(threads.size())};
  }

  template <class Run>
  Variant variant(const std::string& name, std::size_t n, const Run& run) const {
    return {.name = name, .run = [run, walk = Walk(n, features_.size)](std::size_t calls) mutable {
              for (std::size_t i = 0; i < calls; ++i) run(walk.next());
              return std::size_t{0};
            }};
  }

  ResultRow& add_row(std::vector<ResultRow>& rows, const std::string& variant, const char* stage,
                     std::size_t n) const {
    ResultRow& row = rows.emplace_back();
    row.model = name_;
    row.variant = variant;
    row.stage = stage;
    row.device = "cpu";
    row.n = n;
    row.columns = features_.columns;
    return row;
  }

  /// Compares our margins on the GPU, and those of XGBoost there, with ours on the CPU, which are those of XGBoost.
  void compare_gpu_answers(std::vector<ResultRow>& rows, std::size_t first, std::size_t n,
                           OursOnGpu& ours, const std::optional<peers::GpuTreePeer>& peer) {
    ours_.run(0, n);
    ours.enqueue(0, n);
    const auto differing = [&](const std::vector<float>& answers) {
      std::size_t rows_off = 0;
      for (std::size_t row = 0; row < n; ++row) {
        rows_off += static_cast<float>(ours_.answer(row)) == answers[row] ? 0 : 1;
      }
      return rows_off;
    };
    const std::size_t rows_off = differing(ours.answers(n));
    if (rows_off > 0) {
      throw EngineError("model " + name_ + ": in a call of " + std::to_string(n) + " rows got " +
                        std::to_string(rows_off) +
                        " margins on the GPU that are not those on the CPU, expected none");
    }
    rows[first].more["rows_off"] = rows_off;
    rows[first].more["rows_compared"] = n;
    if (!peer) return;
    peer->run(ours.by_row(), static_cast<std::int64_t>(n));
    rows.back().more["rows_off"] = differing(ours.to_host(peer->answers(), n));
    rows.back().more["rows_compared"] = n;
  }

  /// Compares our calls of n rows with the answers of the peers for the same rows.
  void compare_answers(std::vector<ResultRow>& rows, std::size_t first, std::size_t n) {
    std::vector<Difference> differences(peers_.size());
    Walk walk(n, features_.size);
    for (std::size_t call = 0; call < walk.calls(); ++call) {
      const std::size_t begin = walk.next();
      ours_.run(begin, n);
      for (std::size_t p = 0; p < peers_.size(); ++p) {
        for (std::size_t row = 0; row < n; ++row) {
          const double by = std::abs(ours_.answer(row) - peers_[p].answers[begin + row]);
          differences[p].rows += by == 0 ? 0 : 1;  // NaN differs too
          differences[p].most = std::max(differences[p].most, by);
        }
      }
    }
    for (std::size_t p = 0; p < peers_.size(); ++p) {
      if (peers_[p].peer.name == "xgboost" && differences[p].rows > 0) {
        throw EngineError("model " + name_ + ": in calls of " + std::to_string(n) + " rows got " +
                          std::to_string(differences[p].rows) + " margins of " +
                          std::to_string(n * walk.calls()) +
                          " that are not those of XGBoost, expected none");
      }
      rows[first + p].max_abs_error = differences[p].most;
      rows[first + p].more["rows_off"] = differences[p].rows;
      rows[first + p].more["rows_compared"] = n * walk.calls();
    }
  }

  /// Ratios of our row, the first one, to the fastest peer.
  void compare_times(std::vector<ResultRow>& rows, std::size_t first) const {
    if (peers_.empty()) return;
    const auto best = std::min_element(rows.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                                       rows.end(), [](const ResultRow& a, const ResultRow& b) {
                                         return a.timing->median_us < b.timing->median_us;
                                       });
    rows[first].baseline = best->variant;
    for (std::size_t i = first + 1; i < rows.size(); ++i) {
      rows[first].more["over_" + rows[i].variant] =
          rows[i].timing->median_us / rows[first].timing->median_us;
    }
    rows[first].more["ratio_of_min"] = best->timing->min_us / rows[first].timing->min_us;
    set_ratios(rows, first);
  }

  std::string name_;
  std::filesystem::path file_;
  const BenchOptions& options_;
  Ensemble ensemble_;
  Features features_;
  Forest forest_;
  Ours ours_;
  std::vector<Answered> peers_;
};

}  // namespace

std::vector<ResultRow> bench_forest(const BenchOptions& options) {
  const Device device = parse_device(options.device);
  std::vector<ResultRow> rows;
  for (const std::string& file : options.inputs) {
    ModelBench bench(file, options);
    bench.measure_load(rows, file);
    for (const std::size_t n : options.rows) {
      if (device.is_cpu()) {
        bench.measure_calls(rows, n);
      } else {
        bench.measure_gpu_calls(rows, n, device);
      }
    }
  }
  return rows;
}

}  // namespace tensoa::bench
