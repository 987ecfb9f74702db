#include "program/text_memory.h"

#include <algorithm>
#include <numeric>

#include "host_backend_driver.h"

namespace gpuos::program {
namespace {

using Words = std::vector<std::uint64_t>;

class TextMemoryTest : public testing::Test {
 protected:
  static Words words(std::size_t count) {
    Words words(count);
    std::iota(words.begin(), words.end(), 7);
    return words;
  }
  static bool has(std::uint64_t address, const Words& words) {
    return std::ranges::equal(
        words, std::span(reinterpret_cast<const std::uint64_t*>(address),
                         words.size()));
  }
  bool is_shared(std::uint64_t address) const {
    const auto first = reinterpret_cast<std::uint64_t>(shared_.data());
    return address >= first && address < first + sizeof(shared_);
  }

  QuickMutex mutex_;
  host::HostBackend backend_{host::options(1), mutex_};
  alignas(128) std::array<std::uint64_t, 64> shared_{};
  TextMemory texts_{backend_, shared_};
};

TEST_F(TextMemoryTest, LaterCallsReadACopy) {
  Text text = texts_.add(words(20));
  const std::uint64_t first = texts_.use(text, false);
  EXPECT_TRUE(is_shared(first));
  const std::uint64_t later = texts_.use(text, true);
  EXPECT_FALSE(is_shared(later));
  EXPECT_EQ(texts_.use(text, true), later);
  // Who reads the first one may do it for good.
  EXPECT_TRUE(has(first, words(20)));
  EXPECT_TRUE(has(later, words(20)));
}

TEST_F(TextMemoryTest, WhatIsReadAgainIsCopiedAtOnce) {
  Text text = texts_.add(words(20));
  const std::uint64_t address = texts_.use(text, true);
  EXPECT_FALSE(is_shared(address));
  EXPECT_TRUE(has(address, words(20)));
}

TEST_F(TextMemoryTest, TextsBeginAtCacheLines) {
  const Text first = texts_.add(words(17));
  const Text second = texts_.add(words(3));
  EXPECT_TRUE(is_shared(second.address));
  EXPECT_EQ(second.address, first.address + 256);
}

TEST_F(TextMemoryTest, WhatDoesNotFitIsCopiedAtOnce) {
  for (int i = 0; i < 5; ++i) {
    Text text = texts_.add(words(16));
    EXPECT_EQ(is_shared(text.address), i < 4);
    EXPECT_TRUE(has(texts_.use(text, false), words(16)));
  }
}

TEST_F(TextMemoryTest, LongTextsAreCopiedAtOnce) {
  std::vector<std::uint64_t> room(4096);
  TextMemory texts(backend_, room);
  EXPECT_EQ(texts.add(words(1000)).shared_bytes, 0u);
  EXPECT_NE(texts.add(words(200)).shared_bytes, 0u);
}

}  // namespace
}  // namespace gpuos::program
