#include "host/shared.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <system_error>

#include "base/concat.h"
#include "base/cpu_relax.h"
#include "base/quiet_thread.h"
#include "device/fault.h"
#include "gpuos/error.h"
#include "host/usual_floats.h"

namespace gpuos::host {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMaxClaim = 16;  // tasks claimed at a time
// A short task is over before a sleeping worker could have been woken.
constexpr std::uint32_t kShortElems = 8192;
// This many tasks, however short, are worth another worker.
constexpr std::uint64_t kManyTasks = 128;
constexpr int kPausesPerLook = 4;
constexpr int kLooksBeforeYield = 8;
constexpr int kDependencyLooks = 256;  // before the wait is a long one
constexpr auto kNap = std::chrono::milliseconds(10);

struct Claim {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t left = 0;  // published tasks after it
};

class Worker {
 public:
  /// `state`: null for a thread that waits, and runs tasks meanwhile.
  Worker(Shared& shared, WorkerState* state) : shared_(shared), state_(state) {}

  void run() {
    const UsualFloats floats;  // a thread begins with its maker's
    while (!is_stopping()) {
      const Claim claim = claim_tasks();
      if (claim.begin == claim.end) {
        idle();
      } else {
        if (is_polling_) stop_polling();
        shared_.note_awaited(false);
        run_claimed(claim);
      }
    }
  }

  bool help(std::uint64_t end, Clock::time_point deadline) {
    const UsualFloats floats;  // the caller may have others
    bool has_helped = false;
    while (!is_stopping()) {
      const Claim claim = claim_tasks(end);
      if (claim.begin == claim.end) break;
      shared_.note_awaited(true);
      run_claimed(claim);
      has_helped = true;
      // A look at the clock costs as much as a small task.
      if (claim.end == end || Clock::now() >= deadline) break;
    }
    // Its last task may have made others ready, which it leaves to workers.
    if (has_helped && shared_.has_ready_work()) shared_.idle.announce();
    return has_helped;
  }

 private:
  bool is_waiter() const noexcept { return state_ == nullptr; }
  bool is_stopping() const noexcept {
    return shared_.stopping.load(std::memory_order_relaxed);
  }

  // Tasks of one claim run one after another, so a claim is a small share of
  // the available tasks.
  Claim claim_tasks(std::uint64_t before = ~std::uint64_t{0}) {
    const std::uint64_t shares = 4 * shared_.states.size();
    std::uint64_t begin = shared_.ticket.load(std::memory_order_relaxed);
    for (;;) {
      // Pairs with the store in Shared::publish(). After it, publish() looks at
      // batches that this thread may have finished.
      const std::uint64_t end =
          std::min(before, shared_.published.load(std::memory_order_seq_cst));
      if (begin >= end || !shared_.is_ready(begin)) return {};
      // A traced task may have no end, and a waiter has a deadline. None is
      // among those before `end`, nor is one waited for, if none is pending
      // after the look at `published`.
      if (is_waiter() && shared_.has_traced()) return {};
      const std::uint64_t count =
          std::clamp<std::uint64_t>((end - begin) / shares, 1, kMaxClaim);
      // The ticket carries no data. The descriptors came with `published`.
      if (shared_.ticket.compare_exchange_weak(begin, begin + count,
                                               std::memory_order_relaxed))
        return {begin, begin + count, end - begin - count};
    }
  }

  void idle() {
    if (!is_polling_) {
      is_polling_ = true;
      looks_ = 0;
      idle_since_ = Clock::now();
      is_crowded_ = shared_.idle.begin_polling() > shared_.max_polling;
    }
    if (!is_crowded_ && ++looks_ < kLooksBeforeYield) {
      for (int i = 0; i < kPausesPerLook; ++i) cpu_relax();
    } else if (!is_crowded_ && Clock::now() - idle_since_ < shared_.linger) {
      // The submitting or waiting thread may be on this processor.
      sched_yield();
    } else {
      stop_polling();
      shared_.idle.sleep(
          [this] { return shared_.has_ready_work() || is_stopping(); });
    }
  }

  void stop_polling() {
    is_polling_ = false;
    shared_.idle.end_polling();
  }

