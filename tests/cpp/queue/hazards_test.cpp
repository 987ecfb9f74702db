#include <array>
#include <random>

#include "hazards_support.h"

namespace gpuos {
namespace {

// Results are looked for among inputs that others read.
TEST_F(HazardTableTest, ArraysSideBySideAreNotNearEachOther) {
  constexpr std::uint64_t kArray = std::uint64_t{256} << 20;
  constexpr std::uint64_t kPart = 1 << 14;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto part = [&](std::uint64_t array) {
      const std::uint64_t low = array * kArray + i * kPart;
      return std::array{low, low + kPart};
    };
    const auto [a, a_end] = part(10);
    const auto [b, b_end] = part(11);
    const auto [out, out_end] = part(12);
    const std::array accesses{reads(a, a_end), reads(b, b_end),
                              writes(out, out_end)};
    ASSERT_TRUE(table_.is_free(accesses)) << i;
    table_.add(accesses, {0, i, nullptr});
  }
}

TEST_F(HazardTableTest, FinishedEntriesCountUntilTheyAreDropped) {
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

TEST_F(HazardTableTest, ALargeAccessIsNearAllOthersUntilItIsDropped) {
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

// Two pages of one access whose buckets do not follow each other.
TEST_F(HazardTableTest, PagesOfOneAccessDoNotHideEachOther) {
  const std::uint64_t second = 3ull << 28;
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

TEST_F(HazardTableTest, ReportsThePositionOfAConflictInItsBatch) {
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

TEST_F(HazardTableTest, AWriterThatCoversTheRangeHidesWhatIsOlder) {
  add({writes(1000, 2000)});
  add({reads(1000, 2000)});
  const auto newest = add({writes(1000, 2000)});
  EXPECT_EQ(find({reads(1200, 1300)}), Begins{newest});
  EXPECT_EQ(find({writes(1000, 2000)}), Begins{newest});
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

TEST_F(HazardTableTest, ReportsConflictsWithFinishedEntries) {
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

// The range is wide enough to wrap a 16-bit counter that is not reset. Numbers
// of entries have 32 bits, and an empty table skips thousands of them.
TEST_F(HazardTableTest, ASearchIsShortHoweverLongAgoAPageWasUsed) {
  constexpr std::uint64_t kPage = 1 << 14;
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 31;
  const auto use = [this](std::uint64_t low, std::uint64_t high) {
    finish(add({writes(low, high)}));
    prune();
  };
  std::vector<std::uint64_t> ages;
  for (const std::uint64_t age : {kHalf, kHalf + kHalf / 2, 2 * kHalf}) {
    for (std::uint64_t laps = 0; laps < 6; ++laps)
      ages.push_back(age + (laps - 3) * kCapacity);
  }
  for (std::uint64_t page = 1; page <= ages.size(); ++page)
    use(page * kPage, page * kPage + 8000);
  std::uint64_t number = ages.size() * kCapacity;
  for (std::uint64_t page = 1; page <= ages.size(); ++page) {
    for (; number < ages[page - 1]; number += kCapacity) use(8, 16);
    const std::uint64_t low = page * kPage;
    const auto writer = add({writes(low + 5000, low + 6000)});
    const std::uint64_t before = table_.looks();
    EXPECT_EQ(find({reads(low + 1500, low + 5500)}), Begins{writer});
    EXPECT_EQ(find({writes(low + 1500, low + 1600)}), Begins{});
    EXPECT_LE(table_.looks() - before, 8u) << ages[page - 1];
    finish(writer);
    prune();
    number += kCapacity;
  }
}

// The table is full, and each access meets all others.
TEST_F(HazardTableTest, ASearchLooksAtNoMoreThanTheTableHolds) {
  for (std::uint64_t i = 0; table_.has_room(1); ++i) add({reads(0, 8 * i + 8)});
  const std::uint64_t before = table_.looks();
  EXPECT_TRUE(table_.find({{writes(0, 1 << 20)}}).overflow);
  EXPECT_LE(table_.looks() - before, 2u * kCapacity);
}

// Hazards of a flush, where a task may continue after the one that it meets.
class HazardsOfAFlush : public HazardTableTest {
 protected:
  void add_at(std::uint64_t position, const Access& access) {
    table_.add({&access, 1}, {0, begin_, nullptr}, HazardTable::kAlone,
               position);
  }
  std::uint64_t position_of(const Access& access) const {
    const auto found = table_.find({&access, 1});
    EXPECT_EQ(found.count, 1u);
    return found.positions[0];
  }

  const std::uint64_t begin_ = *ring_.open_batch(8);
};

TEST_F(HazardsOfAFlush, ReadsOfOneArrayAreOneEntryOutsideOfThePages) {
  add_at(5, reads(0, 100));
  EXPECT_EQ(position_of(writes(0, 100)), 5u);
  add_at(5, reads(0, 100));
  EXPECT_EQ(position_of(writes(0, 100)), 5u);
  add_at(7, reads(0, 100));
  EXPECT_EQ(position_of(writes(0, 100)), HazardTable::kNoPosition);
  // After a write they are new ones.
  add_at(8, writes(0, 100));
  EXPECT_EQ(position_of(reads(0, 100)), 8u);
  add_at(8, reads(0, 100));
  EXPECT_EQ(position_of(writes(0, 100)), 8u);
}

TEST_F(HazardsOfAFlush, AReadAfterAPartialWriteIsNotForgotten) {
  add_at(5, reads(0, 100));
  add_at(6, writes(50, 150));
  add_at(7, reads(0, 100));
  EXPECT_EQ(position_of(writes(60, 140)), HazardTable::kNoPosition);
}

// More ranges than their table keeps apart.
TEST_F(HazardTableTest, ReadsOfManyArraysMeetTheirWrites) {
  constexpr std::uint64_t kArrays = 2000;
  // Places that are not evenly apart, so that arrays share some.
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> arrays, written;
  for (std::uint64_t i = 0; i < kArrays; ++i) {
    arrays.push_back((i << 20) + random() % 64 * 8192);
    written.push_back(add({writes(arrays[i], arrays[i] + 512)}));
  }
  // The first read of an array takes back the place that another one has taken.
  for (std::uint64_t i = 0; i < kArrays; ++i) {
    add({reads(arrays[i], arrays[i] + 512)});
    ASSERT_EQ(find({reads(arrays[i], arrays[i] + 512)}), Begins{written[i]})
        << i;
  }
}

TEST_F(HazardsOfAFlush, ASearchOfAnArrayThatIsUsedAgainIsOneLook) {
  constexpr std::uint64_t kBytes = 4096;
  const auto place = [](std::uint64_t i) { return kBytes * (i % 256); };
  for (std::uint64_t i = 0; i < 300; ++i) {
    add_at(i, writes(place(i), place(i) + kBytes));
    add_at(i, reads(kBytes * 1000, kBytes * 1001));
  }
  const std::uint64_t before = table_.looks();
  EXPECT_EQ(position_of(writes(place(300), place(300) + kBytes)), 44u);
  EXPECT_EQ(table_.looks() - before, 1u);
}

// An allocator may place arrays of any size at any distance.
TEST_F(HazardsOfAFlush, ASearchIsOneLookWhateverTheDistanceOfTheArrays) {
  constexpr std::uint64_t kArrays = 256;
  for (std::uint64_t distance = 512; distance <= 64 << 10; distance += 512) {
    table_ = HazardTable();
    const auto place = [&](std::uint64_t i) {
      return (std::uint64_t{1} << 32) + distance * i;
    };
    for (std::uint64_t i = 0; i < kArrays; ++i)
      add_at(i, writes(place(i), place(i) + distance));
    const std::uint64_t before = table_.looks();
    for (std::uint64_t i = 0; i < kArrays; ++i)
      EXPECT_EQ(position_of(writes(place(i), place(i) + distance)), i);
    EXPECT_EQ(table_.looks() - before, kArrays) << distance;
  }
}

}  // namespace
}  // namespace gpuos
