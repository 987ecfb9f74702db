#include "queue/ring.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ring_support.h"

namespace gpuos {
namespace {

constexpr std::uint32_t kCapacity = 64;
constexpr std::uint64_t kLaps = 1ull << 32;

class RingTest : public testing::Test {
 protected:
  void finish(const Ring& ring, std::uint64_t begin) {
    memory_.done[ring.place_of(begin)] = ring.tag_of(begin);
  }

  RingArrays memory_{kCapacity};
};

TEST_F(RingTest, GivesPositionsInARow) {
  Ring ring = memory_.make();
  EXPECT_EQ(ring.open_batch(3), 0u);
  EXPECT_EQ(ring.open_batch(1), 3u);
  EXPECT_EQ(ring.head(), 4u);
  EXPECT_EQ(ring.completed(), 0u);
}

TEST_F(RingTest, GivesNothingWhenFullAndChangesNothing) {
  Ring ring = memory_.make();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(ring.open_batch(16));
  EXPECT_EQ(ring.open_batch(1), std::nullopt);
  EXPECT_EQ(ring.head(), 64u);
  finish(ring, 0);
  EXPECT_EQ(ring.open_batch(17), std::nullopt);
  EXPECT_EQ(ring.head(), 64u);
  EXPECT_EQ(ring.open_batch(16), 64u);
}

TEST_F(RingTest, FreesRoomOnlyUpToTheOldestUnfinishedBatch) {
  Ring ring = memory_.make();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(ring.open_batch(16));
  finish(ring, 16);
  finish(ring, 48);
  EXPECT_TRUE(ring.is_done(16));
  EXPECT_EQ(ring.open_batch(1), std::nullopt);
  finish(ring, 0);
  ring.advance();
  EXPECT_EQ(ring.completed(), 32u);
  finish(ring, 32);
  ring.advance();
  EXPECT_EQ(ring.completed(), 64u);
}

TEST_F(RingTest, LengthensTheNewestBatch) {
  Ring ring = memory_.make();
  ASSERT_TRUE(ring.open_batch(16));
  ASSERT_TRUE(ring.open_batch(1));
  EXPECT_TRUE(ring.extend_batch(16, 4));
  EXPECT_EQ(ring.head(), 21u);
  EXPECT_FALSE(ring.extend_batch(16, 44));
  finish(ring, 0);
  EXPECT_TRUE(ring.extend_batch(16, 44));
  finish(ring, 16);
  ring.advance();
  EXPECT_EQ(ring.completed(), ring.head());
}

TEST_F(RingTest, ABatchIsNotDoneBecauseAnEarlierOneAtItsPlaceWas) {
  Ring ring = memory_.make();
  for (std::uint64_t i = 0; i < kCapacity; ++i) {
    ASSERT_EQ(ring.open_batch(1), i);
    finish(ring, i);
  }
  ASSERT_EQ(ring.open_batch(1), kCapacity);
  EXPECT_FALSE(ring.is_done(kCapacity));
  EXPECT_TRUE(ring.is_done(0));
  finish(ring, kCapacity);
  EXPECT_TRUE(ring.is_done(kCapacity));
  EXPECT_TRUE(ring.is_done(0));
}

TEST_F(RingTest, WritesThePayloadBetweenFourTags) {
  Ring ring = memory_.make();
  ASSERT_TRUE(ring.open_batch(1));
  abi::Payload payload{};
  payload.op = 7;
  payload.count = 0x12345678;
  for (u32 i = 0; i < abi::kInlineArgs; ++i)
    payload.args[i] = 0x1111111100000000u + i;
  payload.parts = 9;
  ring.write(0, payload);
  std::uint32_t words[12];
  std::memcpy(words, &payload, sizeof(words));
  const abi::Descriptor& descriptor = ring.descriptor(0);
  for (int chunk = 0; chunk < 4; ++chunk) {
    EXPECT_EQ(descriptor.words[4 * chunk + 3], 1u);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(descriptor.words[4 * chunk + i], words[3 * chunk + i]);
  }
}

TEST_F(RingTest, KnowsWhetherATracedTaskHasBegun) {
  Ring ring = memory_.make();
  ASSERT_TRUE(ring.open_batch(1));
  EXPECT_FALSE(ring.started(0));
  for (const u32 record : {0u, 1u, 127u, 2047u}) {
    memory_.started[0] = abi::started_word(ring.tag_of(0), record);
    EXPECT_EQ(ring.started(0), record);
    EXPECT_FALSE(ring.started(kCapacity));
  }
}

// The tag is 32 bits of the lap number. It passes through zero once in 2^32
// laps. Only the distance of two tags counts.
TEST_F(RingTest, GoesOnWhenTheLapTagWraps) {
  const std::uint64_t first = (kLaps - 3) * kCapacity;
  Ring ring = memory_.make(first);
  // The values that the previous lap left there.
  for (auto& word : memory_.done) word = ring.tag_of(first) - 1;
  std::uint64_t position = first;
  for (std::uint32_t i = 0; i < 6 * kCapacity; i += 2, position += 2) {
    ASSERT_EQ(ring.open_batch(2), position);
    ASSERT_FALSE(ring.is_done(position)) << i;
    finish(ring, position);
    ASSERT_TRUE(ring.is_done(position)) << i;
  }
  ring.advance();
  EXPECT_EQ(ring.completed(), position);
  EXPECT_LT(ring.tag_of(position), ring.tag_of(first));
  EXPECT_TRUE(ring.is_done(first));
}

}  // namespace
}  // namespace gpuos