  void run_claimed(const Claim& claim) {
    if (claim.left >= kManyTasks && shared_.max_polling != 0)
      shared_.idle.wake_one();
    for (std::uint64_t position = claim.begin; position != claim.end;
         ++position) {
      // The rest of the claim is dropped, see HostBackend::drop_pending().
      if (is_stopping()) return;
      const abi::Payload payload =
          read_payload(shared_.ring.descriptor(position));
      const std::uint64_t begin = position - payload.batch_offset;
      if (begin != batch_begin_) finish_batch();
      batch_begin_ = begin;
      batch_size_ = payload.batch_size;
      // A task that is cut into tiles is worth several workers.
      if (claim.left != 0 && payload.parts > 1 && !(payload.flags & abi::kJoin))
        shared_.idle.wake_for(claim.left, shared_.max_polling);
      if (!await_batches(payload, position)) return;
      if (abi::is_chain(payload.flags)) {
        if (!run_chain(payload, position)) return;
      } else if (!(payload.flags & abi::kJoin)) {
        run_task(payload, position);
      }
      ++finished_;
    }
    finish_batch();
  }

  // Counts all tasks of one batch that this worker ran, in one step.
  void finish_batch() {
    const std::uint32_t finished = finished_;
    if (finished == 0) return;
    finished_ = 0;
    const std::uint32_t place = shared_.ring.place_of(batch_begin_);
    if (finished != batch_size_) {
      // Acquires what the batch's other workers wrote and releases it again.
      std::atomic<std::uint32_t>& count = shared_.counts[place];
      const std::uint32_t before =
          count.fetch_add(finished, std::memory_order_acq_rel);
      if (before + finished != batch_size_) return;
      // No thread counts here before the batch is seen done.
      count.store(0, std::memory_order_relaxed);
    }
    // Pairs with the acquire load in Ring::is_done() and, for sleepers, with
    // the one in BatchWaiters::wait().
    std::atomic_ref(shared_.storage.memory().done[place])
        .store(shared_.ring.tag_of(batch_begin_), std::memory_order_seq_cst);
    shared_.waiters.ring(batch_begin_);
  }

  bool await_batches(const abi::Payload& payload, std::uint64_t position) {
    if (payload.flags & abi::kJoin) {
      u16 distances[abi::kMaxJoined];
      std::memcpy(distances, payload.args, sizeof(distances));
      for (u32 i = 0; i < payload.parts; ++i) {
        if (!await_batch(position - distances[i])) return false;
      }
      return true;
    }
    return payload.wait_distance == 0 ||
           await_batch(position - payload.wait_distance);
  }

  // Claims are in order and only earlier batches are waited for, so some worker
  // can always continue. Returns false if the worker must leave.
  bool await_batch(std::uint64_t begin) {
    for (int look = 0; look < kDependencyLooks; ++look) {
      if (shared_.ring.is_done(begin)) return true;
      cpu_relax();
    }
    turn_away();
    while (!shared_.ring.is_done(begin) &&
           !shared_.stopping.load(std::memory_order_relaxed)) {
      shared_.waiters.wait(begin, Clock::now() + kNap,
                           [&] { return shared_.is_done_ordered(begin); });
    }
    turn_back();
    return !shared_.stopping.load(std::memory_order_relaxed);
  }

  // A waiter does not count as a polling worker.
  void turn_away() {
    if (is_waiter()) return;
    shared_.idle.turn_away();
    if (shared_.has_ready_work()) shared_.idle.announce();
  }

  void turn_back() {
    if (!is_waiter()) shared_.idle.turn_back();
  }

  void run_task(const abi::Payload& payload, std::uint64_t position) {
    const bool is_traced = payload.flags & abi::kTraced;
    const bool may_be_long = is_traced || payload.count > kShortElems;
    if (may_be_long) turn_away();
    const u64* args = shared_.ring.args_of(position, payload);
    const Lane lane{static_cast<u32>(payload.flags >> abi::kTileShift),
                    payload.parts == 0 ? u32{1} : payload.parts};
    if (is_traced) {
      const UsualFloats floats;  // the task may change them for the next one
      begin_traced(payload.op, position);
      call_operator(payload.op, args, payload.count, lane, position);
      end_traced();
    } else {
      call_operator(payload.op, args, payload.count, lane, position);
    }
    if (may_be_long) turn_back();
  }

