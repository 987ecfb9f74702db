#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "device/task_abi.h"
#include "queue/prefetch.h"

namespace gpuos {

/// Memory of a ring, by the host's addresses; zeroed; one entry a place.
struct RingMemory {
  abi::Descriptor* descriptors = nullptr;
  abi::ArgBlock* arg_blocks = nullptr;
  std::uint32_t* done = nullptr;
  std::uint32_t* started = nullptr;
};

/// An abi::Payload as it lies in memory.
struct PayloadWords {
  u64 head;  // op, flags, count
  u64 args[abi::kInlineArgs];
  u64 tail;  // batch_offset, batch_size, wait_distance, parts; 16 bits each
};

inline PayloadWords words_of(const abi::Payload& payload) {
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

inline abi::Payload read_payload(const abi::Descriptor& descriptor) {
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

/// The producers' side of a queue: which positions are taken, written, done.
///
/// Threads: what changes the ring needs the submit lock; is_done(), head() and
/// completed() do not.
class Ring {
 public:
  /// Tasks in one batch, at most.
  static std::uint32_t max_batch(std::uint32_t capacity) {
    return capacity / 4;
  }

  /// `first_position` is 0 except in tests of the wrap-around.
  Ring(RingMemory memory, std::uint32_t capacity,
       std::uint64_t first_position = 0);

  std::uint32_t capacity() const noexcept { return capacity_; }
  std::uint32_t max_batch() const noexcept { return max_batch(capacity_); }
  std::uint32_t place_of(std::uint64_t position) const noexcept {
    return static_cast<std::uint32_t>(position) & (capacity_ - 1);
  }
  std::uint32_t tag_of(std::uint64_t position) const noexcept {
    return abi::lap_tag(position, capacity_bits_);
  }

  /// One past the last position that was given out.
  std::uint64_t head() const noexcept {
    return head_.load(std::memory_order_acquire);
  }
  /// Every batch that began before this position is done.
  std::uint64_t completed() const noexcept {
    return completed_.load(std::memory_order_acquire);
  }
  /// Tasks at the places before completed(), those of chains included.
  std::uint64_t completed_tasks() const noexcept {
    return completed() + completed_more_.load(std::memory_order_relaxed);
  }

  /// Takes `tasks` places as one batch and returns its first position; empty
  /// when there is no room. Only positions that were given out are written.
  std::optional<std::uint64_t> open_batch(std::uint32_t tasks);

  /// Lengthens the newest batch, which must not have been handed to a worker.
  bool extend_batch(std::uint64_t begin, std::uint32_t tasks);

  /// One more task at a place of the batch, which is not done.
  void add_to_place(std::uint64_t begin) noexcept {
    ++batches_[place_of(begin)].more;
  }

  /// Puts the descriptor of `position` in place. On the resident ring a worker
  /// may take it at once.
  void write(std::uint64_t position, const abi::Payload& payload) noexcept;
  void write(std::uint64_t position, const PayloadWords& payload) noexcept;

  /// The count of a descriptor, and the last of its arguments.
  std::uint32_t count_at(std::uint64_t position) const noexcept {
    return descriptor(position).words[1];
  }
  std::uint64_t last_arg_at(std::uint64_t position) const noexcept {
    const std::uint32_t* words = descriptor(position).words;
    return words[10] | std::uint64_t{words[12]} << 32;
  }
  /// Whether a descriptor is of a tile, one of several of a large task.
  bool is_tile_at(std::uint64_t position) const noexcept {
    const std::uint32_t* words = descriptor(position).words;
    const auto flags = static_cast<u16>(words[0] >> 16);
    return words[14] >> 16 > 1 && (flags & abi::kJoin) == 0 &&
           !abi::is_chain(flags);
  }
  /// One past the last place of a batch that is not done.
  std::uint64_t end_of(std::uint64_t begin) const noexcept {
    return begin + batches_[place_of(begin)].places;
  }
  /// Changes the count of a descriptor that no worker may take yet.
  void set_count(std::uint64_t position, std::uint32_t count) noexcept {
    memory_.descriptors[place_of(position)].words[1] = count;
  }

  /// Has the processor fetch what `tasks` tasks from `position` on, which share
  /// arguments, are soon written to.
  void prefetch(std::uint64_t position, std::uint32_t tasks) const noexcept {
    for (std::uint32_t i = 0; i < tasks; ++i)
      prefetch_to_write(memory_.descriptors + place_of(position + i));
    const u64* args = memory_.arg_blocks[place_of(position)].args;
    prefetch_to_write(args);
    prefetch_to_write(args + 8);  // more than so many lines are rare
  }

  abi::ArgBlock& arg_block(std::uint64_t position) noexcept {
    return memory_.arg_blocks[place_of(position)];
  }
  /// The arguments of the task that `payload` puts at `position`.
  const u64* args_of(std::uint64_t position,
                     const abi::Payload& payload) const noexcept {
    if ((payload.flags & abi::kArgsInBlock) == 0) return payload.args;
    return memory_.arg_blocks[place_of(position - payload.args[1])].args;
  }
  const abi::Descriptor& descriptor(std::uint64_t position) const noexcept {
    return memory_.descriptors[place_of(position)];
  }

  /// Whether the batch that began at `begin` is finished; its results are then
  /// visible to this thread.
  bool is_done(std::uint64_t begin) const noexcept {
    // Pairs with the store to `done` in finish_task() of worker.cu, in
    // finish_burst() of burst.h and in HostBackend.
    const std::uint32_t done = std::atomic_ref(memory_.done[place_of(begin)])
                                   .load(std::memory_order_acquire);
    return static_cast<std::int32_t>(done - tag_of(begin)) >= 0;
  }

  /// Whether a traced task at `position` has been started.
  bool is_started(std::uint64_t position) const noexcept {
    return std::atomic_ref(memory_.started[place_of(position)])
               .load(std::memory_order_relaxed) == tag_of(position);
  }

  /// Finishes a batch that no worker will ever report.
  void mark_done(std::uint64_t begin) noexcept {
    std::atomic_ref(memory_.done[place_of(begin)])
        .store(tag_of(begin), std::memory_order_release);
  }

  /// Moves completed() over every batch that is done.
  void advance() noexcept;

 private:
  struct Batch {
    std::uint32_t places = 0;
    std::uint32_t more = 0;  // tasks beyond one a place
  };

  RingMemory memory_;
  std::uint32_t capacity_;
  std::uint32_t capacity_bits_;
  std::atomic<std::uint64_t> head_;
  std::atomic<std::uint64_t> completed_;
  std::atomic<std::uint64_t> completed_more_{0};
  std::vector<Batch> batches_;  // those that begin at a place
};

inline void Ring::write(std::uint64_t position,
                        const abi::Payload& payload) noexcept {
  write(position, words_of(payload));
}

inline void Ring::write(std::uint64_t position,
                        const PayloadWords& payload) noexcept {
  std::uint32_t* to = memory_.descriptors[place_of(position)].words;
  const std::uint32_t tag = tag_of(position);
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
  // Stores stay in order on x86; this keeps the compiler from moving those to
  // the argument block behind the last tag.
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
    // Pairs with await_task() in worker.cu: who sees the tag sees the words,
    // and with the last one the argument block.
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
