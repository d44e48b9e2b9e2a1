// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/sha256.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::package {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// The examples of FIPS 180-4 and NIST's test vectors; lengths around the padding by sha256sum.
TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PadsEveryLength) {
  EXPECT_EQ(sha256(std::string(55, 'x')),
            "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
  EXPECT_EQ(sha256(std::string(56, 'x')),
            "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
  EXPECT_EQ(sha256(std::string(63, 'x')),
            "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2");
  EXPECT_EQ(sha256(std::string(64, 'x')),
            "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
}

TEST(Sha256, OfAFileIsThatOfSha256sum) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(checksum_of_file(folder.write("abc", "abc")), sha256("abc"));
  EXPECT_EQ(checksum_of_file(folder.write("empty", "")), sha256(""));
  const std::string long_text(200'000, 'x');
  EXPECT_EQ(checksum_of_file(folder.write("long", long_text)), sha256(long_text));
  EXPECT_THAT([&] { checksum_of_file(folder.path() / "none"); },
              ThrowsMessage<LoadError>(HasSubstr("cannot be read")));
  EXPECT_THAT([&] { checksum_of_file(folder.path()); },
              ThrowsMessage<LoadError>(HasSubstr("is a folder, expected a file")));
}

TEST(Sha256, IsRecognised) {
  EXPECT_TRUE(is_checksum(sha256("")));
  EXPECT_FALSE(is_checksum(sha256("").substr(1)));
  EXPECT_FALSE(is_checksum(std::string(64, 'A')));
  EXPECT_FALSE(is_checksum(""));
}

}  // namespace
}  // namespace tensoa::package
