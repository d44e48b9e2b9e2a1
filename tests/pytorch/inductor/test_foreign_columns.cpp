// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "package/draws.hpp"
#include "package/scattered_layouts.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/pytorch/engines.hpp"
#include "tensoa/soa/foreign_view.hpp"

/// @file
/// Columns of the caller's anywhere in memory, given to packages of both kinds: at random addresses, in
/// any order, at any pitch, outputs upon inputs. Results are those of TorchScript on contiguous copies;
/// all other bytes of the memory stay what they were; and what was copied is what the addresses say.

namespace tensoa {
namespace {

using test::Found;
using test::Scattered;
using testing::HasSubstr;

/// A column that has its place in an arena.
struct Placed {
  FieldInfo info;
  std::size_t offset = 0;  ///< bytes
  std::size_t pitch = 0;   ///< elements

  std::size_t rows(std::size_t n) const { return info.is_scalar() ? 1 : n; }
  std::size_t bytes(std::size_t n) const {
    return ((info.planes() - 1) * pitch + rows(n)) * info.element_size();
  }
  std::size_t plane(std::size_t i) const { return offset + i * pitch * info.element_size(); }
};

/// Part of the arena: one plane of a column.
struct Piece {
  std::size_t begin = 0;
  std::size_t bytes = 0;
  std::size_t place = 0;  ///< among the planes of its block, as the package was made for
};

/// A block as the test describes it: the fields of its columns and where the layout has them.
struct Block {
  std::vector<std::size_t> fields;
  std::vector<std::size_t> places;
  bool is_repacked = true;
};

// As scattered_metadata() has them.
const std::vector<Block> kInputs{{{0, 0, 2, 1}, {0, 0, 2, 1}},
                                 {{3, 4}, {0, 3}},
                                 {{5}, {0}},
                                 {{6}, {0}},
                                 {{7}, {0}, false},
                                 {{8, 9}, {0, 1}}};
const std::vector<Block> kOutputs{{{2, 0, 3}, {2, 0, 3}}, {{4, 5}, {0, 3}}, {{6}, {0}, false}};

std::vector<Piece> pieces_of(const Block& block, const std::vector<Placed>& columns,
                             std::size_t n) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < block.fields.size(); ++i) {
    const Placed& column = columns[block.fields[i]];
    const std::size_t rows = column.info.is_scalar() ? std::min<std::size_t>(n, 1) : n;
    for (std::size_t k = 0; k < column.info.planes(); ++k) {
      pieces.push_back({column.plane(k), rows * column.info.element_size(), block.places[i] + k});
    }
  }
  return pieces;
}

std::size_t bytes_of(const std::vector<Piece>& pieces) {
  std::size_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes;
  return bytes;
}

/// Whether the pieces are planes that ascend at one pitch.
bool fits(const std::vector<Piece>& pieces) {
  const Piece& first = pieces.front();
  for (const Piece& a : pieces) {
    for (const Piece& b : pieces) {
      if (a.place == b.place) continue;
      // (first, a) and (first, b) are of one pitch, by cross products.
      const auto span = [&](const Piece& p) {
        return static_cast<std::int64_t>(p.begin) - static_cast<std::int64_t>(first.begin);
      };
      const auto places = [&](const Piece& p) {
        return static_cast<std::int64_t>(p.place) - static_cast<std::int64_t>(first.place);
      };
      if (span(a) * places(b) != span(b) * places(a)) return false;
      const Piece& low = a.place < b.place ? a : b;
      const Piece& high = a.place < b.place ? b : a;
      if (high.begin < low.begin + (high.place - low.place) * low.bytes) return false;
    }
  }
  return true;
}

bool overlap(const std::vector<Piece>& a, const std::vector<Piece>& b) {
  return std::ranges::any_of(a, [&](const Piece& x) {
    return std::ranges::any_of(b, [&](const Piece& y) {
      return std::max(x.begin, y.begin) < std::min(x.begin + x.bytes, y.begin + y.bytes);
    });
  });
}

