#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/task_abi.h"
#include "queue/backend.h"

namespace gpuos::program {

/// Temporary memory of program tasks, in blocks that calls use in rotation. A
/// task must declare its block as written. The order of tasks then separates
/// the users, and the host does not wait.
///
/// Threads: one at a time, but a Lease may end in any.
class Scratch {
  struct Block {
    void* memory = nullptr;
    std::atomic<bool> is_taken{false};
  };

 public:
  /// Words that end at a block's address and are 0 unless a task counts with
  /// them: no other layout may leave values there.
  static constexpr std::size_t kCounters = abi::kMaxTiles;
  /// Larger blocks are not kept.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  /// Keeps a block from others until the last task that uses it is submitted.
  class Lease {
   public:
    Lease() = default;
    explicit Lease(Block* block) : block_(block) {}
    Lease(Lease&& other) noexcept : block_(std::exchange(other.block_, {})) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(block_, other.block_);
      return *this;
    }
    ~Lease() {
      if (block_ != nullptr)
        block_->is_taken.store(false, std::memory_order_release);
    }

    bool is_empty() const noexcept { return block_ == nullptr; }
    /// Returns the address after the counters, at the start of a cache line.
    std::uint64_t address() const noexcept {
      return reinterpret_cast<std::uint64_t>(block_->memory) + kCounterBytes;
    }

   private:
    Block* block_ = nullptr;
  };

  explicit Scratch(Backend& backend) : backend_(backend) {}
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// Returns a block with at least `bytes` after the counters, or an empty
  /// lease if that is too much or all are taken. `is_idle`: no task is pending,
  /// so the block of the previous call is reused, which is already in the
  /// cache.
  Lease take(std::size_t bytes, bool is_idle);
  /// Returns memory for a graph, whose tasks may run again at any time. It has
  /// any size and is not shared until the end.
  std::uint64_t keep(std::size_t bytes);

 private:
  static constexpr std::size_t kCounterBytes = 4 * kCounters;
  static constexpr std::size_t kLeastBytes = std::size_t{1} << 14;
  static constexpr std::size_t kSizes = 7;   // kLeastBytes to kMostBytes
  static constexpr std::size_t kTurns = 16;  // calls side by side

  struct Turns {
    std::array<Block, kTurns> blocks;
    std::size_t next = 0;
  };

  void* allocate(std::size_t bytes);

  Backend& backend_;
  std::array<Turns, kSizes> sizes_;
  std::vector<void*> kept_;
};

}  // namespace gpuos::program
