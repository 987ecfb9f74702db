#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/quick_mutex.h"
#include "queue/backend.h"
#include "queue/call.h"
#include "queue/chain_rows.h"
#include "queue/task_writer.h"

namespace gpuos {

/// Puts checked calls in order and writes them to a ring.
///
/// Threads: any. The submit lock is shared by producers and by the backend's
/// control thread, never by a worker.
class Submitter {
 public:
  Submitter(Backend& backend, QuickMutex& submit_mutex,
            const RuntimeOptions& options, std::uint32_t runtime_id);

  Ticket submit(Call& call, const Stream& stream);
  /// The same if nothing must be waited for: no lock that another thread
  /// holds, no room, no driver. False: nothing was queued.
  bool try_submit(Call& call, const Stream& stream, Ticket& ticket);
  Ticket submit_many(ManyCall& call, const ManyTasks& many,
                     const Stream& stream);
  /// Queues calls of which none meets another, in one go and without a wait;
  /// what each touches is noted on its own. False: nothing was queued, and
  /// submit() will do it one by one. Throws: as submit(), but never Timeout.
  bool submit_apart(std::span<Call> calls, const Stream& stream);

  void flush(const Stream* only);
  /// The newest position of each ring.
  std::vector<std::uint64_t> heads();
  /// Lets each ring forget what is done.
  void advance();
  /// The same; returns whether `marks` are passed.
  bool is_past(std::span<const std::uint64_t> marks, BatchRef* oldest);
  /// Pending batches that meet `access`, at most kMaxConflicts of them; `end`
  /// is one past the last place of all.
  HazardTable::Conflicts pending(const Access& access, std::uint64_t& end);
  void ensure_running(const BatchRef& batch);

  /// Later submissions throw QueueClosed.
  void close();

  /// Waits for one batch, without a lock. Tasks before `end` must run before
  /// the caller can go on, and it may run them itself. False: the deadline
  /// passed first.
  /// Throws: TaskError if the backend is dead, not if the batch failed.
  bool wait(const BatchRef& batch, std::uint64_t end, Deadline deadline);

  /// Whether what was submitted last is done. May be wrong a moment later.
  bool is_idle() const noexcept;
  /// Whether many tasks have collected behind a flush that is not done. Few may
  /// wait for it because they need it, and then want to be done soon. The same.
  bool has_backlog() const noexcept;

  std::uint32_t runtime_id() const noexcept { return runtime_id_; }
  std::uint64_t tasks_submitted() const noexcept { return tasks_; }
  std::uint64_t batches_submitted() const noexcept { return batches_; }
  std::uint64_t tasks_ordered() const noexcept { return ordered_; }
  std::uint64_t tasks_chained() const noexcept { return chained_; }
  std::uint64_t chains() const noexcept { return chains_; }

 private:
  /// Elements of a member of an open chain. Workers leave, for a load, only
  /// behind a whole chain; larger tasks gain little by it.
  static constexpr std::uint64_t kMostElems = 8192;

  static constexpr std::uint64_t kNoBatch = ~std::uint64_t{0};
  static constexpr std::uint64_t kRoom = 1024;  // places

  /// What the tasks of one submission have in common.
  struct Plan {
    Route route;
    std::optional<std::uint64_t> after;  // where the batch to wait for begins
    bool is_single = false;              // one task of one descriptor
    bool is_many = false;                // of submit_many()
    bool is_chained = false;             // it is a member of a chain already
  };

  /// What became of a task that might follow another one in its worker.
  enum class Followed : std::uint8_t {
    Yes,     // it is a member of a chain
    No,      // it cannot be one
    Blocked  // something must be done first
  };

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

  Cut cut(const Call& call) const;
  // Tickets are filled in where they lie: to copy what was just written in
  // parts makes the processor wait until all stores before it are done.
  static void fill(Ticket& ticket, const Plan& plan, const Place& place,
                   std::uint64_t tasks);
  void write(const Call& call, const Cut& cut, const Place& place,
             const Plan& plan, Ticket& ticket);

