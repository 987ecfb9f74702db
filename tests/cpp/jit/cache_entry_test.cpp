#include "jit/cache/cache_entry.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cache_support.h"
#include "jit/cache/sha256.h"

namespace gpuos::jit {
namespace {

// Corrects the checksum at the end after a change of the bytes before it.
std::string resealed(std::string bytes) {
  bytes.resize(bytes.size() - 32);
  const auto digest = sha256(bytes);
  bytes.append(digest.begin(), digest.end());
  return bytes;
}

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256_hex(""),
            "e3b0c44298fc1c149afbf4c8996fb924"
            "27ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"),
            "ba7816bf8f01cfea414140de5dae2223"
            "b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(
      sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67"
            "f1809a48a497200e046d39ccc7112cd0");
}

TEST(CacheEntry, ComesBackAsItWas) {
  const CacheEntry entry = entry_of(std::string("a\0key", 5));
  const DecodedEntry decoded = decode(encode(entry));
  ASSERT_EQ(decoded.state, EntryState::Good) << decoded.problem;
  EXPECT_EQ(decoded.entry.key, entry.key);
  EXPECT_EQ(decoded.entry.name, entry.name);
  EXPECT_EQ(decoded.entry.arch, entry.arch);
  EXPECT_EQ(decoded.entry.image.binary, entry.image.binary);
  EXPECT_EQ(decoded.entry.image.entries, entry.image.entries);
  EXPECT_EQ(decoded.entry.image.symbols, entry.image.symbols);
  EXPECT_EQ(decoded.entry.image.log, entry.image.log);
  EXPECT_EQ(decoded.entry.image.needs.registers, 20u);
  EXPECT_EQ(decoded.entry.image.needs.stack_bytes, 8u);
  EXPECT_EQ(decoded.entry.image.needs.barriers, 1u);
}

TEST(CacheEntry, IsBadWhereverItIsCut) {
  const std::string bytes = encode(entry_of("key"));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    ASSERT_EQ(decode(bytes.substr(0, size)).state, EntryState::Bad) << size;
}

TEST(CacheEntry, IsBadWhereverABitIsFlipped) {
  const std::string bytes = encode(entry_of("key"));
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    ASSERT_EQ(decode(flipped).state, EntryState::Bad) << bit;
  }
}

TEST(CacheEntry, IsBadWithTrailingBytes) {
  EXPECT_EQ(decode(encode(entry_of("key")) + "x").state, EntryState::Bad);
  EXPECT_EQ(decode(resealed(encode(entry_of("key")) + "x")).state,
            EntryState::Bad);
}

// A writer with a fault, or a hostile one: lengths and counts that the checksum
// covers.
TEST(CacheEntry, NoLengthIsBelieved) {
  const std::string bytes = encode(entry_of("key"));
  for (std::size_t at = 12; at < bytes.size() - 32; ++at) {
    std::string changed = bytes;
    changed[at] = '\xff';
    const DecodedEntry decoded = decode(resealed(changed));
    if (decoded.state != EntryState::Good) continue;
    EXPECT_LE(decoded.entry.image.binary.size(), bytes.size());
  }
}

TEST(CacheEntry, IsBadWithAnUnknownFlag) {
  CacheEntry entry = entry_of("key");
  const std::string without = encode(entry);
  entry.image.needs.uses_shared = true;
  std::string bytes = encode(entry);
  const auto [flag, other] = std::ranges::mismatch(bytes, without);
  ASSERT_EQ(*flag, 1);
  *flag = 2;
  EXPECT_EQ(decode(resealed(bytes)).state, EntryState::Bad);
  *flag = 0;
  EXPECT_EQ(resealed(bytes), without);
}

TEST(CacheEntry, DistinguishesAnotherSchemaFromAFault) {
  std::string newer = encode(entry_of("key"));
  newer[8] = static_cast<char>(kCacheSchema + 1);
  const DecodedEntry decoded = decode(resealed(newer));
  EXPECT_EQ(decoded.state, EntryState::OtherSchema);
  EXPECT_EQ(decoded.problem, "schema 3, this gpuos writes 2");
}

}  // namespace
}  // namespace gpuos::jit
