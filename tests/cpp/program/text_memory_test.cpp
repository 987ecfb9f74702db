#include "program/calls/text_memory.h"

#include <algorithm>
#include <numeric>

#include "host_backend_driver.h"
#include "program/calls/pass_codes.h"

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
  int freed_ = 0;
  TextMemory texts_{backend_, shared_, [this](void* chunk) {
                      ++freed_;
                      backend_.deallocate(chunk);
                    }};
};

TEST_F(TextMemoryTest, LaterCallsReadACopy) {
  const Text text = texts_.add(words(20));
  EXPECT_TRUE(is_shared(text.address));
  const Text copy = texts_.copy_of(text);
  EXPECT_FALSE(is_shared(copy.address));
  EXPECT_EQ(copy.shared_bytes, 0u);
  // A reader of the first one may use it for ever.
  EXPECT_TRUE(has(text.address, words(20)));
  EXPECT_TRUE(has(copy.address, words(20)));
}

TEST_F(TextMemoryTest, ACopyPaysForRepeatedReaders) {
  Text text = texts_.add(words(20));
  EXPECT_FALSE(PassCodes::wants_copy(text, false));
  EXPECT_TRUE(PassCodes::wants_copy(text, true));
  text.is_used = true;
  EXPECT_TRUE(PassCodes::wants_copy(text, false));
  EXPECT_FALSE(PassCodes::wants_copy(texts_.copy_of(text), true));
}

TEST_F(TextMemoryTest, TextsBeginAtCacheLines) {
  const Text first = texts_.add(words(17));
  const Text second = texts_.add(words(3));
  EXPECT_TRUE(is_shared(second.address));
  EXPECT_EQ(second.address, first.address + 256);
}

TEST_F(TextMemoryTest, TooLargeTextsAreCopiedAtOnce) {
  for (int i = 0; i < 5; ++i) {
    const Text text = texts_.add(words(16));
    EXPECT_EQ(is_shared(text.address), i < 4);
    EXPECT_TRUE(has(text.address, words(16)));
  }
}

TEST_F(TextMemoryTest, LongTextsAreCopiedAtOnce) {
  std::vector<std::uint64_t> room(4096);
  TextMemory texts(backend_, room,
                   [this](void* chunk) { backend_.deallocate(chunk); });
  EXPECT_EQ(texts.add(words(1000)).shared_bytes, 0u);
  EXPECT_NE(texts.add(words(200)).shared_bytes, 0u);
}

TEST_F(TextMemoryTest, AChunkGoesWithItsLastText) {
  std::vector<Text> texts;
  // Uses several chunks. Shared texts have none.
  while (texts.size() < 3 || texts.back().chunk == nullptr ||
         texts.back().chunk == texts.front().chunk) {
    Text text = texts_.add(words(500));
    texts.push_back(std::move(text));
  }
  EXPECT_EQ(freed_, 0);
  const Text last_of_first = texts[texts.size() - 2];
  const Text kept = texts.back();
  texts.clear();
  EXPECT_EQ(freed_, 0);
  EXPECT_TRUE(has(last_of_first.address, words(500)));
}

TEST_F(TextMemoryTest, ChunksWithoutTextsAreFreed) {
  for (int i = 0; i < 1000; ++i) texts_.add(words(500));
  // The chunk of the next text is kept.
  EXPECT_GE(freed_, 30);
}

}  // namespace
}  // namespace gpuos::program