  /// False: the workers stop, and the chain has not ended.
  bool run_chain(const abi::Payload& payload, std::uint64_t position) {
    turn_away();
    const auto* members =
        reinterpret_cast<const abi::Member*>(payload.args[abi::kChainBlock]);
    for (u32 i = 0; i < payload.count;) {
      if (is_stopping()) return false;
      const abi::Member& member = members[i];
      if (member.op == abi::kGap) {
        i = abi::next_piece(i);
        continue;
      }
      call_operator(member.op, member.args, member.count, Lane{}, position);
      i += abi::chain_records(member.arg_count);
    }
    turn_back();
    return true;
  }

  void call_operator(std::uint32_t slot, const u64* args, u32 count, Lane lane,
                     std::uint64_t position) {
    const OpFn function = shared_.table.function(slot);
    try {
      function(Task{args, nullptr, count}, lane);
    } catch (const AssertFailure& failure) {
      fail_assert(slot, failure);
    } catch (const std::exception& error) {
      fail(slot, position, error.what());
    } catch (...) {
      fail(slot, position, "an exception of unknown type");
    }
  }

  void begin_traced(std::uint32_t slot, std::uint64_t position) {
    const RingMemory memory = shared_.storage.memory();
    std::atomic_ref(memory.started[shared_.ring.place_of(position)])
        .store(abi::started_word(shared_.ring.tag_of(position), 0),
               std::memory_order_relaxed);
    state_->begin_traced(slot);
  }

  void end_traced() {
    state_->end_traced();
    shared_.traced_pending.fetch_sub(1, std::memory_order_relaxed);
  }

  void fail_assert(std::uint32_t slot, const AssertFailure& failure) {
    const std::string name = shared_.table.name(slot);
    shared_.failures.add(
        batch_begin_, name,
        concat("operator '", name, "': assertion '", failure.text,
               "' failed (line ", failure.line, " of its source)"));
  }

  void fail(std::uint32_t slot, std::uint64_t position, const char* what) {
    const std::string name = shared_.table.name(slot);
    shared_.failures.add(
        batch_begin_, name,
        concat(name, ": the task at position ", position, " threw: ", what));
  }

  Shared& shared_;
  WorkerState* state_;
  bool is_polling_ = false;
  bool is_crowded_ = false;
  int looks_ = 0;
  Clock::time_point idle_since_;
  std::uint64_t batch_begin_ = 0;  // of the tasks that are not counted yet
  std::uint32_t batch_size_ = 0;
  std::uint32_t finished_ = 0;
};

}  // namespace

void run_worker(Shared& shared, std::uint32_t index) {
  Worker(shared, &shared.states[index]).run();
}

bool help(Shared& shared, std::uint64_t end, Clock::time_point deadline) {
  // The usual case: a worker has them.
  if (shared.ticket.load(std::memory_order_relaxed) >= end) return false;
  return Worker(shared, nullptr).help(end, deadline);
}

WorkerThreads::WorkerThreads(const std::shared_ptr<Shared>& shared)
    : shared_(shared), exits_(std::make_shared<Exits>()) {
  const auto count = static_cast<std::uint32_t>(shared->states.size());
  exits_->has_left.resize(count);
  threads_.reserve(count);
  try {
    for (std::uint32_t i = 0; i < count; ++i) start(i);
  } catch (const std::system_error& error) {
    const std::size_t started = threads_.size();
    stop(std::chrono::seconds(10));
    throw BackendUnavailable(concat("host: expected to start ", count,
                                    " worker threads, got ", started, ": ",
                                    error.what()));
  }
}

void WorkerThreads::start(std::uint32_t index) {
  threads_.push_back(quiet_thread([shared = shared_, exits = exits_, index] {
    pthread_setname_np(pthread_self(), concat("gpuos-", index).c_str());
    run_worker(*shared, index);
    {
      const std::lock_guard lock(exits->mutex);
      exits->has_left[index] = true;
      ++exits->count;
    }
    exits->changed.notify_all();
  }));
}

void WorkerThreads::stop(std::chrono::milliseconds grace) {
  shared_->stop();
  std::vector<bool> has_left;
  {
    std::unique_lock lock(exits_->mutex);
    exits_->changed.wait_for(
        lock, grace, [this] { return exits_->count == threads_.size(); });
    has_left = exits_->has_left;
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (has_left[i]) {
      threads_[i].join();
    } else {
      // It runs an operator that does not end. A thread cannot be killed
      // safely, so it keeps its reference to the shared state.
      threads_[i].detach();
    }
  }
  threads_.clear();
}

}  // namespace gpuos::host
