#include "queue/hazards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace gpuos {
namespace {

constexpr std::uint32_t kCapacity = 4096;

Access reads(std::uint64_t low, std::uint64_t high) {
  return {low, high, false};
}
Access writes(std::uint64_t low, std::uint64_t high) {
  return {low, high, true};
}

/// A table and the ring whose batches it names; every batch is one task.
class HazardTableTest : public testing::Test {
 protected:
  HazardTableTest()
      : descriptors_(kCapacity),
        blocks_(kCapacity),
        done_(kCapacity),
        started_(kCapacity),
        ring_({descriptors_.data(), blocks_.data(), done_.data(),
               started_.data()},
              kCapacity) {}

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
  void finish(std::uint64_t begin) {
    done_[ring_.place_of(begin)] = ring_.tag_of(begin);
  }
  void prune() {
    const Ring* rings[] = {&ring_};
    table_.prune(rings);
  }

  using Begins = std::vector<std::uint64_t>;

  HazardTable table_;
  std::vector<abi::Descriptor> descriptors_;
  std::vector<abi::ArgBlock> blocks_;
  std::vector<std::uint32_t> done_;
  std::vector<std::uint32_t> started_;
  Ring ring_;
};

TEST_F(HazardTableTest, ReadWaitsForWriteOfAnySharedByte) {
  const auto writer = add({writes(1000, 2000)});
  EXPECT_EQ(find({reads(1999, 2001)}), Begins{writer});
  EXPECT_EQ(find({reads(900, 1001)}), Begins{writer});
  EXPECT_EQ(find({reads(0, 100000)}), Begins{writer});
  EXPECT_EQ(find({reads(2000, 2004)}), Begins{});
  EXPECT_EQ(find({reads(996, 1000)}), Begins{});
}

TEST_F(HazardTableTest, WhatIsDoneCountsUntilItIsDropped) {
  const std::vector<Access> same{writes(1000, 2000)};
  EXPECT_TRUE(table_.is_free(same));
  const auto writer = add(same);
  EXPECT_FALSE(table_.is_free(same));
  finish(writer);
  EXPECT_FALSE(table_.is_free(same));
  prune();
  EXPECT_TRUE(table_.is_free(same));
  EXPECT_TRUE(table_.is_empty());
}

TEST_F(HazardTableTest, ALargeAccessIsNearEverybodyUntilItIsDropped) {
  const auto writer = add({writes(1 << 20, 2 << 20)});
  add({reads(8 << 20, 9 << 20)});
  const std::vector<Access> far{reads(100, 200)};
  EXPECT_FALSE(table_.is_free(far));
  EXPECT_EQ(find(far), Begins{});
  finish(writer);
  prune();
  EXPECT_TRUE(table_.is_free(far));  // the large one that is left only reads
  EXPECT_FALSE(table_.is_free(std::vector{writes(100, 200)}));
}

// Two pages of one access that lie in the same bucket.
TEST_F(HazardTableTest, PagesOfOneAccessDoNotHideEachOther) {
  const std::uint64_t second = 0x800000ull << 12;
  const auto writer = add({writes(second - 100, second + 16)});
  EXPECT_EQ(find({reads(second - 50, second - 40)}), Begins{writer});
  EXPECT_EQ(find({reads(second + 8, second + 12)}), Begins{writer});
}

TEST_F(HazardTableTest, ReadersOfAPageThatIsLeftAndUsedAgain) {
  for (int lap = 0; lap < 5000; ++lap) {
    const auto writer = add({writes(4096, 4160), reads(8192, 8256)});
    EXPECT_EQ(find({reads(4100, 4104)}), Begins{writer});
    EXPECT_TRUE(table_.is_free(std::vector{reads(4160, 4164)}));
    EXPECT_TRUE(table_.is_free(std::vector{reads(8192, 8256)}));
    finish(writer);
    prune();
    ASSERT_TRUE(table_.is_free(std::vector{writes(4096, 8256)}));
  }
}

TEST_F(HazardTableTest, TellsWhichPositionOfABatchIsMet) {
  const BatchRef batch{0, *ring_.open_batch(3), nullptr};
  const auto add_at = [&](std::uint64_t position, Access access) {
    table_.add({&access, 1}, batch, HazardTable::kAlone, position);
  };
  add_at(0, writes(100, 200));
  add_at(1, writes(300, 400));
  const Access many = writes(500, 600);
  table_.add({&many, 1}, batch, batch.begin);
  const auto position_of = [&](std::vector<Access> accesses) {
    const auto found = table_.find(accesses);
    EXPECT_EQ(found.count, 1u);
    return found.positions[0];
  };
  EXPECT_EQ(position_of({reads(100, 150)}), 0u);
  EXPECT_EQ(position_of({reads(350, 450)}), 1u);
  EXPECT_EQ(position_of({reads(100, 400)}), HazardTable::kNoPosition);
  EXPECT_EQ(position_of({reads(150, 160), reads(350, 360)}),
            HazardTable::kNoPosition);
  EXPECT_EQ(position_of({reads(500, 501)}), HazardTable::kNoPosition);
}

TEST_F(HazardTableTest, WriteWaitsForReadAndForWrite) {
  const auto reader = add({reads(1000, 2000)});
  const auto writer = add({writes(3000, 4000)});
  EXPECT_EQ(find({writes(1500, 1600)}), Begins{reader});
  EXPECT_EQ(find({writes(3500, 3600)}), Begins{writer});
  EXPECT_EQ(find({writes(1500, 3500)}), (Begins{reader, writer}));
}

TEST_F(HazardTableTest, ReadsDoNotWaitForReads) {
  add({reads(1000, 2000)});
  EXPECT_EQ(find({reads(1000, 2000)}), Begins{});
}

TEST_F(HazardTableTest, AWriterThatCoversTheRangeHidesWhatIsOlder) {
  add({writes(1000, 2000)});
  add({reads(1000, 2000)});
  const auto newest = add({writes(1000, 2000)});
  EXPECT_EQ(find({reads(1200, 1300)}), Begins{newest});
  EXPECT_EQ(find({writes(1000, 2000)}), Begins{newest});
}

TEST_F(HazardTableTest, AWriterOfAPartHidesNothing) {
  const auto old = add({writes(1000, 2000)});
  const auto part = add({writes(1500, 2000)});
  EXPECT_EQ(find({reads(1000, 2000)}), (Begins{old, part}));
}

TEST_F(HazardTableTest, AWriterHidesNothingOfItsOwnGroup) {
  add({writes(1000, 2000)});
  const Access whole[] = {writes(1000, 2000)};
  const auto first = *ring_.open_batch(1), second = *ring_.open_batch(1);
  table_.add(whole, {0, first, nullptr}, first);
  table_.add(whole, {0, second, nullptr}, first);
  EXPECT_EQ(find({reads(1200, 1300)}), (Begins{first, second}));
  const auto newest = add({writes(1000, 2000)});
  EXPECT_EQ(find({reads(1200, 1300)}), Begins{newest});
}

TEST_F(HazardTableTest, ReadersAfterTheWriterAreAllNamed) {
  add({writes(1000, 2000)});
  const auto first = add({reads(1000, 2000)});
  const auto second = add({reads(1000, 2000)});
  const auto found = find({writes(1000, 2000)});
  EXPECT_TRUE(std::count(found.begin(), found.end(), first));
  EXPECT_TRUE(std::count(found.begin(), found.end(), second));
}

TEST_F(HazardTableTest, NamesABatchOnce) {
  const auto batch = add({writes(1000, 1100), reads(1100, 1200)});
  EXPECT_EQ(find({writes(1000, 1200), writes(1150, 1160)}), Begins{batch});
}

TEST_F(HazardTableTest, SaysWhenThereAreMoreThanItNames) {
  for (std::size_t i = 0; i < HazardTable::kMaxConflicts; ++i)
    add({reads(1000, 2000)});
  const Access write[] = {writes(1000, 2000)};
  EXPECT_FALSE(table_.find(write).overflow);
  add({reads(1000, 2000)});
  const auto found = table_.find(write);
  EXPECT_TRUE(found.overflow);
  EXPECT_EQ(found.count, HazardTable::kMaxConflicts);
}

TEST_F(HazardTableTest, SeesRangesTooLargeToCountByPage) {
  constexpr std::uint64_t kFar = 1ull << 40;
  const auto huge = add({writes(4096, kFar)});
  EXPECT_EQ(find({reads(kFar / 2, kFar / 2 + 4)}), Begins{huge});
  EXPECT_EQ(find({reads(kFar, kFar + 4)}), Begins{});
  const auto small = add({writes(kFar + 64, kFar + 128)});
  EXPECT_EQ(find({reads(kFar, 2 * kFar)}), Begins{small});
  finish(huge);
  finish(small);
  prune();
  EXPECT_EQ(find({writes(0, 2 * kFar)}), Begins{});
}

// The search begins where a page was touched last and ends where it was touched
// first.
TEST_F(HazardTableTest, FindsWhatIsFarBackAmongOthers) {
  constexpr std::uint64_t kPage = 1 << 14;
  const auto part = add({writes(3 * kPage + 64, 3 * kPage + 96)});
  const auto writer = add({writes(kPage + 100, 2 * kPage + 100)});
  for (std::uint64_t i = 0; i < 500; ++i)
    add({writes((8 + i) * kPage, (9 + i) * kPage)});
  const auto again = add({writes(3 * kPage, 3 * kPage + 32)});
  for (std::uint64_t i = 0; i < 500; ++i)
    add({writes((600 + i) * kPage, (601 + i) * kPage)});
  EXPECT_EQ(find({reads(2 * kPage, 2 * kPage + 8)}), Begins{writer});
  EXPECT_EQ(find({writes(3 * kPage, 4 * kPage)}), (Begins{part, again}));
  EXPECT_EQ(find({writes(3 * kPage + 32, 3 * kPage + 64)}), Begins{});
}

TEST_F(HazardTableTest, TasksThatTouchNothingLeaveOthersAlone) {
  HazardTable table(8);
  const Access write[] = {writes(1000, 2000)};
  table.add(write, {0, 7, nullptr});
  for (std::uint64_t begin = 8; begin < 40; ++begin)
    table.add({}, {0, begin, nullptr});
  const auto found = table.find(write);
  ASSERT_EQ(found.count, 1u);
  EXPECT_EQ(found.batches[0].begin, 7u);
}

TEST_F(HazardTableTest, SaysThatItMetWhatIsDone) {
  const Ring* rings[] = {&ring_};
  const Access read[] = {reads(1000, 2000)};
  add({writes(5000, 6000)});
  const auto writer = add({writes(1000, 2000)});
  EXPECT_FALSE(table_.find(read, rings).met_done);
  finish(writer);
  const auto found = table_.find(read, rings);
  EXPECT_EQ(found.count, 0u);
  EXPECT_TRUE(found.met_done);
}

TEST_F(HazardTableTest, ForgetsFinishedBatchesFromTheOldestOn) {
  const auto first = add({writes(1000, 2000)});
  const auto second = add({writes(5000, 6000)});
  finish(second);
  prune();
  EXPECT_EQ(table_.oldest().begin, first);
  finish(first);
  prune();
  EXPECT_TRUE(table_.is_empty());
  EXPECT_EQ(find({writes(0, 10000)}), Begins{});
}

TEST_F(HazardTableTest, HasRoomForItsCapacity) {
  HazardTable table(8);
  const Access three[] = {writes(0, 4), reads(4, 8), reads(8, 12)};
  EXPECT_TRUE(table.has_room(8));
  EXPECT_FALSE(table.has_room(9));
  table.add(three, {0, 0, nullptr});
  table.add(three, {0, 1, nullptr});
  EXPECT_TRUE(table.has_room(2));
  EXPECT_FALSE(table.has_room(3));
}

// Wide enough for a 16-bit counter to come round if it is not given back.
TEST_F(HazardTableTest, ManyLapsOfOnePageLeaveNoTrace) {
  for (int round = 0; round < 140000; ++round) {
    const auto batch = add({writes(4096, 4100)});
    ASSERT_EQ(find({reads(4096, 4100)}), Begins{batch}) << round;
    finish(batch);
    prune();
  }
}

TEST_F(HazardTableTest, ManyRandomRangesLeaveNoTrace) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20000; ++round) {
    const std::uint64_t low = random() % (1 << 20);
    const std::uint64_t bytes =
        1 + random() % (round % 50 == 0 ? 1 << 18 : 512);
    const auto batch = add({writes(low, low + bytes), reads(low, low + 1)});
    ASSERT_EQ(find({reads(low + bytes - 1, low + bytes)}), Begins{batch});
    finish(batch);
    prune();
    ASSERT_TRUE(table_.is_empty());
  }
}

