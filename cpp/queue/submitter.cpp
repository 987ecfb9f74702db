#include "queue/submitter.h"

#include <algorithm>
#include <chrono>

#include "base/concat.h"
#include "gpuos/error.h"
#include "gpuos/interrupt.h"
#include "queue/submission.h"

namespace gpuos {

Submitter::Submitter(Backend& backend, QuickMutex& submit_mutex,
                     const RuntimeOptions& options, std::uint32_t runtime_id)
    : backend_(backend),
      traits_(backend.traits()),
      mutex_(submit_mutex),
      runtime_id_(runtime_id),
      dependencies_(backend),
      chains_(backend, dependencies_, counts_),
      timeout_(options.submit_timeout),
      faults_(backend) {}

/// Keeps others from queueing anything between the parts of one submission,
/// whose positions follow each other. The lock may be open in between.
class Submitter::Unfinished {
 public:
  Unfinished(Submitter& of, std::unique_lock<QuickMutex>& lock)
      : of_(of), lock_(lock) {
    of_.is_unfinished_ = true;
  }
  ~Unfinished() {
    if (!lock_) lock_.lock();
    of_.is_unfinished_ = false;
    of_.finished_.notify_all();
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

 private:
  Submitter& of_;
  std::unique_lock<QuickMutex>& lock_;
};

bool Submitter::submit_one(Call& call, const Stream& stream, Ticket& ticket,
                           bool may_wait) {
  ticket = {.runtime = runtime_id_};
  if (call.count == 0) return true;
  const Cut cut = cut_of(backend_, call);
  std::unique_lock lock =
      may_wait ? lock_between() : std::unique_lock(mutex_, std::try_to_lock);
  if (!lock || is_unfinished_) return false;
  const Route route = Submission::admit(*this, call, stream);
  const bool is_single = cut.total == 1;
  const bool may_follow = is_single && Chains::may_follow(call, route);
  if (may_follow && chains_.follow_footprint(call, route, ticket)) return true;
  Submission submission(*this, route, is_single, may_follow);
  while (!submission.order(call, cut.total, may_wait) ||
         !submission.place(cut.total, call.access_count)) {
    if (!may_wait) return false;
    submission.wait(lock, call, stream);
  }
  submission.fill(ticket, cut.total);
  submission.write(call, cut);
  submission.publish();
  return true;
}

Ticket Submitter::submit(Call& call, const Stream& stream) {
  Ticket ticket;
  submit_one(call, stream, ticket, true);
  return ticket;
}

bool Submitter::try_submit(Call& call, const Stream& stream, Ticket& ticket) {
  return submit_one(call, stream, ticket, false);
}

Ticket Submitter::submit_many(ManyCall& call, const ManyTasks& many,
                              const Stream& stream) {
  Ticket ticket{.runtime = runtime_id_};
  if (call.count == 0) return ticket;
  const std::uint64_t tile = tile_of(backend_, call);
  const std::uint64_t all = count_descriptors(many, tile);
  std::unique_lock lock = lock_between();
  Submission submission(*this, Submission::admit(*this, call, stream));
  const auto take_places = [&] {
    const auto tasks = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        all - submission.queued(), traits_.rings[0]->max_batch()));
    while ((submission.queued() == 0 && !submission.order(call, tasks, true)) ||
           !submission.place(tasks, call.access_count))
      submission.wait(lock, call, stream);
  };
  take_places();
  const Unfinished unfinished(*this, lock);
  submission.fill(ticket, all);
  if (call.op->is_checked.load(std::memory_order_relaxed))
    submission.attach_fault(call, all, true);
  // The tiles of a program know their own parts.
  TaskWriter writer(call, many, tile,
                    traits_.interleaves_tiles || call.tiles != 0);
  for (;;) {
    submission.write(call, writer, ticket.begin);
    submission.publish();
    if (submission.queued() == all) break;
    take_places();
  }
  if (stream.is_named) backend_.flush(&stream);
  return ticket;
}

