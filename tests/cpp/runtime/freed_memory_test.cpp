#include "runtime/freed_memory.h"

#include <gtest/gtest.h>

#include <array>

namespace gpuos {
namespace {

TEST(FreedMemory, IsAskedForOncePerPieceHoweverMuchWaits) {
  constexpr std::uint64_t kPieces = 1000;
  std::array<char, kPieces> memory{};
  FreedMemory freed;
  std::uint64_t questions = 0;
  std::uint64_t passed = 0;
  const auto is_past = [&](const FreedMemory::Marks& marks) {
    ++questions;
    return marks[0] <= passed;
  };
  for (std::uint64_t i = 0; i < kPieces; ++i) {
    freed.add(&memory[i], 2, {i + 1});
    EXPECT_TRUE(freed.take(is_past).empty());
  }
  EXPECT_EQ(freed.oldest_beyond(2 * kPieces - 1), FreedMemory::Marks{1});
  EXPECT_FALSE(freed.oldest_beyond(2 * kPieces));
  EXPECT_EQ(questions, kPieces);
  passed = kPieces / 2;
  const auto half = freed.take(is_past);
  ASSERT_EQ(half.size(), kPieces / 2);
  for (std::uint64_t i = 0; i < half.size(); ++i)
    EXPECT_EQ(half[i], &memory[i]);
  EXPECT_EQ(questions, kPieces + kPieces / 2 + 1);
  passed = kPieces;
  EXPECT_EQ(freed.take(is_past).size(), kPieces / 2);
  EXPECT_TRUE(freed.take(is_past).empty());
  EXPECT_FALSE(freed.oldest_beyond(0));
}

}  // namespace
}  // namespace gpuos
