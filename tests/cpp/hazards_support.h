#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "queue/hazards.h"
#include "ring_support.h"

namespace gpuos {

inline constexpr std::uint32_t kCapacity = 4096;

inline Access reads(std::uint64_t low, std::uint64_t high) {
  return {low, high, false};
}
inline Access writes(std::uint64_t low, std::uint64_t high) {
  return {low, high, true};
}

/// A table and the ring whose batches it names. Every batch is one task.
class HazardTableTest : public testing::Test {
 protected:
  std::vector<std::uint64_t> find(std::vector<Access> accesses) const {
    const auto found = table_.find(accesses);
    std::vector<std::uint64_t> begins;
    for (const BatchRef& batch : found.view()) begins.push_back(batch.begin);
    std::sort(begins.begin(), begins.end());
    return begins;
  }
  std::uint64_t add(std::vector<Access> accesses) {
    const std::uint64_t begin = *ring_.open_batch(1);
    table_.add(accesses, {0, begin, nullptr});
    return begin;
  }
  void finish(std::uint64_t begin) { ring_.mark_done(begin); }
  void prune() {
    const Ring* rings[] = {&ring_};
    table_.prune(rings);
  }

  using Begins = std::vector<std::uint64_t>;

  HazardTable table_;
  RingArrays memory_{kCapacity};
  Ring ring_ = memory_.make();
};

}  // namespace gpuos
