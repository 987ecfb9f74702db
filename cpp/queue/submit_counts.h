#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "queue/backend.h"
#include "queue/ring.h"
#include "queue/workers.h"

namespace gpuos {

/// Counts of one queue. They are written under the submit lock and read without
/// it.
struct SubmitCounts {
  std::atomic<std::uint64_t> tasks{0};
  std::atomic<std::uint64_t> batches{0};
  std::atomic<std::uint64_t> ordered{0};  // tasks that met others
  std::atomic<std::uint64_t> chained{0};
  std::atomic<std::uint64_t> chains{0};

  // One writer at a time needs no exchange.
  static void add(std::atomic<std::uint64_t>& count,
                  std::uint64_t by) noexcept {
    count.store(count.load(std::memory_order_relaxed) + by,
                std::memory_order_relaxed);
  }
};

/// The last submitted batch, which shows how much work is queued.
///
/// Threads: note() under the submit lock, load() without it.
class NewestBatch {
 public:
  void note(std::uint32_t ring, std::uint64_t batch) noexcept {
    const std::uint64_t before = batch_.load(kRelaxed);
    const bool is_same_ring = ring_.load(kRelaxed) == ring;
    if (is_same_ring && before == batch) return;
    batch_before_.store(is_same_ring ? before : kNone, kRelaxed);
    ring_.store(ring, kRelaxed);
    batch_.store(batch, kRelaxed);
  }

  /// Returns Idle if the newest submission is done. Returns Backlog if many
  /// tasks have collected after a flush that is not done. A small number may
  /// wait for it because they depend on it and need a short latency. The result
  /// may be outdated a moment later.
  program::Load load(std::span<Ring* const> rings) const noexcept {
    const std::uint32_t index = ring_.load(kRelaxed);
    const Ring& ring = *rings[index];
    const std::uint64_t newest = batch_.load(kRelaxed);
    if (ring.head() == 0 || ring.is_done(newest)) return program::Load::Idle;
    // On the ring of chains each submission is a batch.
    constexpr std::uint64_t kMany = 128;
    const std::uint64_t before = batch_before_.load(kRelaxed);
    const bool has_backlog = index != kChainRing &&
                             ring.head() >= newest + kMany && before != kNone &&
                             !ring.is_done(before);
    return has_backlog ? program::Load::Backlog : program::Load::Busy;
  }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::atomic<std::uint32_t> ring_{0};
  std::atomic<std::uint64_t> batch_{0};
  std::atomic<std::uint64_t> batch_before_{kNone};  // of the same ring
};

}  // namespace gpuos
