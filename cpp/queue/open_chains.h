#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "queue/descriptor.h"
#include "queue/ring.h"

namespace gpuos {

/// Chains of one ring that still take members. Each has a place whose
/// descriptor is written when it is closed; until then no worker runs it.
///
/// Threads: the submit lock, except is_empty().
class OpenChains {
 public:
  static constexpr std::size_t kMost = 8;
  using Clock = std::chrono::steady_clock;
  using Notice = std::function<void()>;

  /// `opened`: a chain was opened, and its age must be watched. `closed`:
  /// descriptors were written.
  OpenChains(Ring& ring, Notice opened, Notice closed)
      : ring_(ring), opened_(std::move(opened)), closed_(std::move(closed)) {}

  bool is_empty() const noexcept {
    return count_.load(std::memory_order_relaxed) == 0;
  }
  /// The chain that began at `begin`, or null. It stays where it is until it
  /// is closed.
  abi::Payload* find(std::uint64_t begin) noexcept;
  /// The first position that waits for a chain to be closed, or else `end`.
  std::uint64_t first(std::uint64_t end) const noexcept;

  /// Closes the oldest one if there are kMost. Before the place of the next one
  /// is taken.
  void make_room();
  /// There must be room.
  abi::Payload& open(std::uint64_t position, abi::Member* block);

  void close(std::uint64_t begin);
  /// Closes the chains that began at `last` or before it.
  void close_until(std::uint64_t last);
  void close_all() { close_until(~std::uint64_t{0}); }
  /// Closes the chains that are older than `age`.
  void close_old(std::chrono::microseconds age);

 private:
  struct Chain {
    bool is_open = false;
    std::uint64_t begin = 0;
    Clock::time_point since;
    abi::Payload payload;
  };

  template <typename Is>
  void close_if(Is is);

  Ring& ring_;
  Notice opened_;
  Notice closed_;
  std::array<Chain, kMost> chains_;
  std::atomic<std::size_t> count_{0};
};

}  // namespace gpuos
