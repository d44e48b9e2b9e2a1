// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <arrow/io/compressed.h>
#include <arrow/io/memory.h>
#include <arrow/util/compression.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/file_reader.h>
#include <parquet/file_writer.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <cstring>
#include <numeric>

#include "../support/temporary_folder.hpp"
#include "tables.hpp"

// Files that are cut off, overwritten or say what is not so: an error with the file's name, or rows that are all there.

namespace tensoa::columnar {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<float> counted(std::size_t first, std::size_t n) {
  std::vector<float> numbers(n);
  std::iota(numbers.begin(), numbers.end(), static_cast<float>(first));
  return numbers;
}

/// 1, 2, … as offsets of one more than `n` lists, with one of them replaced.
std::vector<std::int32_t> offsets_with(std::size_t place, std::int32_t value, std::size_t n) {
  std::vector<std::int32_t> offsets(n + 1);
  std::iota(offsets.begin(), offsets.end(), 0);
  offsets[place] = value;
  return offsets;
}

class DamagedFiles : public testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_.path() / name; }

  /// The rows of x in a file with these bytes, or the message of the error that it is.
  test::Read read(const std::string& name, const std::string& bytes) const {
    try {
      return test::read(TableFile(folder_.write(name, bytes)), "x", 1'000);
    } catch (const InputError& error) {
      return {.numbers = {}, .chunks = {}, .lost = {error.what()}};
    }
  }

  /// A batch of 0, 1, … and lists of these, as they are in a file that is damaged.
  void write_batch(const std::string& name, const std::shared_ptr<arrow::Array>& array) const {
    test::write(path(name), {{"x", array}}, array->length());
  }

  tensoa::test::TemporaryFolder folder_;
};

TEST_F(DamagedFiles, CutOffAnywhereIsAnError) {
  for (const char* name : {"a.parquet", "a.arrow"}) {
    const std::string all = text_of(test::write(path(name), {{"x", test::counted(5)}}, 2));
    EXPECT_EQ(read(name, all).numbers, counted(0, 5));
    for (std::size_t size = 1; size < all.size(); ++size) {
      const test::Read cut = read(name, all.substr(0, size));
      ASSERT_THAT(cut.lost, ElementsAre(AllOf(HasSubstr(name), HasSubstr("damaged or truncated"))))
          << size;
      ASSERT_THAT(cut.numbers, IsEmpty()) << size;
    }
  }
}

TEST_F(DamagedFiles, AStreamThatIsCutOffKeepsWholeBatchesAndSaysSo) {
  const std::string all = text_of(test::write(path("a.ipc"), {{"x", test::counted(6)}}, 2));
  EXPECT_THAT(read("a.ipc", all).lost, IsEmpty());
  for (std::size_t size = 1; size < all.size(); ++size) {
    const test::Read cut = read("a.ipc", all.substr(0, size));
    ASSERT_EQ(cut.numbers.size() % 2, 0U) << size;
    ASSERT_EQ(cut.numbers, counted(0, cut.numbers.size())) << size;
    ASSERT_THAT(cut.lost, ElementsAre(HasSubstr("a.ipc"))) << size;
  }
}

TEST_F(DamagedFiles, AStreamOfADictionaryThatIsCutOffSaysSo) {
  // The last values look like an end-of-stream marker.
  const auto values = test::array<arrow::Int32Builder>(std::vector<std::int32_t>{7, 8, -1});
  const auto places = test::array<arrow::Int8Builder>(std::vector<std::int8_t>{0, 1, 2, 0});
  write_batch("a.ipc", std::make_shared<arrow::DictionaryArray>(
                           arrow::dictionary(arrow::int8(), arrow::int32()), places, values));
  const std::string all = text_of(path("a.ipc"));
  EXPECT_THAT(read("a.ipc", all).lost, IsEmpty());
  for (std::size_t size = 1; size < all.size(); ++size) {
    ASSERT_THAT(read("a.ipc", all.substr(0, size)).lost, ElementsAre(HasSubstr("a.ipc"))) << size;
  }
}

