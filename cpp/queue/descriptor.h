#pragma once

#include <atomic>
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

}  // namespace gpuos
