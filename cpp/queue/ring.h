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

namespace gpuos {

/// Memory of a ring, by the host's addresses; zeroed; one entry a place.
struct RingMemory {
  abi::Descriptor* descriptors = nullptr;
  abi::ArgBlock* arg_blocks = nullptr;
  std::uint32_t* done = nullptr;
  std::uint32_t* started = nullptr;
};

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

  /// Takes `tasks` places as one batch and returns its first position; empty
  /// when there is no room. Only positions that were given out are written.
  std::optional<std::uint64_t> open_batch(std::uint32_t tasks);

  /// Lengthens the newest batch, which must not have been handed to a worker.
  bool extend_batch(std::uint64_t begin, std::uint32_t tasks);

  /// Puts the descriptor of `position` in place. On the resident ring a worker
  /// may take it at once.
  void write(std::uint64_t position, const abi::Payload& payload) noexcept;

  abi::ArgBlock& arg_block(std::uint64_t position) noexcept {
    return memory_.arg_blocks[place_of(position)];
  }
  const abi::Descriptor& descriptor(std::uint64_t position) const noexcept {
    return memory_.descriptors[place_of(position)];
  }

  /// Whether the batch that began at `begin` is finished; its results are then
  /// visible to this thread.
  bool is_done(std::uint64_t begin) const noexcept {
    // Pairs with the store to `done` in finish_task() and finish_burst() of
    // worker.cu and in HostBackend.
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
  // Whole, so that a reader of 16 bytes sees all of it or nothing.
  static void write_chunk(std::uint32_t* to, std::uint32_t a, std::uint32_t b,
                          std::uint32_t c, std::uint32_t tag) noexcept {
#if defined(__SSE2__)
    _mm_store_si128(reinterpret_cast<__m128i*>(to),
                    _mm_set_epi32(static_cast<int>(tag), static_cast<int>(c),
                                  static_cast<int>(b), static_cast<int>(a)));
#else
    write_last_chunk(to, a, b, c, tag);
#endif
  }
  static void write_last_chunk(std::uint32_t* to, std::uint32_t a,
                               std::uint32_t b, std::uint32_t c,
                               std::uint32_t tag) noexcept {
    to[0] = a;
    to[1] = b;
    to[2] = c;
    // A release for readers that load word by word, as the host's workers do;
    // pairs with their acquire load and with await_task() in worker.cu.
    std::atomic_ref(to[3]).store(tag, std::memory_order_release);
  }

  RingMemory memory_;
  std::uint32_t capacity_;
  std::uint32_t capacity_bits_;
  std::atomic<std::uint64_t> head_;
  std::atomic<std::uint64_t> completed_;
  std::vector<std::uint32_t> sizes_;  // of the batch that begins at a place
};

inline void Ring::write(std::uint64_t position,
                        const abi::Payload& payload) noexcept {
  const std::uint32_t tag = tag_of(position);
  std::uint32_t* to = memory_.descriptors[place_of(position)].words;
  // Put together in registers: reading back 32-bit words from the payload's
  // 16-bit fields would wait for the stores to leave the store buffer.
  const auto pair = [](std::uint32_t low, std::uint32_t high) {
    return low | high << 16;
  };
  const auto low = [](u64 word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](u64 word) {
    return static_cast<std::uint32_t>(word >> 32);
  };
  const u64* args = payload.args;
  write_chunk(to, pair(payload.op, payload.flags), payload.count, low(args[0]),
              tag);
  write_chunk(to + 4, high(args[0]), low(args[1]), high(args[1]), tag);
  write_chunk(to + 8, low(args[2]), high(args[2]), low(args[3]), tag);
  const std::uint32_t batch = pair(payload.batch_offset, payload.batch_size);
  const std::uint32_t wait = pair(payload.wait_distance, payload.parts);
  write_last_chunk(to + 12, high(args[3]), batch, wait, tag);
}

}  // namespace gpuos
