#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "device/task_abi.h"

namespace gpuos {

// The host writes and reads descriptors with these functions. A worker of a
// device does it with several lanes: load_chunk() of memory.h, store_chunk() of
// work.h.

/// An abi::Payload in its memory layout.
struct PayloadWords {
  u64 head;  // op, flags, count
  u64 args[abi::kInlineArgs];
  u64 tail;  // batch_offset, batch_size, wait_distance, parts; 16 bits each
};

inline PayloadWords words_of(const abi::Payload& payload) noexcept {
  // Put together in registers: reading back 64-bit words from 16-bit fields
  // would wait for the stores to leave the store buffer.
  const auto join = [](u64 a, u64 b, u64 c, u64 d) {
    return a | b << 16 | c << 32 | d << 48;
  };
  const u64* args = payload.args;
  return {join(payload.op, payload.flags, payload.count, 0),
          {args[0], args[1], args[2], args[3]},
          join(payload.batch_offset, payload.batch_size, payload.wait_distance,
               payload.parts)};
}

inline abi::Payload read_payload(const abi::Descriptor& descriptor) noexcept {
  // Put together in registers, as in words_of().
  const auto join = [&](int low, int high) {
    return descriptor.words[low] | u64{descriptor.words[high]} << 32;
  };
  const u64 words[] = {join(0, 1), join(2, 4),   join(5, 6),
                       join(8, 9), join(10, 12), join(13, 14)};
  abi::Payload payload;
  std::memcpy(&payload, words, sizeof(payload));
  return payload;
}

inline std::uint32_t op_of(const abi::Descriptor& descriptor) noexcept {
  return descriptor.words[0] & 0xffff;
}
inline std::uint32_t count_of(const abi::Descriptor& descriptor) noexcept {
  return descriptor.words[1];
}
inline void set_count(abi::Descriptor& descriptor,
                      std::uint32_t count) noexcept {
  descriptor.words[1] = count;
}
inline std::uint64_t last_arg_of(const abi::Descriptor& descriptor) noexcept {
  return descriptor.words[10] | std::uint64_t{descriptor.words[12]} << 32;
}
/// Returns whether the descriptor is a whole operator, or a chain with one.
inline bool is_traced(const abi::Descriptor& descriptor) noexcept {
  return (descriptor.words[0] >> 16 & abi::kTraced) != 0;
}
/// Returns whether it is of a tile, one of several of a large task.
inline bool is_tile(const abi::Descriptor& descriptor) noexcept {
  const auto flags = static_cast<u16>(descriptor.words[0] >> 16);
  return descriptor.words[14] >> 16 > 1 && (flags & abi::kJoin) == 0 &&
         !abi::is_chain(flags);
}

/// Puts the payload and its lap tag in place, where a worker may look for them.
inline void write_descriptor(abi::Descriptor& descriptor,
                             const PayloadWords& payload,
                             std::uint32_t tag) noexcept {
  std::uint32_t* to = descriptor.words;
#if defined(__SSE2__)
  // Each chunk with one store of 16 bytes, so that a reader of 16 bytes sees
  // all of it or nothing.
  const auto word = [](u64 value) {
    return _mm_cvtsi64_si128(static_cast<long long>(value));
  };
  const auto store = [to](int chunk, __m128i value) {
    _mm_store_si128(reinterpret_cast<__m128i*>(to) + chunk, value);
  };
  const __m128i tags = _mm_set1_epi32(static_cast<int>(tag));
  const __m128i a0 = word(payload.args[0]);  // low0 high0 0 0
  const __m128i a1 = word(payload.args[1]);
  const __m128i a2 = word(payload.args[2]);
  const __m128i a3 = word(payload.args[3]);
  const __m128i tail = word(payload.tail);
  // high0 low1, high1 tag
  const __m128i middle = _mm_unpacklo_epi32(_mm_srli_epi64(a0, 32), a1);
  const __m128i high1 = _mm_unpacklo_epi32(_mm_srli_epi64(a1, 32), tags);
  // high3 batch, wait tag
  const __m128i high3 = _mm_unpacklo_epi32(_mm_srli_epi64(a3, 32), tail);
  const __m128i wait = _mm_unpacklo_epi32(_mm_srli_epi64(tail, 32), tags);
  store(0,
        _mm_unpacklo_epi64(word(payload.head), _mm_unpacklo_epi32(a0, tags)));
  store(1, _mm_unpacklo_epi64(middle, high1));
  store(2, _mm_unpacklo_epi64(a2, _mm_unpacklo_epi32(a3, tags)));
  // Stores stay in order on x86. This prevents the compiler from moving the
  // stores of the argument block after the last tag.
  std::atomic_signal_fence(std::memory_order_release);
  store(3, _mm_unpacklo_epi64(high3, wait));
#else
  const auto low = [](u64 word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](u64 word) {
    return static_cast<std::uint32_t>(word >> 32);
  };
  const auto store = [to, tag](int chunk, std::uint32_t a, std::uint32_t b,
                               std::uint32_t c) {
    std::uint32_t* words = to + 4 * chunk;
    words[0] = a;
    words[1] = b;
    words[2] = c;
    // Pairs with await_task() in worker.cu: a reader of the tag also sees the
    // words, and with the last tag the argument block.
    std::atomic_ref(words[3]).store(tag, std::memory_order_release);
  };
  const u64* args = payload.args;
  store(0, low(payload.head), high(payload.head), low(args[0]));
  store(1, high(args[0]), low(args[1]), high(args[1]));
  store(2, low(args[2]), high(args[2]), low(args[3]));
  store(3, high(args[3]), low(payload.tail), high(payload.tail));
#endif
}

/// Prefetches a line that will soon be written. The device has read it since,
/// and all later stores would wait for it, because stores leave in order.
inline void prefetch_to_write(const void* line) noexcept {
#if defined(__x86_64__)
  // Without -mprfchw, __builtin_prefetch() fetches for reading.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

/// The descriptor of a chain without members, whose block is `block`.
inline abi::Payload make_chain(abi::Member* block) noexcept {
  abi::Payload chain{};
  chain.flags = abi::kChain;
  chain.args[abi::kChainBlock] = reinterpret_cast<std::uint64_t>(block);
  return chain;
}

inline constexpr std::uint32_t kMostChainBlocks = 16;

/// Returns the number of blocks that hold `records` records.
inline std::uint32_t chain_blocks(std::uint32_t records) noexcept {
  return records <= abi::kChainRecords
             ? 1
             : (records + abi::kChainRecords - 1) / abi::kChainRecords;
}

/// Returns the first record of a new member of `length` records, after
/// `records` records. It is in the next piece if the current piece does not
/// have enough space.
inline std::uint32_t member_place(std::uint32_t records,
                                  std::uint32_t length) noexcept {
  const std::uint32_t next = abi::next_piece(records);
  return records + length <= next ? records : next;
}

/// Returns whether a member with `args` arguments fits after `records` records,
/// in their last block.
inline bool has_room(std::uint32_t records, std::uint32_t args) noexcept {
  const std::uint32_t length = abi::chain_records(args);
  return member_place(records, length) + length <=
         chain_blocks(records) * abi::kChainRecords;
}

/// Marks the remainder of a piece as empty.
inline void mark_gap(abi::Member& member) noexcept {
  member.op = abi::kGap;
  member.arg_count = 0;
}

/// Writes a member to `block` after `records`. Returns the record after it. The
/// block must have space. `args` has 64 bits each. The first kInlineArgs can be
/// read even if there are fewer.
inline std::uint32_t write_member(abi::Member* block, std::uint32_t records,
                                  u32 slot, u32 count, const void* args,
                                  std::uint32_t arg_count) noexcept {
  const std::uint32_t length = abi::chain_records(arg_count);
  const std::uint32_t record = member_place(records, length);
  if (record != records) mark_gap(block[records]);
  abi::Member& member = block[record];
  constexpr std::uint32_t kAhead = 4;  // records, written in some 200 ns
  prefetch_to_write(&member + kAhead);
  member.op = static_cast<u16>(slot);
  member.arg_count = static_cast<u16>(arg_count);
  member.count = count;
  // Writes after the member's head, and on into the records that follow.
  char* to = reinterpret_cast<char*>(&member) + offsetof(abi::Member, args);
  // Copies as many as most tasks have, without a call.
  constexpr std::size_t kFew = abi::kInlineArgs * sizeof(u64);
  std::memcpy(to, args, kFew);
  if (arg_count > abi::kInlineArgs)
    std::memcpy(to + kFew, static_cast<const char*>(args) + kFew,
                arg_count * sizeof(u64) - kFew);
  return record + length;
}

/// Adds a member after the existing ones of `chain`.
inline void add_member(abi::Payload& chain, u32 slot, u32 count,
                       const void* args, std::uint32_t arg_count) noexcept {
  auto* block = reinterpret_cast<abi::Member*>(chain.args[abi::kChainBlock]);
  chain.count = write_member(block, chain.count, slot, count, args, arg_count);
}

/// Skips the remainder of a block after `record` records. Returns the first
/// record of the next block.
inline std::uint32_t write_gap(abi::Member* block,
                               std::uint32_t record) noexcept {
  const std::uint32_t used = record % abi::kChainRecords;
  if (used == 0) return record;
  mark_gap(block[record]);
  return record + abi::kChainRecords - used;
}

/// Returns whether the chain waits for the batch that began so far before it.
inline bool waits_for(const abi::Payload& chain, u16 distance) noexcept {
  u16 distances[abi::kMaxChainWaits];
  std::memcpy(distances, chain.args, sizeof(distances));
  for (std::uint32_t i = 0; i < chain.parts; ++i) {
    if (distances[i] == distance) return true;
  }
  return false;
}

/// There must be room: at most kMaxChainWaits.
inline void add_wait(abi::Payload& chain, u16 distance) noexcept {
  std::memcpy(
      reinterpret_cast<char*>(chain.args) + chain.parts * sizeof(distance),
      &distance, sizeof(distance));
  ++chain.parts;
}

/// A chain of one member, as the plain task that it is, if a descriptor can say
/// it: a worker then needs no second trip for the block.
inline abi::Payload simplest(const abi::Payload& chain) noexcept {
  const auto& member =
      *reinterpret_cast<const abi::Member*>(chain.args[abi::kChainBlock]);
  if (chain.count != 1 || chain.parts > 1 ||
      member.arg_count > abi::kInlineArgs)
    return chain;
  abi::Payload task{};
  task.op = member.op;
  task.count = member.count;
  std::memcpy(task.args, member.args, member.arg_count * sizeof(u64));
  task.batch_offset = chain.batch_offset;
  task.batch_size = chain.batch_size;
  if (chain.parts == 0) return task;
  task.flags = abi::kWaits;
  std::memcpy(&task.wait_distance, chain.args, sizeof(task.wait_distance));
  return task;
}

}  // namespace gpuos