  /// Where `call` goes. The lock is held. Throws: QueueClosed,
  /// InvalidArgument, TaskError.
  Route admit(Call& call, const Stream& stream) {
    if (is_closed_) [[unlikely]]
      refuse_closed(call);
    // What was read before the lock may be dropped by now.
    resolve(call);
    return backend_.route(stream);
  }
  [[noreturn]] static void refuse_closed(const Call& call);
  /// Order and room for `tasks` tasks of `call`, which was admitted. The lock
  /// is held, but not while it waits. Throws: Timeout, QueueClosed, TaskError.
  Place acquire(std::unique_lock<QuickMutex>& lock, Call& call,
                const Stream& stream, std::uint32_t tasks, Plan& plan);
  /// The same in one go, the lock being held. Empty: `blocker` must be done
  /// first.
  std::optional<Place> place_for(const Call& call,
                                 const HazardTable::Conflicts* conflicts,
                                 std::uint32_t tasks, Plan& plan,
                                 BatchRef& blocker);
  /// Whether the task may be a member of a chain.
  static bool may_follow(const Call& call, const Plan& plan) {
    return plan.is_single &&
           !call.op->is_traced.load(std::memory_order_relaxed) &&
           (plan.route.ring != kChainRing || call.count <= kMostElems);
  }
  /// Puts a task that meets others into a chain with them, if it can be a
  /// member: it stands at `place` then.
  Followed follow(const Call& call, const HazardTable::Conflicts& conflicts,
                  Plan& plan, Place& place, BatchRef& blocker);
  /// The same for one that may and touches only what members of one chain do.
  /// False: it touches something else, or the chain is closed.
  bool follow_row(const Call& call, const Route& route, Ticket& ticket);
  /// The record that the call takes in the chain at `position`; 0: the chain is
  /// closed or full.
  std::uint32_t add_to_open(const Call& call, std::uint64_t position);
  std::uint32_t add_to_flush(const Call& call, const Route& route,
                             const ChainRows::Row& row);
  /// The record behind `records` of a flush's chain that a member with so many
  /// arguments takes; 0: the chain is full.
  std::uint32_t find_room(const Route& route, const BatchRef& flush,
                          abi::Member* block, std::uint32_t records,
                          std::uint32_t args);
  void count_member() noexcept {
    count(ordered_, 1);
    count(chained_, 1);
  }
  bool grow_chain(const Call& call, const HazardTable::Conflicts& conflicts,
                  Place& place);
  Followed open_chain(const Call& call, const HazardTable::Conflicts& conflicts,
                      const Plan& plan, Place& place, BatchRef& blocker);
  Followed follow_in_flush(const Call& call,
                           const HazardTable::Conflicts& conflicts,
                           const Plan& plan, Place& place, BatchRef& blocker);
  /// Closes the chains among them, which later tasks wait for.
  void close_chains(const HazardTable::Conflicts& conflicts);
  /// Notes what the tasks at `place` touch.
  void note(const Call& call, const Plan& plan, const Place& place);
  /// Writes calls that got places from `place` on.
  void write_apart(std::span<const Call> calls, const Place& place,
                   const Plan& plan);
  /// Room for the next tasks of the same submission.
  Place acquire_next(std::unique_lock<QuickMutex>& lock, const Call& call,
                     std::uint32_t tasks, const Plan& plan,
                     std::uint64_t group);
  /// The lock, at a moment when no submission is unfinished. Each part of one
  /// waits for room until a deadline, so that moment comes.
  [[gnu::always_inline]] std::unique_lock<QuickMutex> lock_between() {
    std::unique_lock lock(mutex_);
    if (is_unfinished_) [[unlikely]]
      finished_.wait(lock, [this] { return !is_unfinished_; });
    return lock;
  }
  /// What the tasks must come after; null, as usual: nothing. Until the lock is
  /// given back or somebody calls it again.
  const HazardTable::Conflicts* find_conflicts(
      std::span<const Access> accesses);
  /// Puts the conflicts' batches before the tasks. False: `blocker` must be
  /// done first.
  bool put_in_order(const HazardTable::Conflicts& conflicts, Plan& plan,
                    BatchRef& blocker);
  /// Throws: InvalidArgument.
  void check_memory(const Call& call);
  /// The batch that a task ordered so must name. False: no room for a join.
  bool join(const Order& order, Plan& plan);
  void wait_unlocked(std::unique_lock<QuickMutex>& lock, const Call& call,
                     const BatchRef& batch, Deadline deadline);
  /// wait(), which Interrupt ends too. Throws: Cancelled.
  bool wait_for_room(const Call& call, const BatchRef& batch, std::uint64_t end,
                     Deadline deadline);
  /// `queued`: tasks of the same submission that went before.
  [[noreturn]] void time_out(const Call& call, std::uint64_t queued) const;
  BatchRef oldest_of(std::uint32_t ring) const;
  /// Where tasks end that the caller may run while it waits for `batch`: room
  /// is made for many submissions, or each of them would meet a full queue.
  std::uint64_t end_for_room(const BatchRef& batch) const;

  /// What was submitted last, for is_idle() and has_backlog().
  void note_newest(std::uint32_t ring, std::uint64_t batch) noexcept {
    constexpr auto kRelaxed = std::memory_order_relaxed;
    const std::uint64_t before = newest_batch_.load(kRelaxed);
    const bool is_same_ring = newest_ring_.load(kRelaxed) == ring;
    if (is_same_ring && before == batch) return;
    batch_before_.store(is_same_ring ? before : kNoBatch, kRelaxed);
    newest_ring_.store(ring, kRelaxed);
    newest_batch_.store(batch, kRelaxed);
  }
  /// Written under the submit lock, read without it.
  static void count(std::atomic<std::uint64_t>& counter,
                    std::uint64_t by) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + by,
                  std::memory_order_relaxed);
  }

  Backend& backend_;
  QuickMutex& mutex_;
  std::chrono::milliseconds timeout_;
  std::uint32_t runtime_id_;
  std::uint64_t min_tile_;
  bool interleaves_;
  std::vector<Ring*> rings_;
  HazardTable hazards_;
  HazardTable::Conflicts conflicts_;  // of the newest submission
  ChainRows rows_;
  std::vector<Cut> cuts_;         // of the calls of submit_apart()
  std::vector<Access> accesses_;  // the same
  bool is_closed_ = false;
  bool is_unfinished_ = false;  // under the lock
  std::condition_variable_any finished_;
  std::atomic<std::uint32_t> newest_ring_{0};
  std::atomic<std::uint64_t> newest_batch_{0};
  std::atomic<std::uint64_t> batch_before_{kNoBatch};  // of the same ring
  std::atomic<std::uint64_t> tasks_{0};
  std::atomic<std::uint64_t> batches_{0};
  std::atomic<std::uint64_t> ordered_{0};
  std::atomic<std::uint64_t> chained_{0};
  std::atomic<std::uint64_t> chains_{0};
};

}  // namespace gpuos
