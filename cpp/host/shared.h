#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/processors.h"
#include "device/fault.h"
#include "host/doorbells.h"
#include "host/failure_log.h"
#include "host/idle_workers.h"
#include "host/operator_table.h"
#include "host/ring_storage.h"
#include "queue/ring.h"

namespace gpuos::host {

/// The current task of one worker, for the watchdog.
struct alignas(64) WorkerState {
  void begin_traced(std::uint32_t slot) noexcept;
  void end_traced() noexcept { traced.store(0, std::memory_order_relaxed); }
  /// The slot of a traced task that runs for longer than `limit`.
  std::optional<std::uint32_t> find_overrun(
      std::chrono::milliseconds limit) const noexcept;

  // A traced task: its slot, and 1 + when it began; 0: none runs.
  std::atomic<std::uint64_t> traced{0};
};

/// Everything that worker threads touch. They own it together with the
/// backend, because the thread of a stuck operator cannot be ended and may
/// outlive the backend.
struct Shared {
  Shared(std::uint32_t capacity, const Processors& processors,
         std::chrono::nanoseconds linger, std::uint64_t first_position = 0);

  /// Publishes the batches that began before `end`. `is_little`: a waiter would
  /// run the newest tasks before a worker is awake. Returns false if no thread
  /// was woken, because a waiter is expected. If none arrives, a worker must be
  /// woken later.
  /// Threads: holds the submit lock.
  bool publish(std::uint64_t end, bool is_little);
  bool has_work() const noexcept;
  /// Notes whether a thread that waits took the newest tasks, or a worker.
  void note_awaited(bool is) noexcept {
    if (awaited.load(std::memory_order_relaxed) != is)
      awaited.store(is, std::memory_order_relaxed);
  }
  /// Ring::is_done() for Doorbells::wait(): sequentially consistent.
  bool is_done_ordered(std::uint64_t begin) const noexcept;
  /// Every worker leaves at its next task boundary.
  void stop();
  /// Counts traced tasks that will be published next. It is in one order with
  /// the watchdog's flag: a thread that clears the flag later sees them in
  /// has_traced().
  void expect_traced(std::uint32_t tasks) noexcept {
    traced_pending.fetch_add(tasks, std::memory_order_seq_cst);
  }
  /// Returns whether traced tasks are pending.
  bool has_traced() const noexcept {
    return traced_pending.load(std::memory_order_seq_cst) != 0;
  }
  /// The slot of a traced task that runs for longer than `limit`.
  std::optional<std::uint32_t> find_overrun(
      std::chrono::milliseconds limit) const;

  /// From the first checked operator on there are faults.
  void make_faults() {
    std::call_once(has_faults_, [this] {
      faults = std::make_unique<abi::Fault[]>(fault_count());
    });
  }
  std::size_t fault_count() const noexcept {
    return std::size_t{abi::kSlots} + ring.capacity();
  }

  std::unique_ptr<abi::Fault[]> faults;
  RingStorage storage;
  std::unique_ptr<abi::Member[]> chain_memory;
  Ring ring;
  OperatorTable table;
  FailureLog failures;
  Doorbells doorbells;
  IdleWorkers idle;
  const std::chrono::nanoseconds linger;
  const std::uint32_t max_polling;  // workers that poll at the same time
  std::vector<WorkerState> states;  // one a worker
  std::unique_ptr<std::atomic<std::uint32_t>[]> counts;  // finished tasks of
                                                         // the batch there
  std::atomic<std::uint64_t> traced_pending{0};
  std::atomic<bool> stopping{false};
  alignas(64) std::atomic<std::uint64_t> published;  // positions before it
  alignas(64) std::atomic<std::uint64_t> ticket;     // next to claim
  std::atomic<bool> awaited{false};  // next to it: claiming threads write it

 private:
  std::once_flag has_faults_;
  bool is_soon_awaited(std::uint64_t end, bool is_little) const noexcept;
};

}  // namespace gpuos::host
