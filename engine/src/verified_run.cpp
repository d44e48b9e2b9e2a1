// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "verified_run.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"

namespace tensoa::detail {
namespace {

/// The most elements that share a checksum: as precise as a message has to be.
constexpr std::int64_t kPieceElements = 64;

using Index = std::array<std::int64_t, kMaxRank>;

/// Elements of a tensor that lie side by side.
struct Piece {
  Index first{};            ///< of the first element, in the dimensions of the Walk
  std::int64_t offset = 0;  ///< bytes from the tensor's data to it
  std::int64_t elements = 0;
};

/// The way over all elements of a tensor, those of a broadcast dimension once. The dimension whose
/// elements lie closest together takes the place of dimension 0, which runs fastest.
class Walk {
 public:
  explicit Walk(const TensorView& view)
      : element_size_(static_cast<std::int64_t>(size_of(view.dtype))) {
    size_.fill(1);
    stride_.fill(element_size_);
    for (std::size_t dim = 0; dim < view.rank; ++dim) {
      const std::int64_t stride = view.stride_of_dim[dim] * element_size_;
      size_[dim] =
          stride == 0 ? std::min<std::int64_t>(view.size_of_dim[dim], 1) : view.size_of_dim[dim];
      if (size_[dim] < 2) continue;
      stride_[dim] = stride;
      if (size_[inner_] < 2 || std::abs(stride) < std::abs(stride_[inner_])) inner_ = dim;
    }
    std::swap(size_[0], size_[inner_]);
    std::swap(stride_[0], stride_[inner_]);
  }

  bool is_empty() const { return std::find(size_.begin(), size_.end(), 0) != size_.end(); }

  std::int64_t element_size() const { return element_size_; }

  template <class F>
  void for_each_piece(const F& visit) const {
    if (is_empty()) return;
    const std::int64_t most = stride_[0] == element_size_ ? kPieceElements : 1;
    for (Piece piece;;) {
      piece.elements = std::min(most, size_[0] - piece.first[0]);
      piece.offset = 0;
      for (std::size_t dim = 0; dim < kMaxRank; ++dim) {
        piece.offset += piece.first[dim] * stride_[dim];
      }
      visit(piece);
      std::size_t dim = 0;
      piece.first[0] += most;
      while (piece.first[dim] >= size_[dim]) {
        piece.first[dim++] = 0;
        if (dim == kMaxRank) return;
        ++piece.first[dim];
      }
    }
  }

  /// Bytes from the tensor's data to its lowest element and to the end of its highest one.
  std::pair<std::int64_t, std::int64_t> extent() const {
    std::int64_t low = 0;
    std::int64_t high = element_size_;
    for (std::size_t dim = 0; dim < kMaxRank; ++dim) {
      const std::int64_t reach = (size_[dim] - 1) * stride_[dim];
      (reach < 0 ? low : high) += reach;
    }
    return {low, high};
  }

  /// "[64:128, 1]": the elements of a piece, in the dimensions of the tensor.
  std::string name_of(const Piece& piece, std::size_t rank) const {
    Index first = piece.first;
    std::swap(first[0], first[inner_]);
    std::string text = "[";
    for (std::size_t dim = 0; dim < rank; ++dim) {
      text += (dim > 0 ? ", " : "") + std::to_string(first[dim]);
      if (dim == inner_) text += ':' + std::to_string(first[dim] + piece.elements);
    }
    return text + ']';
  }

 private:
  std::int64_t element_size_;
  Index size_{};
  Index stride_{};  ///< in bytes
  std::size_t inner_ = 0;
};

/// Addresses that blocks cover.
class Addresses {
 public:
  explicit Addresses(const std::vector<BoundBlock>& blocks) {
    for (const BoundBlock& block : blocks) {
      for (const TensorView& view : block.memory()) {
        const Walk walk(view);
        const auto* data = static_cast<const std::byte*>(view.data);
        walk.for_each_piece([&](const Piece& piece) {
          const std::byte* begin = data + piece.offset;
          ranges_.push_back({begin, begin + piece.elements * walk.element_size()});
        });
      }
    }
    std::sort(ranges_.begin(), ranges_.end());
    // Sorted and apart, so that a search finds them by their ends.
    std::size_t last = 0;
    for (std::size_t i = 1; i < ranges_.size(); ++i) {
      if (ranges_[i].first <= ranges_[last].second) {
        ranges_[last].second = std::max(ranges_[last].second, ranges_[i].second);
      } else {
        ranges_[++last] = ranges_[i];
      }
    }
    if (!ranges_.empty()) ranges_.resize(last + 1);
  }

  /// Whether any of the addresses from `begin` on and before `end` is covered.
  bool touch(const std::byte* begin, const std::byte* end) const {
    const auto range =
        std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                         [](auto address, const auto& r) { return address < r.second; });
    return range != ranges_.end() && range->first < end;
  }

