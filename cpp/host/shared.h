#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/processors.h"
#include "device/fault.h"
#include "device/operator.h"
#include "host/idle_workers.h"
#include "queue/ring.h"

namespace gpuos::host {

/// A list of failed batches. Its size is bounded: it drops the oldest failures.
///
/// Threads: any.
class FailureLog {
 public:
  static constexpr std::size_t kMaxFailures = 4096;

  /// Keeps the first failure of a batch.
  void add(std::uint64_t begin, const std::string& operator_name,
           const std::string& message);

  /// Throws: TaskError if the batch that begins at `begin` failed.
  void check(std::uint64_t begin) {
    if (has_any_.load(std::memory_order_acquire)) throw_if_failed(begin);
  }

  /// Throws: TaskError for the first failure that was not reported. Its message
  /// has the number of the other failures, which count as reported.
  void check_untold();

 private:
  struct Failure {
    std::string operator_name;
    std::string message;
    bool is_told = false;
  };

  void throw_if_failed(std::uint64_t begin);

  std::atomic<bool> has_any_{false};
  std::mutex mutex_;
  std::map<std::uint64_t, Failure> failures_;
};

/// A function that fills a slot.
struct LoadedOperator {
  OpFn function = nullptr;
  std::shared_ptr<const void> owner;  // of `function`
  std::string name;
};

/// Slot -> operator.
///
/// Threads: a slot is set or cleared while no published task uses it, so that
/// workers read it with no lock; the publication orders the two.
class OperatorTable {
 public:
  OpFn function(std::uint32_t slot) const noexcept { return functions_[slot]; }
  void set(std::uint32_t slot, LoadedOperator loaded) {
    functions_[slot] = loaded.function;
    const std::lock_guard lock(mutex_);
    names_[slot] = std::move(loaded.name);
    std::swap(owners_[slot], loaded.owner);
  }
  void clear(std::uint32_t slot) { set(slot, {}); }

  std::string name(std::uint32_t slot) const {
    const std::lock_guard lock(mutex_);
    return names_[slot];
  }

 private:
  std::array<OpFn, abi::kSlots> functions_{};
  mutable std::mutex mutex_;  // names are also read for a stuck operator
  std::array<std::string, abi::kSlots> names_;
  std::array<std::shared_ptr<const void>, abi::kSlots> owners_;
};

/// The memory of one ring in ordinary memory.
class RingStorage {
 public:
  explicit RingStorage(std::uint32_t capacity)
      : descriptors_(new abi::Descriptor[capacity]()),
        arg_blocks_(new abi::ArgBlock[capacity]()),
        done_(new std::uint32_t[capacity]()),
        started_(new std::uint64_t[capacity]()) {}

  RingMemory memory() const noexcept {
    return {descriptors_.get(), arg_blocks_.get(), done_.get(), started_.get()};
  }

 private:
  std::unique_ptr<abi::Descriptor[]> descriptors_;
  std::unique_ptr<abi::ArgBlock[]> arg_blocks_;
  std::unique_ptr<std::uint32_t[]> done_;
  std::unique_ptr<std::uint64_t[]> started_;
};

/// The current task of one worker, for the watchdog.
struct alignas(64) WorkerState {
  void begin_traced(std::uint32_t slot) noexcept;
  void end_traced() noexcept { traced.store(0, std::memory_order_relaxed); }
  /// The slot of a traced task that runs for longer than `limit`.
  std::optional<std::uint32_t> find_overrun(
      std::chrono::milliseconds limit) const noexcept;

  // A traced task: its slot, and 1 + the time when it began. 0 means that none
  // runs.
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
  /// Notes that the task at `position`, which is not published yet, waits for
  /// the batch that began `distance` before it.
  void note_order(std::uint64_t position, std::uint64_t distance) noexcept {
    orders[ring.place_of(position)].store(position << kDistanceBits | distance,
                                          std::memory_order_relaxed);
  }
  /// Returns whether the task at `position` could run at once, as far as
  /// note_order() knows. The thread that runs the batch before it takes it
  /// otherwise: no data moves between processors, and no thread waits.
  bool is_ready(std::uint64_t position) const noexcept;
  /// Returns whether a task is ready that no thread has claimed.
  bool has_ready_work() const noexcept;
  /// Notes whether a thread that waits took the newest tasks, or a worker.
  void note_awaited(bool is) noexcept {
    if (awaited.load(std::memory_order_relaxed) != is)
      awaited.store(is, std::memory_order_relaxed);
  }
  /// Ring::is_done() for BatchWaiters::wait(): sequentially consistent.
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
  BatchWaiters waiters;
  IdleWorkers idle;
  const std::chrono::nanoseconds linger;
  const std::uint32_t max_polling;  // workers that poll at the same time
  std::vector<WorkerState> states;  // one a worker
  std::unique_ptr<std::atomic<std::uint32_t>[]> counts;  // finished tasks of
                                                         // the batch there
  // Each says which position waits there, and the distance to the batch that it
  // waits for. A value of an earlier lap names another position. `published`
  // makes them visible.
  static constexpr unsigned kDistanceBits = 16;
  std::unique_ptr<std::atomic<std::uint64_t>[]> orders;
  std::atomic<std::uint64_t> traced_pending{0};
  std::atomic<bool> stopping{false};
  alignas(64) std::atomic<std::uint64_t> published;  // positions before it
  alignas(64) std::atomic<std::uint64_t> ticket;     // next to claim
  std::atomic<bool> awaited{false};  // next to it: claiming threads write it

 private:
  std::once_flag has_faults_;
  bool is_soon_awaited(std::uint64_t end, bool is_little) const noexcept;
};

/// The loop of one worker thread. It returns after Shared::stop().
void run_worker(Shared& shared, std::uint32_t index);

/// Runs unclaimed tasks at positions before `end`, for which the calling thread
/// waits. Returns when none is left or the deadline has passed. Workers run
/// tasks of whole operators, and all tasks while one of those is pending.
/// Returns whether it ran a task.
bool help(Shared& shared, std::uint64_t end,
          std::chrono::steady_clock::time_point deadline);

/// The threads of one backend.
///
/// Lifetime: stop() before the destructor.
class WorkerThreads {
 public:
  /// One thread for each entry of `shared->states`.
  /// Throws: BackendUnavailable if the system gives fewer.
  explicit WorkerThreads(const std::shared_ptr<Shared>& shared);
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  /// Ends the threads. A thread that does not end within `grace` is abandoned,
  /// with everything that it uses.
  void stop(std::chrono::milliseconds grace);

 private:
  // Outlives this object if a thread does.
  struct Exits {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<bool> has_left;
    std::size_t count = 0;
  };

  void start(std::uint32_t index);

  std::shared_ptr<Shared> shared_;
  std::shared_ptr<Exits> exits_;
  std::vector<std::thread> threads_;
};

}  // namespace gpuos::host