TEST_F(DamagedFiles, AStreamWithoutEndOfStreamMarkerKeepsAllBatchesAndSaysSo) {
  const std::string all = text_of(test::write(path("a.ipc"), {{"x", test::counted(6)}}, 2));
  const test::Read cut = read("a.ipc", all.substr(0, all.size() - 8));
  EXPECT_EQ(cut.numbers, counted(0, 6));
  EXPECT_THAT(cut.lost, ElementsAre(HasSubstr("a.ipc: ends without an end-of-stream marker")));
  // Arrow before 0.15 wrote the length alone.
  const test::Read old = read("a.ipc", all.substr(0, all.size() - 8) + std::string(4, '\0'));
  EXPECT_EQ(old.numbers, counted(0, 6));
  EXPECT_THAT(old.lost, IsEmpty());
}

TEST_F(DamagedFiles, TwoStreamsInAFileAreTheFirstAndAnError) {
  const std::string all = text_of(test::write(path("a.ipc"), {{"x", test::counted(6)}}, 2));
  const test::Read both = read("a.ipc", all + all);
  EXPECT_EQ(both.numbers, counted(0, 6));
  EXPECT_THAT(both.lost, ElementsAre(HasSubstr(std::to_string(all.size()) +
                                               " bytes after its end-of-stream marker")));
}

