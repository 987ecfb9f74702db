#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/quick_mutex.h"
#include "queue/back_pressure.h"
#include "queue/backend.h"
#include "queue/call.h"
#include "queue/chains.h"
#include "queue/dependency_tracker.h"
#include "queue/fault_table.h"
#include "queue/submission.h"
#include "queue/task_writer.h"

namespace gpuos {

/// Orders checked calls and writes them to a ring. The DependencyTracker finds
/// their dependencies, Chains combines dependent calls for one worker, a
/// BackPressure waits for space, and task_writer.h writes the descriptors.
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
  bool wait(const BatchRef& batch, std::uint64_t end, Deadline deadline) {
    return back_pressure_.wait(batch, end, deadline);
  }

  program::Load load() const noexcept { return newest_.load(traits_.rings); }
  std::uint32_t runtime_id() const noexcept { return runtime_id_; }
  const SubmitCounts& counts() const noexcept { return counts_; }
  FaultTable& faults() noexcept { return faults_; }

 private:
  /// Keeps others from queueing anything between the parts of one submission,
  /// whose positions follow each other. The lock is held when it is made and
  /// destroyed, and may be open in between.
  class Unfinished {
   public:
    explicit Unfinished(Submitter& submitter) : submitter_(submitter) {
      submitter_.is_unfinished_ = true;
    }
    ~Unfinished() {
      submitter_.is_unfinished_ = false;
      submitter_.finished_.notify_all();
    }
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;

   private:
    Submitter& submitter_;
  };

  /// The lock, at a moment when no submission is unfinished. Each part of one
  /// waits for room until a deadline, so that moment comes.
  [[gnu::always_inline]] std::unique_lock<QuickMutex> lock_between() {
    std::unique_lock lock(mutex_);
    if (is_unfinished_) [[unlikely]]
      finished_.wait(lock, [this] { return !is_unfinished_; });
    return lock;
  }

  // For all that follows the lock is held.

  /// Returns the route of `call`. Throws: QueueClosed, InvalidArgument,
  /// TaskError.
  Route admit(Call& call, const Stream& stream) {
    if (is_closed_) [[unlikely]]
      refuse_closed(call);
    // The operator that was read before the lock may be dropped by now.
    resolve(call);
    return backend_.route(stream);
  }
  [[noreturn]] static void refuse_closed(const Call& call);
  /// Throws: InvalidArgument.
  void check_memory(const Call& call);
  /// Order and room for `tasks` tasks of `call`, which was admitted. The lock
  /// is not held while it waits. Throws: Timeout, QueueClosed, TaskError.
  Place acquire(std::unique_lock<QuickMutex>& lock, Call& call,
                const Stream& stream, std::uint32_t tasks,
                Submission& submission);
  /// Finds a place without waiting. It is empty if `blocker` must be done
  /// first.
  std::optional<Place> place_for(const Call& call,
                                 const HazardTable::Conflicts* conflicts,
                                 std::uint32_t tasks, Submission& submission,
                                 BatchRef& blocker);
  /// BackPressure for the next tasks of the same submission.
  Place acquire_next(std::unique_lock<QuickMutex>& lock, const Call& call,
                     std::uint32_t tasks, const Submission& submission,
                     std::uint64_t group);
  /// Records the memory of the tasks at `place`.
  void note(const Call& call, const Submission& submission, const Place& place);
  // Fills tickets in place. A copy of data that was just written in parts would
  // make the processor wait for all earlier stores.
  static void fill(Ticket& ticket, const Submission& submission,
                   const Place& place, std::uint64_t tasks);
  void write(Call& call, const Cut& cut, const Place& place,
             const Submission& submission, Ticket& ticket);
  /// Prepares a call before its descriptors are written. Registers a whole
  /// operator with the watchdog, and adds the words of a checked one after its
  /// arguments.
  void watch(Call& call, const Submission& submission, const Place& place,
             std::uint32_t tasks) {
    if (!call.op->is_traced.load(std::memory_order_relaxed)) return;
    if (call.op->is_checked.load(std::memory_order_relaxed))
      faults_.attach(call, submission.route, place.batch_begin,
                     place.first + tasks, false);
    backend_.watch(submission.route, place, tasks, call.op->name);
  }

  Backend& backend_;
  const Traits& traits_;
  QuickMutex& mutex_;
  const std::uint32_t runtime_id_;
  SubmitCounts counts_;
  DependencyTracker dependencies_;
  Chains chains_;
  BackPressure back_pressure_;
  FaultTable faults_;
  NewestBatch newest_;
  std::vector<Cut> cuts_;         // of the calls of submit_independent()
  std::vector<Access> accesses_;  // the same
  bool is_closed_ = false;
  bool is_unfinished_ = false;  // under the lock
  std::condition_variable_any finished_;
};

}  // namespace gpuos
