// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/columnar/table_writer.hpp"

#include <utility>

#include "arrow_library.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/output_file.hpp"

namespace tensoa::columnar {
namespace {

namespace fs = std::filesystem;

OutputFormat ending_of(const fs::path& path) {
  if (path == "/dev/stdout") return OutputFormat::kCsv;
  if (path.extension() == ".parquet") return OutputFormat::kParquet;
  if (path.extension() == ".arrow") return OutputFormat::kArrow;
  if (path.extension() == ".csv") return OutputFormat::kCsv;
  throw ConfigError(path.string() + ": got the ending \"" + path.extension().string() +
                    "\", expected a file named .parquet, .arrow or .csv");
}

}  // namespace

class EncodedRows::Apart {
 public:
  explicit Apart(std::shared_ptr<const WrittenTable> table)
      : table_(std::move(table)), rows_(table_->encode_apart()) {}

  RowsApart& rows() const { return *rows_; }
  bool are_of(const WrittenTable& table) const { return table_.get() == &table; }

 private:
  std::shared_ptr<const WrittenTable> table_;
  std::unique_ptr<RowsApart> rows_;
};

EncodedRows::EncodedRows(std::unique_ptr<Apart> apart) : apart_(std::move(apart)) {}
EncodedRows::~EncodedRows() = default;
EncodedRows::EncodedRows(EncodedRows&&) noexcept = default;
EncodedRows& EncodedRows::operator=(EncodedRows&&) noexcept = default;

void EncodedRows::append(std::size_t rows, const std::vector<WrittenNumbers>& numbers,
                         const TableChunk& copied) {
  apart_->rows().append(rows, numbers, &copied);
  count_ += rows;
}

EncodedRows RowEncoder::begin() const {
  return EncodedRows(
      std::make_unique<EncodedRows::Apart>(std::static_pointer_cast<const WrittenTable>(table_)));
}

/// A file and what writes it.
class TableWriter::Output {
 public:
  Output(const fs::path& path, std::vector<WrittenColumn> columns, std::optional<TableChunk> copied)
      : format_(ending_of(path)),
        columns_(std::move(columns)),
        copied_(std::move(copied)),
        file_(path),
        table_(arrow_library().write({format_, file_.path(), file_.temporary()}, columns_,
                                     copied_ ? &*copied_ : nullptr)) {}

  void append(std::size_t rows, const std::vector<WrittenNumbers>& numbers,
              const TableChunk* copied) {
    table_->append(rows, numbers, copied);
  }

  const std::shared_ptr<WrittenTable>& table() const { return table_; }

  /// The same table with a further first column, and the rows of this one, which is closed.
  std::unique_ptr<Output> with_row_numbers(const std::string& name) {
    if (is_written_in_place(file_.path())) {
      throw ConfigError(file_.path().string() +
                        ": is written in place, and rows that are written get no numbers");
    }
    std::vector<WrittenColumn> columns = columns_;
    columns.insert(columns.begin(), {.name = name, .dtype = DType::kI64});
    auto numbered = std::make_unique<Output>(file_.path(), std::move(columns), copied_);
    table_->close();
    numbered->table_->take_rows(file_.temporary());
    return numbered;
  }

  void finish() {
    table_->close();
    file_.commit();
  }

 private:
  OutputFormat format_;
  std::vector<WrittenColumn> columns_;
  std::optional<TableChunk> copied_;  ///< without rows
  OutputFile file_;
  std::shared_ptr<WrittenTable> table_;
};

TableWriter::TableWriter(const fs::path& path, std::vector<WrittenColumn> columns)
    : output_(std::make_unique<Output>(path, std::move(columns), std::nullopt)) {}

TableWriter::TableWriter(const fs::path& path, std::vector<WrittenColumn> columns,
                         const TableChunk& copied)
    : output_(std::make_unique<Output>(path, std::move(columns), copied)) {}

TableWriter::~TableWriter() = default;
TableWriter::TableWriter(TableWriter&&) noexcept = default;
TableWriter& TableWriter::operator=(TableWriter&&) noexcept = default;

void TableWriter::append(std::size_t rows, const std::vector<WrittenNumbers>& numbers) {
  output_->append(rows, numbers, nullptr);
}

void TableWriter::append(std::size_t rows, const std::vector<WrittenNumbers>& numbers,
                         const TableChunk& copied) {
  output_->append(rows, numbers, &copied);
}

std::optional<RowEncoder> TableWriter::encoder() const {
  const std::shared_ptr<WrittenTable>& table = output_->table();
  return table->encodes() ? std::optional(RowEncoder(table)) : std::nullopt;
}

bool TableWriter::append(EncodedRows rows) {
  WrittenTable& table = *output_->table();
  if (!rows.apart_->are_of(table)) return false;
  table.append(rows.apart_->rows());
  return true;
}

void TableWriter::number_rows(const std::string& name) {
  output_ = output_->with_row_numbers(name);
}

void TableWriter::finish() { output_->finish(); }

void require_table_ending(const fs::path& path) { ending_of(path); }

}  // namespace tensoa::columnar