/// The expected copies, by the addresses alone; none without rows.
CopyReport expected_copies(const std::vector<Placed>& in, const std::vector<Placed>& out,
                           std::size_t n) {
  CopyReport copies;
  if (n == 0) return copies;
  std::vector<std::vector<Piece>> written;
  for (const Block& block : kOutputs) {
    const auto pieces = pieces_of(block, out, n);
    if (fits(pieces)) {
      written.push_back(pieces);
    } else {
      copies.add_out(bytes_of(pieces), CopyReason::kRepack);
    }
  }
  for (const Block& block : kInputs) {
    const auto pieces = pieces_of(block, in, n);
    if (!fits(pieces)) {
      copies.add_in(bytes_of(pieces), CopyReason::kRepack);
    } else if (std::ranges::any_of(written, [&](const auto& w) { return overlap(pieces, w); })) {
      copies.add_in(bytes_of(pieces), CopyReason::kInputIsWritten);
    }
  }
  return copies;
}

class ForeignColumns : public testing::TestWithParam<std::pair<Device, const char*>> {
 protected:
  static constexpr std::size_t kArena = 1U << 17U;

  void SetUp() override {
    if (device_count(device().kind) == 0) GTEST_SKIP() << "no CUDA device";
    pytorch::register_engines();
    memory_ = Buffer(device(), kArena);
    host_.resize(kArena);
  }

  static Device device() { return GetParam().first; }

  static std::filesystem::path package() {
    const std::string name = GetParam().second;
    return TENSOA_TEST_PACKAGES + name + (device().is_cpu() ? "-cpu.pt2" : "-cuda.pt2");
  }

  std::size_t below(std::size_t bound) { return random_() % bound; }

  template <template <template <class> class> class Layout>
  static std::vector<Placed> columns_of() {
    std::vector<Placed> columns;
    for (const FieldInfo& info : kFieldInfo<Layout>) columns.push_back({info, 0, 0});
    return columns;
  }

