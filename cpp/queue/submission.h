#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "gpuos/error.h"
#include "queue/submitter.h"
#include "queue/task_writer.h"

namespace gpuos {

/// One submission, in four steps. order() puts its tasks after those that they
/// meet, place() takes places of a ring, write() writes descriptors there, and
/// publish() shows them to the workers. A member of a chain has its place after
/// the first step, and needs no descriptor.
///
/// Threads: the submit lock.
class Submitter::Submission {
 public:
  /// Returns the route of `call`.
  /// Throws: QueueClosed, InvalidArgument, TaskError.
  static Route admit(Submitter& of, Call& call, const Stream& stream) {
    if (of.is_closed_) [[unlikely]]
      throw QueueClosed(call.op->name + ": the runtime is closed");
    // The operator that was read before the lock may be dropped by now.
    resolve(call);
    return of.backend_.route(stream);
  }

  /// `is_single`: it is one task of one descriptor. `may_follow`: and it may
  /// become a member of a chain.
  Submission(Submitter& of, const Route& route, bool is_single = false,
             bool may_follow = false)
      : of_(of),
        is_single_(is_single),
        may_follow_(may_follow),
        route_(route) {}

  /// Orders a call of `tasks` descriptors. Returns false if blocker_ must be
  /// done first. Without `may_wait` it also returns false if another thread
  /// must be woken or the driver must be called.
  /// Throws: InvalidArgument.
  bool order(const Call& call, std::uint32_t tasks, bool may_wait);
  /// Orders `calls` calls after all that they meet. Returns false if blocker_
  /// must be done first.
  bool order_after(const HazardTable::Conflicts& met, std::size_t calls);

  /// Takes places for `tasks` descriptors, whose calls have `accesses`
  /// accesses. Returns false if blocker_ must be done first.
  [[gnu::always_inline]] bool place(std::uint32_t tasks, std::size_t accesses) {
    tasks_ = tasks;
    if (is_member_) return true;
    if (!has_room(accesses)) return false;
    const auto place = of_.backend_.reserve(route_, tasks);
    if (place)
      place_ = *place;
    else
      blocker_ = oldest_of(of_.traits_.rings, route_.ring);
    return place.has_value();
  }

  /// Writes a call to the next of the places, and notes its memory. `group`:
  /// see HazardTable::add().
  void write(Call& call, const Cut& cut,
             std::uint64_t group = HazardTable::kAlone) {
    if (call.op->is_traced.load(std::memory_order_relaxed)) {
      if (call.op->is_checked.load(std::memory_order_relaxed))
        attach_fault(call, cut.total, false);
      of_.backend_.watch(route_, place_, cut.total, call.op->name);
    }
    if (is_member_) return;
    const bool may_follow =
        is_single_ ? may_follow_
                   : cut.total == 1 && Chains::may_follow(call, route_);
    note(call, group, may_follow ? place_.first : HazardTable::kNoPosition);
    if (cut.total != tasks_) place_.is_alone = false;
    write_task(ring(), place_, after_, call, cut,
               of_.traits_.interleaves_tiles);
    place_.first += cut.total;
  }
  /// Writes the next of many tasks to the places. The first of them begin at
  /// `group`.
  void write(const Call& call, TaskWriter& writer, std::uint64_t group) {
    if (call.op->is_traced.load(std::memory_order_relaxed))
      of_.backend_.watch(route_, place_, tasks_, call.op->name);
    note(call, group, HazardTable::kNoPosition);
    // A batch that is done may be out of the reach of later tasks.
    if (after_ && ring().is_done(*after_)) after_.reset();
    writer.write(ring(), place_, tasks_, after_);
    place_.first += tasks_;
    queued_ += tasks_;
    deadline_.reset();
  }
  /// Makes the tasks of a checked operator report their faults.
  void attach_fault(Call& call, std::uint64_t tasks, bool is_many) {
    of_.faults_.attach(call, route_, place_.batch_begin, place_.first + tasks,
                       is_many);
  }

  /// Shows all that was written to the workers.
  [[gnu::always_inline]] void publish() {
    Submitter& of = of_;
    SubmitCounts::add(of.counts_.tasks, tasks_);
    SubmitCounts::add(of.counts_.batches, 1);
    if (is_member_) return;
    if (ordered_ != 0) SubmitCounts::add(of.counts_.ordered, ordered_);
    ordered_ = 0;
    const std::uint64_t next = place_.first;
    place_.first -= tasks_;
    of.backend_.publish(route_, place_, tasks_);
    of.newest_.note(route_.ring, place_.batch_begin);
    // The next call is likely to be like this one.
    constexpr std::uint32_t kFewTiles = 8;
    if (tasks_ <= kFewTiles)
      of.traits_.rings[route_.ring]->prefetch(next, tasks_);
  }

  // Fills tickets in place. A copy of data that was just written in parts would
  // make the processor wait for all earlier stores.
  void fill(Ticket& ticket, std::uint64_t tasks) const noexcept {
    ticket.begin = place_.batch_begin;
    ticket.end = place_.first + tasks;
    ticket.ring = static_cast<std::uint16_t>(route_.ring);
    ticket.member = static_cast<std::uint16_t>(place_.member);
  }

  /// Releases the lock until blocker_ is done, and begins again.
  /// Throws: Timeout, Cancelled, QueueClosed, InvalidArgument, TaskError.
  void wait(std::unique_lock<QuickMutex>& lock, Call& call,
            const Stream& stream);
  /// Returns the next place, after place().
  std::uint64_t first() const noexcept { return place_.first; }
  /// The tasks of submit_many() that were written.
  std::uint64_t queued() const noexcept { return queued_; }

 private:
  Ring& ring() const noexcept { return *of_.traits_.rings[route_.ring]; }
  bool has_room(std::size_t accesses) {
    if (of_.dependencies_.has_room(accesses)) return true;
    blocker_ = of_.dependencies_.oldest();
    return false;
  }
  /// Throws: InvalidArgument.
  void check_memory(const Call& call) const;
  /// Makes the tasks come after several batches. Returns false if the ring is
  /// full.
  bool join(const Order& order);
  void note(const Call& call, std::uint64_t group, std::uint64_t position) {
    of_.dependencies_.add(call.access_view(),
                          {route_.ring, place_.batch_begin, route_.stream},
                          group, position);
  }

  Submitter& of_;
  const bool is_single_;
  bool may_follow_;
  bool is_member_ = false;
  Route route_;
  std::optional<std::uint64_t> after_;  // where the batch to wait for begins
  Place place_;
  std::uint32_t tasks_ = 0;    // descriptors at the place
  std::uint64_t ordered_ = 0;  // calls that met others and were not counted
  std::uint64_t queued_ = 0;
  BatchRef blocker_;                  // must be done before the next step
  std::optional<Deadline> deadline_;  // of the wait for it
};

}  // namespace gpuos
