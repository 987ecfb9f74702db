#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "base/quick_mutex.h"
#include "queue/backend.h"
#include "queue/call.h"
#include "queue/chains.h"
#include "queue/dependency_tracker.h"
#include "queue/fault_table.h"
#include "queue/submit_counts.h"

namespace gpuos {

/// Orders checked calls and writes them to a ring. Each of them is a Submission
/// (submission.h).
///
/// Threads: any. Producers and the backend's control thread share the submit
/// lock. Workers never take it.
class Submitter {
 public:
  Submitter(Backend& backend, QuickMutex& submit_mutex,
            const RuntimeOptions& options, std::uint32_t runtime_id);

  Ticket submit(Call& call, const Stream& stream);
  /// Submits if it need not wait for a lock of another thread, for room or for
  /// the driver. Returns false if nothing was queued.
  bool try_submit(Call& call, const Stream& stream, Ticket& ticket);
  Ticket submit_many(ManyCall& call, const ManyTasks& many,
                     const Stream& stream);
  /// Queues independent calls together and without a wait. The memory of each
  /// call is recorded separately. Returns false if nothing was queued, and the
  /// caller should submit() them one by one. Throws: as submit(), but never
  /// Timeout.
  bool submit_independent(std::span<Call> calls, const Stream& stream);

  /// Calls `change` while nothing is being submitted.
  void exclusively(const std::function<void()>& change);
  void flush(const Stream* only);
  /// The newest position of each ring.
  std::vector<std::uint64_t> heads();
  /// Makes each ring forget finished tasks.
  void advance();
  /// Returns whether `marks` are passed.
  bool is_past(std::span<const std::uint64_t> marks, BatchRef* oldest);
  /// Returns pending batches that meet `access`, at most kMaxConflicts of them.
  /// `end` is one past the last place of all.
  HazardTable::Conflicts pending(const Access& access, std::uint64_t& end);
  void ensure_running(const BatchRef& batch);

  /// Later submissions throw QueueClosed.
  void close();

  /// Waits for one batch, without a lock. Tasks before `end` must run before
  /// the caller can continue, and it may run them itself. Returns false if the
  /// deadline passed first.
  /// Throws: TaskError if the backend is dead, not if the batch failed.
  bool wait(const BatchRef& batch, std::uint64_t end, Deadline deadline);

  program::Load load() const noexcept { return newest_.load(traits_.rings); }
  std::uint32_t runtime_id() const noexcept { return runtime_id_; }
  const SubmitCounts& counts() const noexcept { return counts_; }
  FaultTable& faults() noexcept { return faults_; }

 private:
  class Submission;
  class Unfinished;

  /// The lock, at a moment when no submission is unfinished. Each part of one
  /// waits for room until a deadline, so that moment comes.
  [[gnu::always_inline]] std::unique_lock<QuickMutex> lock_between() {
    std::unique_lock lock(mutex_);
    if (is_unfinished_) [[unlikely]]
      finished_.wait(lock, [this] { return !is_unfinished_; });
    return lock;
  }

  /// submit(), and try_submit() without `may_wait`.
  bool submit_one(Call& call, const Stream& stream, Ticket& ticket,
                  bool may_wait);
  /// Releases the lock, and waits until `blocker` is done. `queued`: tasks of
  /// the same submission that went before.
  /// Throws: Timeout, Cancelled, TaskError.
  void wait_for_room(std::unique_lock<QuickMutex>& lock, const Call& call,
                     const BatchRef& blocker, std::uint64_t queued,
                     Deadline deadline);

  Backend& backend_;
  const Traits& traits_;
  QuickMutex& mutex_;
  const std::uint32_t runtime_id_;
  SubmitCounts counts_;
  DependencyTracker dependencies_;
  Chains chains_;
  const std::chrono::milliseconds timeout_;  // of a full queue
  FaultTable faults_;
  NewestBatch newest_;
  std::vector<Access> accesses_;  // of the calls of submit_independent()
  bool is_closed_ = false;
  bool is_unfinished_ = false;  // under the lock
  std::condition_variable_any finished_;
};

}  // namespace gpuos