/// Against a model that remembers everything: whatever the table leaves out
/// must follow from what it names.
class RandomHazards : public HazardTableTest,
                      public testing::WithParamInterface<unsigned> {
 protected:
  struct Task {
    std::vector<Access> accesses;
    std::set<std::uint64_t> before;  // all that surely end before it begins
    bool is_done = false;
  };

  static bool conflict(const Task& a, const Task& b) {
    for (const Access& x : a.accesses) {
      for (const Access& y : b.accesses) {
        if (x.low < y.high && y.low < x.high && (x.writes || y.writes))
          return true;
      }
    }
    return false;
  }

  Task random_task() {
    // Several spreads: one page, many pages, ranges too large to count.
    static constexpr std::uint64_t kSpans[] = {512, 1 << 16, 1 << 22};
    const std::uint64_t span = kSpans[random_() % 3];
    Task task;
    const std::size_t count = 1 + random_() % 4;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t low = random_() % span;
      const std::uint64_t bytes = 1 + random_() % (span / 4);
      task.accesses.push_back({low, low + bytes, random_() % 3 == 0});
    }
    return task;
  }

  void order(Task& task, std::uint64_t earlier) {
    if (!task.before.insert(earlier).second) return;
    task.before.insert(tasks_[earlier].before.begin(),
                       tasks_[earlier].before.end());
  }

  void finish_some() {
    for (std::uint64_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].is_done || random_() % 3 != 0) continue;
      const auto& before = tasks_[i].before;
      if (std::all_of(before.begin(), before.end(),
                      [&](std::uint64_t b) { return tasks_[b].is_done; })) {
        tasks_[i].is_done = true;
        finish(i);
      }
    }
  }

  std::mt19937_64 random_{GetParam()};
  std::vector<Task> tasks_;
};

