#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "device/launch.h"
#include "device/task_abi.h"
#include "queue/descriptor.h"

namespace gpuos {

/// Memory of a ring, by the host's addresses. It is zeroed, with one entry per
/// place.
struct RingMemory {
  abi::Descriptor* descriptors = nullptr;
  abi::ArgBlock* arg_blocks = nullptr;
  std::uint32_t* done = nullptr;
  std::uint64_t* started = nullptr;
};

/// The producers' side of a queue: which positions are taken, written, done.
///
/// Threads: functions that change the ring need the submit lock; is_done(),
/// head() and completed() do not.
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
  /// Returns the number of tasks before completed(), including members of
  /// chains.
  std::uint64_t completed_tasks() const noexcept {
    const auto more = completed_more_.load(std::memory_order_relaxed);
    return completed() + static_cast<std::uint64_t>(more);
  }

  /// Takes `tasks` places as one batch and returns its first position. Empty
  /// when there is no room. Only positions that were given out are written.
  std::optional<std::uint64_t> open_batch(std::uint32_t tasks);

  /// Lengthens the newest batch, which must not have been handed to a worker.
  bool extend_batch(std::uint64_t begin, std::uint32_t tasks);

  /// One more task at a place of the batch, which is not done.
  void add_to_place(std::uint64_t begin) noexcept {
    ++batches_[place_of(begin)].more;
  }
  /// Notes a place of the batch, which is not done, without a task: a join.
  void note_empty_place(std::uint64_t begin) noexcept {
    --batches_[place_of(begin)].more;
  }

  /// Puts the descriptor of `position` in place. On the resident ring a worker
  /// may take it at once.
  void write(std::uint64_t position, const abi::Payload& payload) noexcept {
    write(position, words_of(payload));
  }
  void write(std::uint64_t position, const PayloadWords& payload) noexcept {
    write_descriptor(descriptor(position), payload, tag_of(position));
  }
  /// One past the last place of a batch that is not done.
  std::uint64_t end_of(std::uint64_t begin) const noexcept {
    return begin + batches_[place_of(begin)].places;
  }

  /// Prefetches the memory that `tasks` tasks from `position` on, which share
  /// arguments, will write.
  void prefetch(std::uint64_t position, std::uint32_t tasks) const noexcept {
    for (std::uint32_t i = 0; i < tasks; ++i)
      prefetch_to_write(memory_.descriptors + place_of(position + i));
    const u64* args = memory_.arg_blocks[place_of(position)].args;
    prefetch_to_write(args);
    prefetch_to_write(args + 8);  // more lines are rare
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
  /// To be changed only as long as no worker may take it.
  abi::Descriptor& descriptor(std::uint64_t position) noexcept {
    return memory_.descriptors[place_of(position)];
  }

  /// Returns whether the batch that began at `begin` is finished. Its results
  /// are then visible to this thread.
  bool is_done(std::uint64_t begin) const noexcept {
    // Pairs with the store to `done` in finish_task() of worker.cu, in
    // finish_burst() of burst.h and in HostBackend.
    const std::uint32_t done = std::atomic_ref(memory_.done[place_of(begin)])
                                   .load(std::memory_order_acquire);
    return static_cast<std::int32_t>(done - tag_of(begin)) >= 0;
  }

  /// Returns the record of the last started task among the traced ones at
  /// `position`. It is 0 outside of a chain, and empty if none was started.
  std::optional<std::uint32_t> started(std::uint64_t position) const noexcept {
    const std::uint64_t word =
        std::atomic_ref(memory_.started[place_of(position)])
            .load(std::memory_order_relaxed);
    const auto record = static_cast<std::uint32_t>(word);
    if (word != abi::started_word(tag_of(position), record))
      return std::nullopt;
    return record;
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
    std::int32_t more = 0;  // tasks beyond one a place
  };

  RingMemory memory_;
  std::uint32_t capacity_;
  std::uint32_t capacity_bits_;
  std::atomic<std::uint64_t> head_;
  std::atomic<std::uint64_t> completed_;
  std::atomic<std::int64_t> completed_more_{0};
  std::vector<Batch> batches_;  // the batches that begin at a place
};

}  // namespace gpuos