 private:
  std::vector<std::pair<const std::byte*, const std::byte*>> ranges_;
};

/// Takes `bytes` bytes into a checksum, eight at a time. Each step is a bijection of the word and of
/// the checksum so far, so that a change of a single word is always seen.
std::uint64_t mix(std::uint64_t sum, const std::byte* data, std::int64_t bytes) {
  const auto mix_word = [&](std::size_t size) {
    std::uint64_t word = 0;
    std::memcpy(&word, data, size);
    sum = std::rotl((sum ^ word) * 0x9E3779B97F4A7C15U, 29);
  };
  for (; bytes >= 8; bytes -= 8, data += 8) mix_word(8);
  if (bytes > 0) mix_word(static_cast<std::size_t>(bytes));
  return sum;
}

/// Where the host can read what lies at the tensor's data: there, or in `staging`.
const std::byte* on_host(const Queue& queue, const TensorView& view, const Walk& walk,
                         std::vector<std::byte>& staging) {
  const auto* data = static_cast<const std::byte*>(view.data);
  if (view.device.is_cpu() || walk.is_empty()) return data;
  const auto [low, high] = walk.extent();
  staging.resize(static_cast<std::size_t>(high - low));
  copy_bytes(queue, staging.data(), Device::cpu(), data + low, view.device, staging.size());
  queue.wait();
  return staging.data() - low;
}

/// The checksum of one piece, and how to name it.
struct Checksum {
  const BoundBlock& block;
  std::size_t tensor;  ///< of block.memory()
  const Walk& walk;
  const Piece& piece;
  std::uint64_t sum;
};

/// Visits the checksums of all pieces of the inputs; what outputs cover is not in them.
template <class F>
void for_each_checksum(const Queue& queue, const Binding& binding, const Addresses& outputs,
                       const F& visit) {
  std::vector<std::byte> staging;
  for (const BoundBlock& block : binding.inputs) {
    const auto tensors = block.memory();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Walk walk(tensors[i]);
      const std::byte* host = on_host(queue, tensors[i], walk, staging);
      const std::int64_t size = walk.element_size();
      walk.for_each_piece([&](const Piece& piece) {
        const auto* data = static_cast<const std::byte*>(tensors[i].data) + piece.offset;
        const std::byte* readable = host + piece.offset;
        std::uint64_t sum = 1;
        if (!outputs.touch(data, data + piece.elements * size)) {
          sum = mix(sum, readable, piece.elements * size);
        } else {
          for (std::int64_t at = 0; at < piece.elements * size; at += size) {
            if (!outputs.touch(data + at, data + at + size)) sum = mix(sum, readable + at, size);
          }
        }
        visit(Checksum{block, i, walk, piece, sum});
      });
    }
  }
}

/// "y, ": the column of a tensor of `memory()`, where it is one.
std::string column_of(const BoundBlock& block, std::size_t i) {
  if (block.form == BlockForm::kInPlace) return "";
  if (block.form == BlockForm::kRepacked) return block.columns[i].name + ", ";
  return i + 1 == block.sources.size() ? block.offsets->name + ", " : "";
}

}  // namespace

bool verifies_inputs() noexcept {
  static const bool kAsked = [] {
    const char* value = std::getenv("TENSOA_VERIFY_CONST");
    const std::string_view text = value == nullptr ? "" : value;
    return !text.empty() && text != "0";
  }();
  return kAsked;
}

CopyReport verified_run(const Engine& engine, const Queue& queue, const Binding& binding,
                        const Prepared& prepared, const std::string& subject) {
  const Addresses outputs(binding.outputs);
  std::vector<std::uint64_t> before;
  for_each_checksum(queue, binding, outputs,
                    [&](const Checksum& checksum) { before.push_back(checksum.sum); });
  const CopyReport report = engine.run(queue, binding, prepared);
  auto expected = before.begin();
  for_each_checksum(queue, binding, outputs, [&](const Checksum& checksum) {
    if (checksum.sum == *expected++) return;
    const TensorView& view = checksum.block.memory()[checksum.tensor];
    throw EngineError(
        subject + "changed input " + to_string(checksum.block) +
        ": TENSOA_VERIFY_CONST=1 found other bytes after the call than before, the first in " +
        checksum.walk.name_of(checksum.piece, view.rank) + " of " +
        column_of(checksum.block, checksum.tensor) + to_string(view) +
        "; the model writes this argument where its engine cannot see it (a custom operator?): "
        "clone the argument in the model, or bind a copy of the columns. Or another thread or "
        "stream wrote them during the call: order it before or after");
  });
  return report;
}

}  // namespace tensoa::detail
