// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/archive.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

#include "zip_writer.hpp"

namespace tensoa::package {
namespace {

using test::ZipWriter;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Fields, as places in a header.
constexpr std::size_t kLocalSize = 22, kLocalNameSize = 26;
constexpr std::size_t kFlags = 8, kMethod = 10, kStoredSize = 20, kSize = 24, kOffset = 42;
constexpr std::size_t kDisk = 4, kEntries = 10, kDirectorySize = 12, kDirectory = 16;

ZipWriter two_files(const std::string& comment = "") {
  ZipWriter zip;
  zip.add("model/b", "second");
  zip.add("model/folder/a", "first, and longer");
  zip.finish(comment);
  return zip;
}

auto reading(const std::string& bytes) {
  return [bytes] { const Archive archive(bytes); };
}

auto fails_with(const std::string& what) {
  return ThrowsMessage<std::runtime_error>(HasSubstr(what));
}

/// Two files, with one field of a record changed.
template <class Record>
auto changed(const Record& record, std::size_t field, std::size_t value, std::size_t bytes) {
  ZipWriter zip = two_files();
  zip.set(record(zip) + field, value, bytes);
  return reading(zip.text);
}

constexpr auto kFirstLocal = [](const ZipWriter& zip) { return zip.locals[0]; };
constexpr auto kSecondLocal = [](const ZipWriter& zip) { return zip.locals[1]; };
constexpr auto kFirstCentral = [](const ZipWriter& zip) { return zip.centrals[0]; };
constexpr auto kEnd = [](const ZipWriter& zip) { return zip.end; };

TEST(Archive, GivesTheFilesByTheirNamesInTheFolder) {
  for (const std::string comment : {"", "tensoa sha256 0123", "PK\5\6 looks like an end record"}) {
    const std::string bytes = two_files(comment).text;
    const Archive archive(bytes);
    ASSERT_EQ(archive.files().size(), 2U);
    EXPECT_EQ(archive.files()[0].name, "b");
    EXPECT_EQ(archive.file("b"), "second");
    EXPECT_EQ(archive.file("folder/a"), "first, and longer");
    EXPECT_THAT([&] { archive.file("model/b"); }, fails_with("its file model/b is missing"));
  }
}

/// Bit after bit, as it is defined.
std::uint32_t crc32_of_bits(std::string_view bytes) {
  std::uint32_t rest = ~0U;
  for (const char byte : bytes) {
    rest ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) * 0xEDB8'8320U);
  }
  return ~rest;
}

TEST(Archive, ChecksumIsThatOfTheDefinitionForAllSizes) {
  EXPECT_EQ(crc32("123456789"), 0xCBF4'3926U);  // of every book on it
  std::mt19937 random(1);
  std::string bytes(1000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (std::size_t size = 0; size <= 700; ++size) {
    const std::string_view some(bytes.data() + size % 17, size);
    ASSERT_EQ(crc32(some), crc32_of_bits(some)) << size;
  }
}

TEST(Archive, FilesThatAreNotWhatTheirChecksumSaysAreNamed) {
  std::string bytes = two_files().text;
  Archive(bytes).require_checksums();
  bytes[bytes.find("longer")] ^= 1;
  EXPECT_THAT([&] { Archive(bytes).require_checksums(); },
              fails_with("its file folder/a is damaged: its checksum is wrong"));
}

TEST(Archive, TakesEmptyFiles) {
  ZipWriter zip;
  zip.add("model/empty", "");
  zip.add("model/other", "");
  const Archive archive(zip.finish());
  EXPECT_EQ(archive.file("empty"), "");
}

TEST(Archive, CutOffAnywhereIsAnError) {
  const std::string whole = two_files().text;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(reading(whole.substr(0, size))(), std::runtime_error) << size;
  }
}

TEST(Archive, LengthsBeyondTheFileAreErrors) {
  for (const std::size_t huge : {0x1000UL, 0xFFFF'FFF0UL}) {
    EXPECT_THROW(changed(kFirstCentral, kOffset, huge, 4)(), std::runtime_error);
    EXPECT_THROW(changed(kEnd, kDirectory, huge, 4)(), std::runtime_error);
    EXPECT_THROW(changed(kEnd, kDirectorySize, huge, 4)(), std::runtime_error);
  }
  EXPECT_THROW(changed(kEnd, kEntries, 3, 2)(), std::runtime_error);
  EXPECT_THROW(changed(kSecondLocal, kLocalNameSize, 0xFFF0, 2)(), std::runtime_error);
  ZipWriter zip = two_files();
  for (const std::size_t at : {zip.centrals[1] + kStoredSize, zip.centrals[1] + kSize,
                               zip.locals[1] + kLocalSize - 4, zip.locals[1] + kLocalSize}) {
    zip.set(at, 0x1000, 4);
  }
  EXPECT_THAT(reading(zip.text), fails_with("its file model/folder/a is cut off"));
}

TEST(Archive, HeadersThatContradictEachOtherAreErrors) {
  EXPECT_THAT(changed(kFirstLocal, 0, 0, 4), fails_with("is not where the directory"));
  EXPECT_THAT(changed(kFirstLocal, kLocalSize, 5, 4), fails_with("is not where the directory"));
  EXPECT_THAT(changed(kFirstLocal, 30, 'M', 1), fails_with("is not where the directory"));
  EXPECT_THAT(changed(kFirstCentral, 0, 0, 4), fails_with("directory of its archive is damaged"));
  EXPECT_THAT(changed(kEnd, kDirectorySize, 10, 4), fails_with("does not end where it should"));
}

TEST(Archive, CompressedAndEncryptedFilesAreRefused) {
  EXPECT_THAT(changed(kFirstCentral, kMethod, 8, 2), fails_with("its file model/b is compressed"));
  EXPECT_THAT(changed(kFirstCentral, kStoredSize, 5, 4), fails_with("is compressed"));
  EXPECT_THAT(changed(kFirstCentral, kFlags, 1, 2), fails_with("is encrypted"));
}

TEST(Archive, SizesOfFilesThatWereWrittenAsAStreamAreThoseOfTheDirectory) {
  EXPECT_THAT(changed(kFirstCentral, kFlags, 8, 2), fails_with("is not where the directory"));
  ZipWriter zip = two_files();
  zip.set(zip.centrals[0] + kFlags, 8, 2);
  zip.set(zip.locals[0] + kLocalSize - 4, 0, 4);
  zip.set(zip.locals[0] + kLocalSize, 0, 4);
  EXPECT_EQ(Archive(zip.text).file("b"), "second");
}

TEST(Archive, ArchivesOfSeveralPartsOrAboveFourGigabytesAreRefused) {
  EXPECT_THAT(changed(kEnd, kDisk, 1, 2), fails_with("more than one part"));
  EXPECT_THAT(changed(kEnd, kEntries, 1, 2), fails_with("more than one part"));
  EXPECT_THAT(changed(kEnd, kDirectory, 0xFFFF'FFFF, 4), fails_with("more than 4 GB"));
}

TEST(Archive, FilesThatOverlapAreRefused) {
  ZipWriter zip;
  zip.add("model/a", "12345678");
  zip.add("model/a", "12345678");
  zip.finish();
  EXPECT_THAT(reading(zip.text), fails_with("two files a"));
  zip.set(zip.centrals[1] + kOffset, zip.locals[0], 4);
  EXPECT_THAT(reading(zip.text), fails_with("overlap"));
}

TEST(Archive, FilesOutsideOfTheFolderAreRefused) {
  for (const std::string name : {"b", "other/b", "/b"}) {
    ZipWriter zip;
    zip.add("model/a", "");
    zip.add(name, "");
    EXPECT_THAT(reading(zip.finish()), fails_with("does not lie in the folder")) << name;
  }
  ZipWriter no_folder;
  no_folder.add("a", "");
  EXPECT_THAT(reading(no_folder.finish()), fails_with("does not lie in the folder"));
}

TEST(Archive, WhatIsNotAnArchiveIsAnError) {
  EXPECT_THAT(reading(""), fails_with("it holds no zip archive"));
  EXPECT_THAT(reading(std::string(100'000, 'x')), fails_with("it holds no zip archive"));
  ZipWriter nothing;
  EXPECT_THAT(reading(nothing.finish()), fails_with("its archive is empty"));
}

}  // namespace
}  // namespace tensoa::package