TEST_P(RandomHazards, EveryConflictingPairIsOrdered) {
  for (int step = 0; step < 600; ++step) {
    if (random_() % 8 == 0) finish_some();
    if (random_() % 3 == 0) prune();
    Task task = random_task();
    auto found = table_.find(task.accesses);
    while (found.overflow) {
      // What the runtime does: wait, then look again.
      finish_some();
      prune();
      found = table_.find(task.accesses);
    }
    for (const BatchRef& batch : found.view()) order(task, batch.begin);
    for (std::uint64_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].is_done || !conflict(tasks_[i], task)) continue;
      ASSERT_TRUE(task.before.contains(i))
          << "task " << tasks_.size() << " may overtake task " << i;
    }
    for (const BatchRef& batch : found.view())
      EXPECT_TRUE(conflict(tasks_[batch.begin], task)) << "a wait for nothing";
    // Sometimes several batches of one group, which do not wait for each other.
    const std::uint64_t group = tasks_.size();
    for (auto left = random_() % 4 == 0 ? 1 + random_() % 3 : 1; left > 0;
         --left) {
      const std::uint64_t begin = *ring_.open_batch(1);
      ASSERT_EQ(begin, tasks_.size());
      table_.add(task.accesses, {0, begin, nullptr}, group);
      tasks_.push_back(task);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomHazards, testing::Range(1u, 9u));

}  // namespace
}  // namespace gpuos
