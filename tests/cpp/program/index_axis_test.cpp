#include "program/graph/index_axis.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace gpuos::program {
namespace {

AxisIndex slice(std::int64_t start, std::int64_t stop, std::int64_t step) {
  return {AxisIndex::Kind::Slice, start, stop, step};
}

TEST(IndexedAxis, TheLargestNumbersDoNotOverflow) {
  constexpr std::int64_t kLow = INT64_MIN, kHigh = INT64_MAX;
  for (const std::int64_t start : {kLow, kLow + 1, kHigh - 1, kHigh})
    for (const std::int64_t stop : {kLow, kLow + 1, kHigh - 1, kHigh})
      for (const std::int64_t step : {kLow, kLow + 1, kHigh - 1, kHigh}) {
        const auto kept = indexed_axis(slice(start, stop, step), 3);
        EXPECT_LE(kept.size, 1);
        EXPECT_TRUE(kept.first == 0 || kept.first == 2) << kept.first;
        (void)same_size(slice(start, stop, step));
      }
}

TEST(IndexedAxis, AsManyPlacesAreKeptAsStated) {
  std::vector<AxisIndex> all;
  for (std::int64_t start = -4; start <= 4; ++start)
    for (std::int64_t stop = -4; stop <= 4; ++stop)
      for (const std::int64_t step : {-2, -1, 1, 2}) {
        all.push_back(slice(start, stop, step));
        all.push_back(slice(start, AxisIndex::kLast, step));
        all.push_back(slice(AxisIndex::kLast, AxisIndex::kFirst, step));
      }
  int pairs = 0;
  for (const AxisIndex& a : all)
    for (const AxisIndex& b : all) {
      if (same_size(a) != same_size(b)) continue;
      ++pairs;
      for (std::int64_t size = 0; size <= 9; ++size)
        ASSERT_EQ(indexed_axis(a, size).size, indexed_axis(b, size).size)
            << a.start << ":" << a.stop << ":" << a.step << " and " << b.start
            << ":" << b.stop << ":" << b.step << " of " << size;
    }
  EXPECT_GT(pairs, static_cast<int>(all.size()));
}

}  // namespace
}  // namespace gpuos::program
