// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "infer_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <type_traits>
#include <utility>

#include "arena.hpp"
#include "command.hpp"
#include "grouped_parts.hpp"
#include "runtime_figures.hpp"
#include "seams/remote_seam.hpp"
#include "seconds.hpp"
#include "tensoa/columnar/table_writer.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/output_file.hpp"
#include "tensoa/package/columns_in_words.hpp"
#include "tensoa/package/described_columns.hpp"
#include "tensoa/sched/event_pipeline.hpp"

namespace tensoa::tools {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kEventsPerThread = 2;
constexpr const char* kRowNumber = "row";
constexpr std::size_t kRowsToEncode =
    16'384;  ///< of a part; fewer are written with those around them

/// The reader and the model of one thread.
struct Item {
  std::unique_ptr<columnar::TablePart> part;
  std::shared_ptr<const InferColumns> columns;
  std::string path;
  std::size_t file = 0;  ///< number of it
};

struct InferredPart {
  std::vector<InferredChunk> chunks;
  std::optional<columnar::EncodedRows> encoded;  ///< all of them
  std::vector<LostRows> lost;
  double read_seconds = 0;
  double infer_seconds = 0;
  double write_seconds = 0;  ///< to encode them
  InferCopies copies;
};

/// Words of which the commas were taken for borders: what has no "=" belongs to the word before.
std::vector<std::string> whole_words(const std::vector<std::string>& parts) {
  std::vector<std::string> words;
  for (const std::string& part : parts) {
    if (words.empty() || part.find('=') != std::string::npos) {
      words.push_back(part);
    } else {
      words.back() += ',' + part;
    }
  }
  return words;
}

/// The choice of columns, without those in words, whose names are the files'.
ColumnChoice names_in_files(const InferCall& call) {
  ColumnChoice choice = call.choice;
  if (!call.outputs.empty()) choice.columns.clear();
  return choice;
}

package::ModelDescription described(const InferCall& call) {
  // The fallback is the same model, and its file names the columns.
  package::ModelDescription model =
      call.servers.fallback.empty()
          ? package::inspect(call.model, options_for(call.model, call.servers))
          : package::inspect(call.servers.fallback);
  if (!call.binding.empty()) package::use_binding(model, package::read_binding(call.binding));
  const bool is_said = model.binding.has_value();
  if (is_said && !call.outputs.empty()) {
    throw ConfigError("--outputs: model " + call.model +
                      " states its columns; expected no names of outputs");
  }
  if (!is_said && (call.choice.columns.empty() || call.outputs.empty())) {
    throw ConfigError("model " + call.model +
                      ": does not state which columns it reads; expected them in words, " +
                      package::words_for(model, "--") + ", or --binding FILE (docs/infer.md)");
  }
  if (!is_said) {
    package::use_binding(model,
                         package::columns_in_words(whole_words(call.choice.columns), call.outputs));
  }
  return model;
}

void require_different_files(const InferCall& call, const std::vector<fs::path>& inputs) {
  std::vector<fs::path> files = inputs;
  files.emplace_back(call.model);
  for (const std::string& output : {call.output, call.json}) {
    if (output.empty()) continue;
    for (const fs::path& other : files) {
      std::error_code ignored;
      const bool is_same = other == output || fs::equivalent(other, output, ignored);
      const bool is_special = fs::exists(output, ignored) && !fs::is_regular_file(output, ignored);
      if (is_same && !is_special) {
        throw ConfigError(output +
                          " is named twice, and would be overwritten; expected different files");
      }
    }
    files.emplace_back(output);
  }
}

/// One run over all files of the call.
class InferRun {
 public:
  explicit InferRun(const InferCall& call)
      : call_(call),
        description_(described(call)),
        device_(package::device_for(call.device, description_)),
        model_(call.model, options_for(call.model, call.servers)),
        paths_(columnar::find_tables(call.inputs)) {
    require_different_files(call, paths_);
    // Options that do not fit the first file are an error of the call.
    auto first = columnar::TableFile(paths_.front());
    columns_ = columns_of(first);
    model_.deploy(device_);
    find_out_about_rows();
    std::vector<columnar::WrittenColumn> written = columns_->written;
    // Columns that are written in place cannot get them when the first row is lost.
    if (call.row_numbers.value_or(!columns_->keep.empty() || columns_->gives_one_row_a_group ||
                                  is_written_in_place(call.output))) {
      summary_.row_numbers = row_number_name();
      written.insert(written.begin(), {.name = summary_.row_numbers, .dtype = DType::kI64});
    }
    std::error_code ignored;
    summary_.replaces = fs::is_regular_file(call.output, ignored);
    writer_.emplace(call.output, std::move(written),
                    first.empty_chunk(columns_->read).select(columns_->copied));
    if (summary_.row_numbers.empty()) encoder_ = writer_->encoder();
    if (!call.json.empty()) json_.emplace(call.json);
    if (call.json == kStdout || call.output == kStdout) figures_ = stderr;
    parts_ = parts_of(first);
    summary_.model = call.model;
    summary_.output = call.output;
    summary_.skips_nulls = call.skips_nulls;
    summary_.device = to_string(device_);
    summary_.threads = call.threads;
    summary_.busy_seconds.resize(static_cast<std::size_t>(call.threads));
    summary_.conversions = columns_->conversions;
    summary_.files = paths_.size();
    summary_.unit = columns_->unit == CallUnit::kRows     ? "rows"
                    : columns_->unit == CallUnit::kGroups ? "groups"
                                                          : "lists";
  }