TEST_F(DamagedFiles, PackedTextThatIsCutOffIsAnError) {
  std::string text = "x,y\n";
  for (int i = 0; i < 2'000; ++i) text += std::to_string(i) + "," + std::to_string(i * 7919) + "\n";
  const auto codec = arrow::util::Codec::Create(arrow::Compression::GZIP).ValueOrDie();
  const auto memory = arrow::io::BufferOutputStream::Create().ValueOrDie();
  const auto packer = arrow::io::CompressedOutputStream::Make(codec.get(), memory).ValueOrDie();
  ASSERT_TRUE(packer->Write(text).ok() && packer->Close().ok());
  const std::string all = memory->Finish().ValueOrDie()->ToString();
  EXPECT_EQ(read("a.csv.gz", all).numbers, counted(0, 2'000));
  for (std::size_t size = 1; size < all.size(); size += 1 + all.size() / 50) {
    EXPECT_THAT(read("a.csv.gz", all.substr(0, size)).lost, ElementsAre(HasSubstr("a.csv.gz")))
        << size;
  }
  EXPECT_THAT(read("b.csv.gz", text).lost, ElementsAre(HasSubstr("b.csv.gz")));
}

/// Three batches of 1000 rows, packed; the bytes of the second one's column overwritten, or those that describe it.
std::string with_a_damaged_batch(const fs::path& path, bool is_description) {
  const auto all = test::table({{"x", test::counted(3'000)}});
  const auto stream = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.codec = arrow::util::Codec::Create(arrow::Compression::ZSTD).ValueOrDie();
  const auto writer = arrow::ipc::MakeFileWriter(stream, all->schema(), options).ValueOrDie();
  std::vector<std::int64_t> begins;
  for (int batch = 0; batch < 3; ++batch) {
    begins.push_back(stream->Tell().ValueOrDie());
    EXPECT_TRUE(writer->WriteTable(*all->Slice(batch * 1'000, 1'000)).ok());
  }
  EXPECT_TRUE(writer->Close().ok() && stream->Close().ok());
  std::string bytes = text_of(path);
  const auto begin = static_cast<std::size_t>(begins[1]) + 16;
  const std::size_t packed = bytes.find("\x28\xB5\x2F\xFD", begin);
  return bytes.replace(is_description ? begin : packed, 32, 32, '\xFF');
}

TEST_F(DamagedFiles, RowsAfterADamagedBatchKeepTheirNumbers) {
  const TableFile file(folder_.write("a.arrow", with_a_damaged_batch(path("a.arrow"), false)));
  const auto parts = file.read({.columns = {"x"}});
  EXPECT_EQ(parts->next()->next()->first_row(), 0U);
  const auto lost = parts->next();
  EXPECT_EQ(lost->first_row(), 1'000U);
  EXPECT_THAT([&] { lost->next(); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("a.arrow"), HasSubstr("record batch 1"))));
  const auto chunk = parts->next()->next();
  EXPECT_EQ(chunk->first_row(), 2'000U);
  NumberMemory memory;
  EXPECT_EQ(*reinterpret_cast<const float*>(chunk->numbers(0, DType::kF32, {}, memory)), 2'000.0F);
  EXPECT_EQ(parts->next(), nullptr);
}

TEST_F(DamagedFiles, ABatchThatDoesNotSayHowManyRowsItHasEndsTheFile) {
  const test::Read all = read("a.arrow", with_a_damaged_batch(path("a.arrow"), true));
  EXPECT_EQ(all.numbers, counted(0, 1'000));
  EXPECT_THAT(all.lost, ElementsAre(AllOf(HasSubstr("a.arrow"), HasSubstr("record batch 1"))));
}

TEST_F(DamagedFiles, OffsetsThatNoListsHaveAreAnErrorWithTheRow) {
  const auto elements = test::counted(4);
  NumberMemory memory;
  const auto message_of = [&](const std::shared_ptr<arrow::Array>& lists) {
    write_batch("a.arrow", lists);
    try {
      const TableChunk chunk = test::only_chunk(TableFile(path("a.arrow")), {"x"});
      chunk.lists(0, DType::kF32, {}, memory);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  const auto lists = [&](std::vector<std::int32_t> offsets) {
    const auto n = static_cast<std::int64_t>(offsets.size()) - 1;
    return std::make_shared<arrow::ListArray>(
        arrow::list(arrow::float32()), n, arrow::Buffer::FromVector(std::move(offsets)), elements);
  };
  EXPECT_EQ(message_of(lists(offsets_with(0, 0, 4))), "none");
  EXPECT_THAT(message_of(lists(offsets_with(2, 4, 4))),
              HasSubstr("a.arrow: row 3: a list has impossible offsets; the file is damaged"));
  EXPECT_THAT(message_of(lists(offsets_with(2, 400, 4))), HasSubstr("a.arrow: row"));
  EXPECT_THAT(message_of(lists(offsets_with(2, -1, 4))), HasSubstr("a.arrow: row"));
  EXPECT_THAT(message_of(lists(offsets_with(4, 1 << 30, 4))), HasSubstr("a.arrow"));
  // Offsets of 64 bits do not wrap round those of 32.
  const auto large = [&](std::vector<std::int64_t> offsets) {
    const auto n = static_cast<std::int64_t>(offsets.size()) - 1;
    return std::make_shared<arrow::LargeListArray>(arrow::large_list(arrow::float32()), n,
                                                   arrow::Buffer::FromVector(std::move(offsets)),
                                                   elements);
  };
  EXPECT_EQ(message_of(large({0, 1, 4})), "none");
  EXPECT_THAT(message_of(large({0, (std::int64_t{1} << 32) + 1, 4})), HasSubstr("a.arrow: row 1"));
  EXPECT_THAT(message_of(large({0, 1, (std::int64_t{1} << 32) + 4})), HasSubstr("a.arrow"));
}

TEST_F(DamagedFiles, PlacesThatADictionaryLacksAreAnError) {
  const auto values = test::floats({5, 6});
  for (const auto wrong : std::vector<std::int8_t>{2, 127, -1}) {
    const auto places = test::array<arrow::Int8Builder>(std::vector<std::int8_t>{0, 1, wrong, 0});
    write_batch("a.arrow", std::make_shared<arrow::DictionaryArray>(
                               arrow::dictionary(arrow::int8(), arrow::float32()), places, values));
    const TableChunk chunk = test::only_chunk(TableFile(path("a.arrow")), {"x"});
    NumberMemory memory;
    EXPECT_THAT([&] { chunk.numbers(0, DType::kF32, {}, memory); },
                ThrowsMessage<InputError>(
                    AllOf(HasSubstr("a.arrow: cannot be unpacked"), HasSubstr("out of bounds"))))
        << int{wrong};
  }
}

TEST_F(DamagedFiles, SizesThatNoFileHasAreAnErrorBeforeTheyTakeMemory) {
  const auto with = [](std::string bytes, std::size_t at, std::int32_t size) {
    std::memcpy(bytes.data() + at, &size, sizeof(size));
    return bytes;
  };
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::string stream = text_of(test::write(path("a.ipc"), {{"x", test::counted(6)}}, 2));
  const std::string file = text_of(test::write(path("a.arrow"), {{"x", test::counted(6)}}, 2));
  const std::string parquet = text_of(test::write(path("a.parquet"), {{"x", test::counted(6)}}, 2));
  for (const std::int32_t size : {kMost, kMost - 7, -1, std::numeric_limits<std::int32_t>::min()}) {
    const auto is_damaged = ElementsAre(HasSubstr("damaged or truncated"));
    EXPECT_THAT(read("a.ipc", with(stream, 4, size)).lost, is_damaged) << size;
    EXPECT_THAT(read("a.arrow", with(file, file.size() - 10, size)).lost, is_damaged) << size;
    EXPECT_THAT(read("a.parquet", with(parquet, parquet.size() - 8, size)).lost, is_damaged)
        << size;
  }
}

/// A Parquet file of one row group of 6 rows, which is said to have `rows`.
std::string with_rows(const fs::path& path, std::int64_t rows) {
  const std::string bytes = text_of(test::write(path, {{"x", test::counted(6)}}, 6));
  const auto metadata = parquet::ParquetFileReader::OpenFile(path.string())->metadata();
  const auto properties = parquet::default_writer_properties();
  const auto builder = parquet::FileMetaDataBuilder::Make(metadata->schema(), properties);
  const auto column = metadata->RowGroup(0)->ColumnChunk(0);
  auto* group = builder->AppendRowGroup();
  group->set_num_rows(rows);
  std::map<parquet::Encoding::type, std::int32_t> of_dictionary, of_data;
  group->NextColumnChunk()->Finish(column->num_values(), column->dictionary_page_offset(), 0,
                                   column->data_page_offset(), column->total_compressed_size(),
                                   column->total_uncompressed_size(), column->has_dictionary_page(),
                                   false, of_dictionary, of_data);
  group->Finish(metadata->RowGroup(0)->total_byte_size());
  const auto memory = arrow::io::BufferOutputStream::Create().ValueOrDie();
  const std::int64_t end = static_cast<std::int64_t>(bytes.size()) - metadata->size() - 8;
  EXPECT_TRUE(memory->Write(bytes.data(), end).ok());
  parquet::WriteFileMetaData(*builder->Finish(), memory.get());
  return memory->Finish().ValueOrDie()->ToString();
}

TEST_F(DamagedFiles, ARowGroupWithAnotherNumberOfRowsIsAnError) {
  EXPECT_EQ(read("a.parquet", with_rows(path("b.parquet"), 6)).numbers, counted(0, 6));
  EXPECT_THAT(read("a.parquet", with_rows(path("b.parquet"), 4)).lost,
              ElementsAre(HasSubstr("it has 4 rows, and column x 6 values")));
  for (const std::int64_t rows : {0L, 5L, 7L, 1'000L, 1L << 40, -1L}) {
    const test::Read all = read("a.parquet", with_rows(path("b.parquet"), rows));
    EXPECT_THAT(all.lost, ElementsAre(HasSubstr("a.parquet"))) << rows;
  }
}

TEST_F(DamagedFiles, AFooterWithAnotherNumberOfRowsThanItsGroupsIsAnErrorAfterThem) {
  std::string bytes = text_of(test::write(path("a.parquet"), {{"x", test::counted(6)}}, 6));
  const std::string six_rows_and_the_groups = "\x16\x0C\x19\x1C";  // in Thrift's compact protocol
  const std::size_t at = bytes.find(six_rows_and_the_groups);
  ASSERT_NE(at, std::string::npos);
  bytes[at + 1] = 2 * 8;
  const test::Read all = read("a.parquet", bytes);
  EXPECT_EQ(all.numbers, counted(0, 6));
  EXPECT_THAT(all.lost, ElementsAre(HasSubstr("it has 8 rows, and its row groups 6")));
}

}  // namespace
}  // namespace tensoa::columnar
