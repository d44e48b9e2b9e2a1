// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The checksum of zip archives, at the speed of memory: the weights of a model are checked each time it is loaded.
// Products without carry put 64 bytes in one step onto the next 64 (Gopal et al., "Fast CRC Computation for Generic
// Polynomials Using PCLMULQDQ Instruction", Intel, 2009); the checksum of the 16 bytes that are left is that of all.
#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "tensoa/package/archive.hpp"

namespace tensoa::package {
namespace {

constexpr std::size_t kBlock = 64;

constexpr auto kOfByte = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) * 0xEDB8'8320U);
    table[byte] = rest;
  }
  return table;
}();

std::uint32_t by_bytes(std::string_view bytes, std::uint32_t rest) noexcept {
  for (const char byte : bytes) {
    rest = (rest >> 8U) ^ kOfByte[(rest ^ static_cast<unsigned char>(byte)) & 0xFFU];
  }
  return rest;
}

#define TENSOA_WITH_PRODUCTS [[gnu::target("pclmul,sse4.1")]]

TENSOA_WITH_PRODUCTS __m128i load(const char* from) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

/// `bits` moved onto bits that come later. @param by x^(distance + 32) and x^(distance - 32) modulo the polynomial
TENSOA_WITH_PRODUCTS __m128i moved(__m128i bits, __m128i by) noexcept {
  return _mm_xor_si128(_mm_clmulepi64_si128(bits, by, 0x00), _mm_clmulepi64_si128(bits, by, 0x11));
}

/// @param bytes whole blocks, one at least
TENSOA_WITH_PRODUCTS std::uint32_t by_blocks(std::string_view bytes, std::uint32_t rest) noexcept {
  const __m128i by_512_bits = _mm_set_epi64x(0x1'C6E4'1596, 0x1'5444'2BD4);
  const __m128i by_128_bits = _mm_set_epi64x(0x0'CCAA'009E, 0x1'7519'97D0);
  const char* at = bytes.data();
  __m128i sum[] = {load(at), load(at + 16), load(at + 32), load(at + 48)};
  sum[0] = _mm_xor_si128(sum[0], _mm_cvtsi32_si128(static_cast<int>(rest)));
  for (std::size_t done = kBlock; done < bytes.size(); done += kBlock) {
    at += kBlock;
    sum[0] = _mm_xor_si128(moved(sum[0], by_512_bits), load(at));
    sum[1] = _mm_xor_si128(moved(sum[1], by_512_bits), load(at + 16));
    sum[2] = _mm_xor_si128(moved(sum[2], by_512_bits), load(at + 32));
    sum[3] = _mm_xor_si128(moved(sum[3], by_512_bits), load(at + 48));
  }
  __m128i one = sum[0];
  for (std::size_t i = 1; i < std::size(sum); ++i) {
    one = _mm_xor_si128(moved(one, by_128_bits), sum[i]);
  }
  std::array<char, 16> left{};
  _mm_storeu_si128(reinterpret_cast<__m128i*>(left.data()), one);
  return by_bytes({left.data(), left.size()}, 0);
}

}  // namespace

std::uint32_t crc32(std::string_view bytes) noexcept {
  std::uint32_t rest = 0xFFFF'FFFF;
  const std::size_t blocks = bytes.size() - bytes.size() % kBlock;
  static const bool has_products = __builtin_cpu_supports("pclmul") != 0;
  if (has_products && blocks != 0) {
    rest = by_blocks(bytes.substr(0, blocks), rest);
    bytes.remove_prefix(blocks);
  }
  return ~by_bytes(bytes, rest);
}

}  // namespace tensoa::package