  int run() {
    const int in_flight = call_.threads * kEventsPerThread;
    for (int slot = 0; slot < in_flight; ++slot) {
      callers_.emplace_back(model_, Queue(device_), description_.match, are_independent_,
                            call_.choice.rules);
    }
    const auto start = Clock::now();
    in_arena(call_.threads, [&] {
      return sched::run_events([&] { return timed([&] { return next(); }); },
                               [&](Item& item, std::size_t slot) {
                                 return timed([&] { return work(item, callers_[slot]); });
                               },
                               [&](Item& item, Result<InferredPart> outcome) {
                                 timed([&] { return finish(item, std::move(outcome)); });
                               },
                               {.in_flight = static_cast<std::size_t>(in_flight)});
    });
    number_files(paths_.size());
    const bool is_all_lost = summary_.rows == 0 && summary_.lacks_rows();
    if (!is_all_lost) writer_->finish();
    summary_.replaces = summary_.replaces && !is_all_lost;
    summary_.read_seconds += source_seconds_;
    summary_.wall_seconds = seconds_since(start);
    summary_.peak_memory = peak_of_this_process();
    if (json_) write_file(*json_, to_json(summary_).dump(2) + '\n');
    for (const SkippedOfFile& file : summary_.skipped) {
      for (const SkippedRows& rows : file.rows) {
        if (rows.is_null && call_.skips_nulls) continue;  // the table has it
        fmt::print(stderr, "tensoa: {}: {}\n", file.path, to_string(rows));
      }
    }
    fmt::print(figures_, "{}", to_table(summary_));
    return summary_.lacks_rows() ? kBadInput : kSuccess;
  }

 private:
  /// A name that no other column of the output has, for numbers that were not requested.
  std::string row_number_name() const {
    std::vector<std::string> names;
    for (const auto& column : columns_->written) names.push_back(column.name);
    for (const std::size_t column : columns_->copied) {
      names.push_back(columns_->read.columns[column]);
    }
    std::string name = kRowNumber;
    const bool is_wanted = call_.row_numbers.value_or(!columns_->keep.empty());
    while (!is_wanted && std::ranges::find(names, name) != names.end()) name.insert(0, "input_");
    return name;
  }

  /// Rows are about to be missing: those that are written so far are all before them.
  void require_row_numbers() {
    if (!summary_.row_numbers.empty() || !call_.row_numbers.value_or(true)) return;
    const std::string name = row_number_name();
    writer_->number_rows(name);
    summary_.row_numbers = name;
  }

  std::shared_ptr<const InferColumns> columns_of(const columnar::TableFile& file) const {
    auto columns = std::make_shared<InferColumns>(
        match_columns(description_, call_.model, file, names_in_files(call_)));
    columns->read.rows_per_chunk = call_.rows_per_chunk;
    return columns;
  }

  std::unique_ptr<columnar::TableParts> parts_of(const columnar::TableFile& file) const {
    auto parts = file.read(columns_->read);
    if (!columns_->group || are_independent_) return parts;
    return std::make_unique<GroupedParts>(std::move(parts), *columns_->group);
  }