  /// Each column anywhere behind the ones before it in `order`.
  void place_one_by_one(std::vector<Placed>& columns, std::size_t n) {
    std::vector<std::size_t> order(columns.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (below(3) == 0) std::ranges::reverse(order);
    if (below(2) == 0) std::ranges::shuffle(order, random_);
    std::size_t next = below(64);
    for (const std::size_t i : order) {
      Placed& column = columns[i];
      const std::size_t size = column.info.element_size();
      column.pitch = n + below(2) * below(9);
      if (column.info.planes() == 1) column.pitch = n;
      next = (next + below(3) * below(50) + size - 1) / size * size;
      column.offset = next;
      next += column.bytes(n);
    }
  }

  /// As in a collection, at a pitch of the draw's own.
  void place_as_planes(std::vector<Placed>& columns, std::size_t n) {
    const std::size_t pitch = n + below(2) * below(9);
    std::size_t next = 8 * below(8);
    for (Placed& column : columns) {
      const std::size_t size = column.info.element_size();
      column.pitch = pitch;
      const std::size_t step = column.info.is_scalar() ? 7 : pitch;
      next = (next + size - 1) / size * size;
      column.offset = next;
      next += column.info.planes() * step * size;
    }
  }

  std::vector<Placed> place(std::vector<Placed> columns, std::size_t n) {
    below(3) == 0 ? place_as_planes(columns, n) : place_one_by_one(columns, n);
    return columns;
  }

  template <class T>
  T* at(std::vector<std::byte>& memory, const Placed& column, std::size_t plane) const {
    return reinterpret_cast<T*>(memory.data() + column.plane(plane));
  }

  /// Small whole numbers into `in`, of which a float holds all that the model makes; and the same into
  /// `plain`, a collection.
  void fill(const std::vector<Placed>& in, std::size_t n, PortableCollection<Scattered>& plain) {
    const auto view = plain.view();
    const auto number = [this] {
      return static_cast<float>(1 + below(50)) * (below(2) == 0 ? 1 : -1);
    };
    const auto both = [&]<class T>(std::size_t field, std::size_t plane, std::size_t row, T value,
                                   T& copy) { at<T>(host_, in[field], plane)[row] = copy = value; };
    for (std::size_t i = 0; i < n; ++i) {
      both(0, 0, i, number(), view.a[i]);
      both(1, 0, i, number(), view.b[i]);
      both(2, 0, i, number(), view.c[i]);
      for (std::size_t k = 0; k < 3; ++k) both(3, k, i, number(), view.u[i][k]);
      for (std::size_t k = 0; k < 3; ++k) both(4, k, i, number(), view.v[i][k]);
      for (std::size_t k = 0; k < 4; ++k) both(5, k, i, number(), view.m[i](k % 2, k / 2));
      both(6, 0, i, static_cast<double>(number()), view.t[i]);
      both(7, 0, i, static_cast<std::int64_t>(below(n)), view.index[i]);
    }
    both(8, 0, 0, number(), *view.s);
    both(9, 0, 0, number(), *view.o);
  }

  /// The expected memory after the call, from the answers of TorchScript.
  void write_expected(const std::vector<Placed>& out, std::size_t n,
                      const PortableCollection<Found>& answers) {
    const auto view = answers.const_view();
    for (std::size_t i = 0; i < n; ++i) {
      at<float>(expected_, out[0], 0)[i] = view.p[i];
      at<float>(expected_, out[2], 0)[i] = view.q[i];
      at<float>(expected_, out[3], 0)[i] = view.r[i];
      for (std::size_t k = 0; k < 3; ++k) at<float>(expected_, out[4], k)[i] = view.w[i][k];
      for (std::size_t k = 0; k < 3; ++k) at<float>(expected_, out[5], k)[i] = view.x[i][k];
      at<float>(expected_, out[6], 0)[i] = view.k[i];
    }
  }

  ConstView<Scattered> view_of_inputs(const std::vector<Placed>& in, std::size_t n) const {
    const auto plain = [&]<class T>(std::size_t i, T*) {
      return reinterpret_cast<const T*>(memory_.data() + in[i].offset);
    };
    const auto planes = [&](std::size_t i) {
      return tensoa::Planes{plain(i, static_cast<float*>(nullptr)), in[i].pitch};
    };
    float* const f = nullptr;
    return foreign_const_view<Scattered>(
        n, device(), plain(0, f), plain(1, f), plain(2, f), planes(3), planes(4), planes(5),
        plain(6, static_cast<double*>(nullptr)), plain(7, static_cast<std::int64_t*>(nullptr)),
        plain(8, f), plain(9, f));
  }

  View<Found> view_of_outputs(const std::vector<Placed>& out, std::size_t n) const {
    const auto plain = [&](std::size_t i) {
      return reinterpret_cast<float*>(memory_.data() + out[i].offset);
    };
    const auto planes = [&](std::size_t i) { return tensoa::Planes{plain(i), out[i].pitch}; };
    return foreign_view<Found>(n, device(), plain(0), plain(1), plain(2), plain(3), planes(4),
                               planes(5), plain(6));
  }

  void copy_memory(const Queue& queue, bool to_device) {
    copy_bytes(queue, to_device ? memory_.data() : host_.data(),
               to_device ? device() : Device::cpu(), to_device ? host_.data() : memory_.data(),
               to_device ? Device::cpu() : device(), kArena);
    queue.wait();
  }

  /// "byte 17: column u, plane 2" of what was changed and should not have been, or the reverse.
  std::string first_difference(const std::vector<Placed>& in, const std::vector<Placed>& out,
                               std::size_t n) const {
    const auto mismatch = std::ranges::mismatch(host_, expected_);
    if (mismatch.in1 == host_.end()) return "";
    const auto byte = static_cast<std::size_t>(mismatch.in1 - host_.begin());
    std::string text = "byte " + std::to_string(byte) + " of the memory:";
    const auto look = [&](const std::vector<Placed>& columns, const auto& names) {
      for (std::size_t i = 0; i < columns.size(); ++i) {
        for (std::size_t k = 0; k < columns[i].info.planes(); ++k) {
          const std::size_t begin = columns[i].plane(k);
          const std::size_t end = begin + columns[i].rows(n) * columns[i].info.element_size();
          if (byte >= begin && byte < end) {
            text += " column " + std::string(names[i]) + ", plane " + std::to_string(k) + ';';
          }
        }
      }
    };
    look(in, kFieldNames<Scattered>);
    look(out, kFieldNames<Found>);
    return text;
  }

  std::mt19937 random_{test::seed()};
  Buffer memory_;
  std::vector<std::byte> host_;
  std::vector<std::byte> expected_;
};

TEST_P(ForeignColumns, GiveWhatTorchScriptGivesOnContiguousCopiesAndNothingElseIsTouched) {
  const Model<> reference(TENSOA_TEST_PACKAGES "scattered.pt");
  const Model<> model(package());
  const Queue cpu(Device::cpu());
  const Queue queue(device());
  std::size_t in_place = 0;
  std::size_t copied = 0;
  std::optional<Plan<Scattered, Found>> plan;
  const std::size_t draws = test::draws(60);
  for (std::size_t draw = 0; draw < draws && !HasFailure(); ++draw) {
    constexpr std::size_t kRows[] = {0, 1, 2, 3, 7, 8, 9, 31, 64, 100, 333};
    const std::size_t n = kRows[below(std::size(kRows))];
    SCOPED_TRACE("seed " + std::to_string(test::seed()) + ", draw " + std::to_string(draw) + ", " +
                 std::to_string(n) + " rows");
    const std::vector<Placed> in = place(columns_of<Scattered>(), n);
    std::vector<Placed> out = place(columns_of<Found>(), n);
    // Upon the inputs, or behind them.
    const std::size_t shift = below(2) == 0 ? kArena / 2 : below(64) * sizeof(float);
    for (Placed& column : out) column.offset += shift;

    for (std::byte& byte : host_) byte = static_cast<std::byte>(random_());
    PortableCollection<Scattered> plain(n, Device::cpu());
    PortableCollection<Found> answers(n, Device::cpu());
    fill(in, n, plain);
    reference.forward(cpu,
                      reference.plan(test::scattered_metadata(plain.const_view(), answers.view())));
    expected_ = host_;
    write_expected(out, n, answers);
    copy_memory(queue, /*to_device=*/true);

    const auto inputs = view_of_inputs(in, n);
    const auto outputs = view_of_outputs(out, n);
    if (!plan || below(2) == 0) {
      plan = model.plan(test::scattered_metadata(inputs, outputs));
    } else {
      plan->rebind(inputs, outputs);
    }
    for (int call = 0; call < 2 && !HasFailure(); ++call) {
      const CopyReport report = model.forward(queue, *plan);
      EXPECT_EQ(to_string(report), to_string(expected_copies(in, out, n)));
      if (n > 0) (report == CopyReport{} ? in_place : copied) += 1;
      copy_memory(queue, /*to_device=*/false);
      EXPECT_EQ(first_difference(in, out, n), "");
      if (shift != kArena / 2) break;  // the inputs are overwritten
    }
  }
  EXPECT_GT(copied, draws / 2);
  EXPECT_GT(in_place, 0U) << "the draws never fit, so this says nothing of columns in place";
}

INSTANTIATE_TEST_SUITE_P(Packages, ForeignColumns,
                         testing::Values(std::pair{Device::cpu(), "scattered"},
                                         std::pair{Device::cpu(), "scattered_fused"},
                                         std::pair{Device::cuda(0), "scattered"},
                                         std::pair{Device::cuda(0), "scattered_fused"}),
                         [](const auto& test) {
                           return std::string(test.param.first.is_cpu() ? "cpu_" : "cuda_") +
                                  test.param.second;
                         });

}  // namespace
}  // namespace tensoa