bool Submitter::submit_independent(std::span<Call> calls,
                                   const Stream& stream) {
  const std::unique_lock lock = lock_between();
  Submission submission(*this, Submission::admit(*this, calls[0], stream));
  accesses_.clear();
  std::uint64_t tasks = 0;
  for (Call& call : calls) {
    resolve(call);
    tasks += cut_of(backend_, call).total;
    const auto accesses = call.access_view();
    accesses_.insert(accesses_.end(), accesses.begin(), accesses.end());
  }
  // An error names the call that it belongs to.
  if (tasks > traits_.rings[0]->max_batch() ||
      backend_.find_unreachable(accesses_) != nullptr)
    return false;
  const auto* met = dependencies_.find(accesses_);
  if ((met != nullptr && !submission.order_after(*met, calls.size())) ||
      !submission.place(static_cast<std::uint32_t>(tasks), accesses_.size()))
    return false;
  // Parts of one array may lie between each other, as its columns do. So none
  // of the calls stands for all of them.
  const std::uint64_t group = submission.first();
  for (Call& call : calls)
    submission.write(call, cut_of(backend_, call), group);
  submission.publish();
  return true;
}

bool Submitter::wait(const BatchRef& batch, std::uint64_t end,
                     Deadline deadline) {
  const Ring& ring = *traits_.rings[batch.ring];
  for (std::uint64_t turn = 0; !ring.is_done(batch.begin); ++turn) {
    backend_.check_alive();
    // A look at the clock costs as much as several at the ring.
    if (turn % 16 == 0 && std::chrono::steady_clock::now() >= deadline)
      return ring.is_done(batch.begin);
    backend_.pause(batch, end, turn, deadline);
  }
  return true;
}

void Submitter::wait_for_room(std::unique_lock<QuickMutex>& lock,
                              const Call& call, const BatchRef& blocker,
                              std::uint64_t queued, Deadline deadline) {
  // Places that are made free for many submissions, or each of them would meet
  // a full queue.
  constexpr std::uint64_t kRoom = 1024;
  backend_.ensure_running(blocker);
  const Ring& ring = *traits_.rings[blocker.ring];
  const std::uint64_t end = std::max(
      ring.end_of(blocker.begin), std::min(ring.head(), blocker.begin + kRoom));
  lock.unlock();
  const auto now = [] { return std::chrono::steady_clock::now(); };
  while (!wait(blocker, end, std::min(deadline, now() + Interrupt::kPeriod))) {
    Interrupt::check(call.op->name.c_str());
    if (now() < deadline) continue;
    std::string message =
        concat(call.op->name, ": expected room in a queue of ",
               traits_.rings[0]->capacity(), " tasks within ", timeout_.count(),
               " ms, got none");
    if (queued != 0)
      message += concat("; the first ", queued,
                        " tasks of this call are queued and will run");
    throw Timeout(message);
  }
}

void Submitter::flush(const Stream* only) {
  const std::lock_guard lock(mutex_);
  backend_.flush(only);
}

void Submitter::exclusively(const std::function<void()>& change) {
  const std::unique_lock lock = lock_between();
  change();
}

std::vector<std::uint64_t> Submitter::heads() {
  // A submission that is not queued yet may use the memory that is dropped now.
  const std::unique_lock lock = lock_between();
  std::vector<std::uint64_t> heads;
  for (Ring* ring : traits_.rings) {
    // Memory that was freed earlier may be reusable then. No other code checks
    // while workers stay.
    ring->advance();
    heads.push_back(ring->head());
  }
  return heads;
}

void Submitter::advance() {
  const std::lock_guard lock(mutex_);
  for (Ring* ring : traits_.rings) ring->advance();
}

bool Submitter::is_past(std::span<const std::uint64_t> marks,
                        BatchRef* oldest) {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t i = 0; i < traits_.rings.size(); ++i) {
    traits_.rings[i]->advance();
    if (traits_.rings[i]->completed() < marks[i]) {
      if (oldest != nullptr) {
        *oldest = oldest_of(traits_.rings, i);
        backend_.ensure_running(*oldest);
      }
      return false;
    }
  }
  return true;
}

HazardTable::Conflicts Submitter::pending(const Access& access,
                                          std::uint64_t& end) {
  const std::lock_guard lock(mutex_);
  dependencies_.prune();
  HazardTable::Conflicts found;
  if (const auto* conflicts = dependencies_.find({&access, 1}))
    found = *conflicts;
  end = 0;
  for (const BatchRef& batch : found.view()) {
    backend_.ensure_running(batch);
    end = std::max(end, traits_.rings[batch.ring]->end_of(batch.begin));
  }
  return found;
}

void Submitter::ensure_running(const BatchRef& batch) {
  const std::lock_guard lock(mutex_);
  backend_.ensure_running(batch);
}

void Submitter::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  backend_.flush(nullptr);
}

}  // namespace gpuos
