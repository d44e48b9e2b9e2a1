// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/accel/for_each_row.hpp"

#include <cstdint>

#include "alpaka_fixture.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"

namespace tensoa {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <template <class> class F>
struct Counts {
  F<std::int32_t> calls;
};

/// Counts how often each row was taken.
// [functor]
struct Count {
  View<Counts> counts;

  ALPAKA_FN_HOST_ACC void operator()(std::size_t i) const { counts.calls[i] += 1; }
};
// [/functor]

class ForEachRow : public AlpakaTest {
 protected:
  template <class Accelerator, class Queue>
  void expect_each_row_once(Queue& on, std::size_t rows) {
    PortableCollection<Counts, AlpakaDevice> counts(rows + 7, device());
    zero_bytes(QueueTraits<AlpakaQueue>::get(queue()), counts.data(), counts.bytes());
    alpaka::wait(queue());
    accel::for_each_row<Accelerator>(on, rows, Count{counts.view()});
    alpaka::wait(on);
    const auto host = download(counts);
    const auto view = host.const_view();
    for (std::size_t i = 0; i < view.size(); ++i) {
      ASSERT_EQ(view.calls[i], i < rows ? 1 : 0) << "row " << i << " of " << rows;
    }
  }
};

TEST_F(ForEachRow, TakesEachRowOnce) {
  for (const std::size_t rows : {0U, 1U, 255U, 256U, 257U, 1023U, 1024U, 1025U, 100'003U}) {
    expect_each_row_once<Acc>(queue(), rows);
  }
}

TEST_F(ForEachRow, TakesAcceleratorsThatCountInOtherTypes) {
  using Narrow = AccOver<std::uint32_t>;
  alpaka::Queue<Narrow, alpaka::Blocking> on(device());
  expect_each_row_once<Narrow>(on, 5000);
  PortableCollection<Counts, AlpakaDevice> none(0, device());
  EXPECT_THAT([&] { accel::for_each_row<Narrow>(on, std::size_t{1} << 32U, Count{none.view()}); },
              ThrowsMessage<ConfigError>(
                  AllOf(HasSubstr("4294967296 rows are more than"), HasSubstr("4294967295"))));
}

}  // namespace
}  // namespace tensoa