  void find_out_about_rows() {
    using Answer = RowDependence::Answer;
    if (columns_->unit == CallUnit::kLists) return;
    if (columns_->gives_one_row_a_group && call_.rows == Answer::kIndependent) {
      throw ConfigError("--rows independent: model " + call_.model +
                        ": gives one row for each group, from all its rows; leave --rows out");
    }
    RowDependence& known = summary_.row_dependence;
    known = row_dependence(model_, description_, Queue(device_));
    summary_.given = call_.rows;
    // One answer for all rows of a call is none for each of them, also where a model says so.
    are_independent_ = !columns_->gives_one_row_a_group &&
                       call_.rows.value_or(known.answer) == Answer::kIndependent;
    if (columns_->unit == CallUnit::kGroups || are_independent_) return;
    const std::string reason =
        known.reason.empty() || call_.rows ? std::string() : " (" + known.reason + ')';
    throw ConfigError(
        "model " + call_.model +
        (call_.rows || known.answer == Answer::kDependent
             ? ": its answers for a row depend on the other rows of the call"
             : ": its answers for a row may depend on the other rows of the call") +
        reason +
        "; --group COLUMN says which rows make a call, --rows independent says that they do not");
  }

  /// Runs a stage, whose time this thread is busy.
  template <class Stage>
  std::invoke_result_t<const Stage&> timed(const Stage& stage) {
    const auto start = Clock::now();
    auto result = stage();
    const int thread = tbb::this_task_arena::current_thread_index();
    const auto place = static_cast<std::size_t>(std::max(thread, 0));
    summary_.busy_seconds[place % summary_.busy_seconds.size()] += seconds_since(start);
    return result;
  }

  std::optional<Item> next() {
    while (true) {
      if (parts_) {
        const auto start = Clock::now();
        auto part = parts_->next();
        source_seconds_ += seconds_since(start);
        if (part) return Item{std::move(part), columns_, paths_[file_].string(), file_};
        parts_.reset();
        ++file_;
      }
      if (file_ == paths_.size()) return {};
      try {
        const columnar::TableFile file(paths_[file_]);
        columns_ = columns_of(file);
        parts_ = parts_of(file);
      } catch (const Error& error) {
        const std::string path = paths_[file_].string();
        return Item{std::make_unique<WholePart>(0, std::nullopt, error.what()), columns_, path,
                    file_++};
      }
    }
  }

  /// Rows are encoded here, by all threads at the same time, where none of them needs its number.
  InferredPart work(Item& item, InferCaller& caller) const {
    const auto start = Clock::now();
    const double before = caller.seconds();
    InferredPart outcome;
    if (encoder_) outcome.encoded = encoder_->begin();
    double encode_seconds = 0;
    std::uint64_t next_row = item.part->first_row();
    const auto lose = [&](std::uint64_t first, std::optional<std::uint64_t> rows,
                          std::string message) {
      if (!message.starts_with(item.path)) message.insert(0, item.path + ": ");
      outcome.lost.push_back({item.path, first, rows, std::move(message)});
    };
    while (true) {
      std::optional<columnar::TableChunk> chunk;
      try {
        chunk = item.part->next();
      } catch (const InputError& error) {
        std::optional<std::uint64_t> rest;
        if (item.part->rows()) rest = item.part->first_row() + *item.part->rows() - next_row;
        lose(next_row, rest, error.what());
        break;
      }
      if (!chunk) break;
      next_row = chunk->first_row() + chunk->rows();
      try {
        outcome.chunks.push_back(caller.run(*chunk, *item.columns));
      } catch (const InputError& error) {
        lose(chunk->first_row(), chunk->rows(), error.what());
        continue;
      }
      const auto encode = Clock::now();
      encode_last(outcome);
      encode_seconds += seconds_since(encode);
    }
    if (outcome.encoded && outcome.encoded->rows() < kRowsToEncode) outcome.encoded.reset();
    outcome.copies = caller.take_copies();
    outcome.infer_seconds = caller.seconds() - before;
    outcome.write_seconds = encode_seconds;
    outcome.read_seconds = seconds_since(start) - outcome.infer_seconds - encode_seconds;
    return outcome;
  }

  /// A part that cannot be encoded is written, and reported, in its turn.
  static void encode_last(InferredPart& outcome) {
    const InferredChunk& chunk = outcome.chunks.back();
    if (!outcome.encoded || chunk.rows == 0) return;
    try {
      outcome.encoded->append(chunk.rows, chunk.numbers, chunk.copied);
    } catch (const InputError&) {
      outcome.encoded.reset();
    }
  }

