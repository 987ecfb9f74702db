// The memory of a chain, and the time of its publication.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "queue/chain_blocks.h"
#include "queue/chain_footprints.h"
#include "queue/descriptor.h"
#include "queue/open_chains.h"
#include "ring_support.h"

namespace gpuos {
namespace {

constexpr std::uint32_t kCapacity = 64;

class ChainsTest : public testing::Test {
 protected:
  std::uint64_t take_place() { return *ring_.open_batch(1); }
  abi::Payload& open() { return chains_.open(take_place(), memory_.data()); }
  bool is_written(std::uint64_t position) const {
    return ring_.descriptor(position).words[3] == ring_.tag_of(position);
  }
  abi::Payload read(std::uint64_t position) const {
    return read_payload(ring_.descriptor(position));
  }
  static void add(abi::Payload& chain, u32 slot,
                  const std::vector<std::uint64_t>& args) {
    std::array<std::uint64_t, abi::kMaxArgs> words{};
    std::ranges::copy(args, words.begin());
    add_member(chain, slot, 10 * slot, words.data(),
               static_cast<std::uint32_t>(args.size()));
  }
  void finish(std::uint64_t begin) { ring_.mark_done(begin); }

  RingArrays ring_memory_{kCapacity};
  Ring ring_ = ring_memory_.make();
  int opened_ = 0;
  int closed_ = 0;
  OpenChains chains_{ring_, [this] { ++opened_; }, [this] { ++closed_; }};
  std::vector<abi::Member> memory_{abi::kChainRecords};
};

TEST_F(ChainsTest, ArgumentsOfAMemberAreContiguous) {
  abi::Payload chain = make_chain(memory_.data());
  std::vector<std::uint64_t> many(abi::kMaxArgs);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = 100 + i;
  add(chain, 1, {7, 8});
  add(chain, 2, many);
  add(chain, 3, {9});
  const u32 longest = abi::chain_records(abi::kMaxArgs);
  EXPECT_EQ(chain.count, 2 + longest);
  EXPECT_EQ(memory_[0].op, 1u);
  EXPECT_EQ(memory_[0].count, 10u);
  EXPECT_EQ(memory_[0].args[1], 8u);
  const auto* words = reinterpret_cast<const u64*>(&memory_[1]);
  for (std::size_t i = 0; i < many.size(); ++i)
    EXPECT_EQ(words[1 + i], many[i]);
  EXPECT_EQ(memory_[1 + longest].op, 3u);
  EXPECT_EQ(memory_[1 + longest].args[0], 9u);
}

TEST_F(ChainsTest, ABlockIsFullWhenTheNextMemberWouldNotFit) {
  abi::Payload chain = make_chain(memory_.data());
  while (has_room(chain.count, 8)) add(chain, 1, std::vector<std::uint64_t>(8));
  EXPECT_EQ(chain.count, abi::kChainRecords);
  EXPECT_FALSE(has_room(chain.count, 1));
}

TEST_F(ChainsTest, ADescriptorIsWrittenWhenItsChainIsClosed) {
  take_place();
  abi::Payload& chain = open();
  EXPECT_EQ(opened_, 1);
  add_wait(chain, 1);
  add(chain, 1, {7});
  add(chain, 2, {8});
  EXPECT_FALSE(is_written(1));
  EXPECT_EQ(chains_.find(1), &chain);
  EXPECT_EQ(chains_.find(0), nullptr);
  chains_.close(1);
  EXPECT_EQ(closed_, 1);
  EXPECT_TRUE(chains_.is_empty());
  EXPECT_EQ(chains_.find(1), nullptr);
  ASSERT_TRUE(is_written(1));
  const abi::Payload written = read(1);
  EXPECT_TRUE(abi::is_chain(written.flags));
  EXPECT_EQ(written.count, 2u);
  EXPECT_EQ(written.batch_size, 1u);
  EXPECT_EQ(written.parts, 1u);
  EXPECT_TRUE(waits_for(written, 1));
  EXPECT_FALSE(waits_for(written, 2));
  EXPECT_EQ(written.args[abi::kChainBlock],
            reinterpret_cast<std::uint64_t>(memory_.data()));
}

TEST_F(ChainsTest, AChainOfOneIsWrittenAsThePlainTaskThatItIs) {
  take_place();
  abi::Payload& chain = open();
  add_wait(chain, 1);
  add(chain, 3, {7, 8, 9});
  chains_.close_all();
  const abi::Payload written = read(1);
  EXPECT_EQ(written.op, 3u);
  EXPECT_EQ(written.flags, abi::kWaits);
  EXPECT_EQ(written.wait_distance, 1u);
  EXPECT_EQ(written.count, 30u);
  EXPECT_EQ(written.args[2], 9u);
  EXPECT_EQ(written.batch_size, 1u);
}

TEST_F(ChainsTest, AChainOfOneThatWaitsForTwoStaysAChain) {
  take_place();
  take_place();
  abi::Payload& chain = open();
  add_wait(chain, 1);
  add_wait(chain, 2);
  add(chain, 3, {7, 8, 9});
  chains_.close_all();
  EXPECT_TRUE(abi::is_chain(read(2).flags));
}

TEST_F(ChainsTest, TheOldestMakesRoom) {
  for (std::size_t i = 0; i < OpenChains::kMost; ++i) {
    chains_.make_room();
    add(open(), 1, {7});
  }
  EXPECT_EQ(closed_, 0);
  EXPECT_EQ(chains_.first(100), 0u);
  chains_.make_room();
  EXPECT_TRUE(is_written(0));
  EXPECT_FALSE(is_written(1));
  EXPECT_EQ(chains_.first(100), 1u);
  chains_.close_until(3);
  EXPECT_TRUE(is_written(3));
  EXPECT_FALSE(is_written(4));
  chains_.close_all();
  EXPECT_EQ(chains_.first(100), 100u);
}

TEST_F(ChainsTest, OnlyOldChainsAreClosedByAge) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kAge(20);
  bool is_young = false;  // the second, also after the call
  for (std::uint64_t first = 0; !is_young; first += 2) {
    ASSERT_LT(first, kCapacity) << "the machine stands still";
    add(open(), 1, {7});
    std::this_thread::sleep_for(kAge);
    const auto begin = Clock::now();
    add(open(), 1, {7});
    chains_.close_old(std::chrono::hours(1));
    EXPECT_FALSE(is_written(first));
    chains_.close_old(kAge);
    EXPECT_TRUE(is_written(first));
    is_young = Clock::now() - begin < kAge;
    if (is_young) {
      EXPECT_FALSE(is_written(first + 1));
    }
    chains_.close_all();
    finish(first);
    finish(first + 1);
  }
}

TEST_F(ChainsTest, ABlockIsGivenOutAgainWhenItsBatchIsDone) {
  std::vector<abi::Member> memory(ChainBlocks::kBytes / sizeof(abi::Member));
  const std::array<Ring*, 1> rings{&ring_};
  ChainBlocks blocks(memory.data(), rings);
  const std::uint64_t begin = take_place();
  abi::Member* first = blocks.take({0, begin, nullptr});
  for (std::uint32_t i = 1; i < ChainBlocks::kCount; ++i) {
    ASSERT_EQ(blocks.blocker(), nullptr);
    EXPECT_EQ(blocks.take({0, begin, nullptr}), first + i * abi::kChainRecords);
  }
  ASSERT_NE(blocks.blocker(), nullptr);
  EXPECT_EQ(blocks.blocker()->begin, begin);
  finish(begin);
  EXPECT_EQ(blocks.blocker(), nullptr);
  EXPECT_EQ(blocks.take({0, begin, nullptr}), first);
}

TEST_F(ChainsTest, ABlockGrowsByTheNextOneIfThatIsFree) {
  std::vector<abi::Member> memory(ChainBlocks::kBytes / sizeof(abi::Member));
  const std::array<Ring*, 1> rings{&ring_};
  ChainBlocks blocks(memory.data(), rings);
  const BatchRef owner{0, take_place(), nullptr};
  abi::Member* first = blocks.take(owner);
  EXPECT_TRUE(blocks.take_behind(first + abi::kChainRecords, owner));
  EXPECT_FALSE(blocks.take_behind(first + abi::kChainRecords, owner));
  abi::Member* other = blocks.take(owner);
  EXPECT_EQ(other, first + 2 * abi::kChainRecords);
  EXPECT_FALSE(blocks.take_behind(first + 2 * abi::kChainRecords, owner));
  abi::Member* last = other;
  while (blocks.blocker() == nullptr) last = blocks.take(owner);
  // The memory after the last one is not the first one.
  EXPECT_FALSE(blocks.take_behind(last + abi::kChainRecords, owner));
  EXPECT_FALSE(blocks.take_behind(first, owner));
  finish(owner.begin);
  EXPECT_TRUE(blocks.take_behind(first, owner));
}

TEST_F(ChainsTest, MembersDoNotCrossBlocks) {
  EXPECT_TRUE(has_room(0, 3));
  EXPECT_TRUE(has_room(abi::kChainRecords - 1, 3));
  EXPECT_FALSE(has_room(abi::kChainRecords - 1, 8));
  EXPECT_FALSE(has_room(abi::kChainRecords, 3));
  EXPECT_TRUE(has_room(abi::kChainRecords + 1, 3));
  EXPECT_FALSE(has_room(2 * abi::kChainRecords, 3));
  std::vector<abi::Member> memory(2 * abi::kChainRecords);
  EXPECT_EQ(write_gap(memory.data(), abi::kChainRecords - 1),
            abi::kChainRecords);
  EXPECT_EQ(memory[abi::kChainRecords - 1].op, abi::kGap);
  EXPECT_EQ(write_gap(memory.data(), abi::kChainRecords), abi::kChainRecords);
  EXPECT_NE(memory[abi::kChainRecords].op, abi::kGap);
}

TEST_F(ChainsTest, MembersDoNotCrossPieces) {
  abi::Payload chain = make_chain(memory_.data());
  for (u32 i = 1; i < abi::kChainPiece; ++i) add(chain, 1, {7});
  EXPECT_EQ(chain.count, abi::kChainPiece - 1);
  add(chain, 2, std::vector<std::uint64_t>(8));
  EXPECT_EQ(memory_[abi::kChainPiece - 1].op, abi::kGap);
  EXPECT_EQ(memory_[abi::kChainPiece].op, 2u);
  EXPECT_EQ(chain.count, abi::kChainPiece + 2);
  // The gap counts: two records are left, and a member of three has no room.
  while (chain.count != abi::kChainRecords - 2) add(chain, 1, {7});
  EXPECT_TRUE(has_room(chain.count, 15 - 7));
  EXPECT_FALSE(has_room(chain.count, 16));
}

TEST_F(ChainsTest, MembersCountAsTasksOfTheRing) {
  const std::uint64_t begin = take_place();
  ring_.add_to_place(begin);
  ring_.add_to_place(begin);
  take_place();
  finish(begin);
  ring_.advance();
  EXPECT_EQ(ring_.completed(), 1u);
  EXPECT_EQ(ring_.completed_tasks(), 3u);
  finish(begin + 1);
  ring_.advance();
  EXPECT_EQ(ring_.completed_tasks(), 4u);
}

TEST_F(ChainsTest, ARowKnowsTheMemoryOfItsMembers) {
  ChainFootprints rows;
  const BatchRef batch{0, 5, nullptr};
  const Access reads{100, 200, false}, writes{300, 400, true};
  const auto find = [&](std::vector<Access> accesses) {
    return rows.find(0, nullptr, accesses);
  };
  EXPECT_EQ(find({writes, reads}), nullptr);
  EXPECT_TRUE(ChainFootprints::add(rows.footprint_of(batch, 5), writes));
  EXPECT_EQ(find({writes, reads}), nullptr);
  EXPECT_TRUE(ChainFootprints::add(rows.footprint_of(batch, 5), reads));
  EXPECT_FALSE(ChainFootprints::add(rows.footprint_of(batch, 5), reads));
  ASSERT_NE(find({writes, reads}), nullptr);
  EXPECT_EQ(find({writes, reads})->position, 5u);
  // Written memory may be read, but not the other way round.
  EXPECT_NE(find({writes, {300, 400, false}}), nullptr);
  EXPECT_EQ(find({{100, 200, true}}), nullptr);
  EXPECT_EQ(find({{300, 399, true}}), nullptr);
  EXPECT_EQ(rows.find(1, nullptr, std::vector{writes}), nullptr);
  ChainFootprints::forget(*find({writes}));
  EXPECT_EQ(find({writes}), nullptr);
}

TEST_F(ChainsTest, ARowOfWholeOperatorsTakesDependentsOfItsNewestMember) {
  ChainFootprints rows;
  const BatchRef batch{1, 5, nullptr};
  const Access reads{100, 200, false}, writes{300, 400, true};
  const auto meets = [&](const Access& access) {
    return rows.known(batch, 5)->meets_newest({{access}});
  };
  EXPECT_EQ(rows.known(batch, 5), nullptr);
  ChainFootprints::Footprint& row = rows.footprint_of(batch, 5);
  ASSERT_TRUE(ChainFootprints::add(row, writes));
  EXPECT_NE(rows.find(1, nullptr, {{writes}}), nullptr);
  row.set_newest(std::vector{reads, writes});
  EXPECT_EQ(rows.find(1, nullptr, {{writes}}), nullptr) << "it must be asked";
  EXPECT_TRUE(meets({150, 160, true}));
  EXPECT_FALSE(meets({150, 160, false})) << "both read";
  EXPECT_TRUE(meets({399, 401, false}));
  EXPECT_FALSE(meets({400, 401, true}));
  EXPECT_FALSE(meets({200, 300, true}));
  // There are more accesses than it remembers.
  row.set_newest(std::vector(9, writes));
  EXPECT_FALSE(meets(writes));
  // Its place is used again.
  for (std::uint64_t other = 6; other < 20; ++other) {
    EXPECT_TRUE(ChainFootprints::add(
        rows.footprint_of({1, other, nullptr}, other), writes));
    const auto* found = rows.find(1, nullptr, {{writes}});
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->position, other);
  }
  EXPECT_EQ(rows.known(batch, 5), nullptr);
}

}  // namespace
}  // namespace gpuos