  bool finish(const Item& item, Result<InferredPart> result) {
    number_files(item.file + 1);
    if (!result) {
      lose({item.path, item.part->first_row(), item.part->rows(), result.message()});
      return false;
    }
    summary_.read_seconds += result->read_seconds;
    summary_.infer_seconds += result->infer_seconds;
    summary_.copies += result->copies;
    const auto start = Clock::now();
    const auto skips = [](const InferredChunk& chunk) { return !chunk.skipped.empty(); };
    if (!result->lost.empty() || std::ranges::any_of(result->chunks, skips)) require_row_numbers();
    const bool is_written = result->encoded && writer_->append(*std::move(result->encoded));
    for (const InferredChunk& chunk : result->chunks) {
      const std::uint64_t end = chunk.first_row + chunk.rows_read;
      rows_of_file_ = std::max(rows_of_file_, end);
      try {
        if (!is_written) write(chunk);
      } catch (const InputError& error) {
        lose({item.path, chunk.first_row, chunk.rows_read, error.what()});
        continue;
      }
      summary_.rows += chunk.rows_read;
      summary_.rows_kept += chunk.rows;
      if (!chunk.skipped.empty()) skip(item.path, chunk.skipped);
    }
    for (const LostRows& lost : result->lost) lose(lost);
    summary_.write_seconds += result->write_seconds + seconds_since(start);
    return true;
  }

  /// Files without parts have no rows.
  void number_files(std::size_t files) {
    while (summary_.numbered.size() < files) {
      base_ += rows_of_file_;
      rows_of_file_ = 0;
      const std::string path = paths_[summary_.numbered.size()].string();
      summary_.numbered.push_back({path, base_, is_base_exact_});
    }
  }

  void write(const InferredChunk& chunk) {
    if (chunk.rows == 0) return;
    std::vector<columnar::WrittenNumbers> numbers = chunk.numbers;
    if (!summary_.row_numbers.empty()) {
      row_numbers_.resize(chunk.rows);
      for (std::size_t i = 0; i < chunk.rows; ++i) {
        const std::size_t row = chunk.row_numbers.empty() ? i : chunk.row_numbers[i];
        row_numbers_[i] = static_cast<std::int64_t>(base_ + chunk.first_row + row);
      }
      numbers.insert(
          numbers.begin(),
          {.data = reinterpret_cast<const std::byte*>(row_numbers_.data()), .offsets = {}});
    }
    writer_->append(chunk.rows, numbers, chunk.copied);
  }

  void skip(const std::string& path, const std::vector<SkippedRows>& rows) {
    if (summary_.skipped.empty() || summary_.skipped.back().path != path) {
      summary_.skipped.push_back({path, {}});
    }
    add(summary_.skipped.back().rows, rows);
    for (const SkippedRows& one : rows) summary_.rows -= one.rows;
  }

  void lose(LostRows lost) {
    require_row_numbers();
    constexpr std::size_t kMostLines = 20;
    rows_of_file_ = std::max(rows_of_file_, lost.first_row + lost.rows.value_or(0));
    is_base_exact_ = is_base_exact_ && lost.rows;
    if (summary_.lost.size() < kMostLines) fmt::print(stderr, "tensoa: {}\n", lost.message);
    if (summary_.lost.size() == kMostLines) {
      fmt::print(stderr, "tensoa: further errors are in the file of --json\n");
    }
    summary_.lost.push_back(std::move(lost));
  }

  const InferCall& call_;
  package::ModelDescription description_;
  Device device_;
  Model<> model_;
  std::vector<fs::path> paths_;
  std::shared_ptr<const InferColumns> columns_;  ///< of the file that is read
  bool are_independent_ = false;
  std::optional<columnar::TableWriter> writer_;
  std::optional<columnar::RowEncoder> encoder_;  ///< where rows need no numbers
  std::optional<OutputFile> json_;
  std::FILE* figures_ = stdout;
  std::size_t file_ = 0;  ///< that is read
  std::unique_ptr<columnar::TableParts> parts_;
  double source_seconds_ = 0;
  std::vector<InferCaller> callers_;  ///< by slot
  std::uint64_t base_ = 0;            ///< rows of the files before the one that is written
  bool is_base_exact_ = true;         ///< with that one
  std::uint64_t rows_of_file_ = 0;
  std::vector<std::int64_t> row_numbers_;
  InferSummary summary_;
};

}  // namespace

int infer(const InferCall& call) { return InferRun(call).run(); }

}  // namespace tensoa::tools
