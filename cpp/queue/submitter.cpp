#include "queue/submitter.h"

#include <algorithm>
#include <optional>

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos {

Submitter::Submitter(Backend& backend, QuickMutex& submit_mutex,
                     const RuntimeOptions& options, std::uint32_t runtime_id)
    : backend_(backend),
      traits_(backend.traits()),
      mutex_(submit_mutex),
      runtime_id_(runtime_id),
      dependencies_(backend),
      chains_(backend, dependencies_, counts_),
      back_pressure_(backend, options.submit_timeout),
      faults_(backend) {}

Ticket Submitter::submit(Call& call, const Stream& stream) {
  Ticket ticket{.runtime = runtime_id_};
  if (call.count == 0) return ticket;
  const Cut cut = cut_of(backend_, call);
  std::unique_lock lock = lock_between();
  Submission submission{admit(call, stream), {}, cut.total == 1, false, false};
  if (Chains::may_follow(call, submission) &&
      chains_.follow_footprint(call, submission.route, ticket))
    return ticket;
  const Place place = acquire(lock, call, stream, cut.total, submission);
  write(call, cut, place, submission, ticket);
  return ticket;
}

bool Submitter::try_submit(Call& call, const Stream& stream, Ticket& ticket) {
  ticket = {.runtime = runtime_id_};
  if (call.count == 0) return true;
  const Cut cut = cut_of(backend_, call);
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || is_unfinished_) return false;
  Submission submission{admit(call, stream), {}, cut.total == 1, false, false};
  const bool may_be_member = Chains::may_follow(call, submission);
  if (may_be_member && chains_.follow_footprint(call, submission.route, ticket))
    return true;
  const auto* conflicts = dependencies_.find(call.access_view());
  // A possible member of a chain wakes no thread. A task that turns out not to
  // be one may wake one.
  const bool follows = conflicts != nullptr && conflicts->count == 1 &&
                       may_be_member &&
                       submission.route.collects(conflicts->batches[0]);
  if (!backend_.can_queue_now(submission.route, cut.total, call.access_view(),
                              conflicts != nullptr && !follows))
    return false;
  BatchRef blocker;
  std::optional<Place> place;
  if (follows) {
    if (!dependencies_.has_room(call.access_count) ||
        chains_.follow(call, *conflicts, submission, place.emplace(),
                       blocker) != Chains::Followed::Yes)
      return false;
  } else {
    place = place_for(call, conflicts, cut.total, submission, blocker);
  }
  if (!place) return false;
  write(call, cut, *place, submission, ticket);
  return true;
}

void Submitter::fill(Ticket& ticket, const Submission& submission,
                     const Place& place, std::uint64_t tasks) {
  ticket.begin = place.batch_begin;
  ticket.end = place.first + tasks;
  ticket.ring = static_cast<std::uint16_t>(submission.route.ring);
  ticket.member = static_cast<std::uint16_t>(place.member);
}

void Submitter::write(Call& call, const Cut& cut, const Place& place,
                      const Submission& submission, Ticket& ticket) {
  fill(ticket, submission, place, cut.total);
  SubmitCounts::add(counts_.tasks, cut.total);
  SubmitCounts::add(counts_.batches, 1);
  watch(call, submission, place, cut.total);
  if (submission.is_chained) return;
  Ring& ring = *traits_.rings[submission.route.ring];
  write_descriptors(ring, place, submission.after, call, cut,
                    traits_.interleaves_tiles);
  backend_.publish(submission.route, place, cut.total);
  newest_.note(submission.route.ring, place.batch_begin);
  // The next call is likely to be like this one.
  constexpr std::uint32_t kFewTiles = 8;
  if (cut.total <= kFewTiles) ring.prefetch(place.first + cut.total, cut.total);
}

Ticket Submitter::submit_many(ManyCall& call, const ManyTasks& many,
                              const Stream& stream) {
  Ticket ticket{.runtime = runtime_id_};
  if (call.count == 0) return ticket;
  const std::uint32_t max_batch = traits_.rings[0]->max_batch();
  // The tiles of a program know their own parts.
  const std::uint64_t tile = tile_of(backend_, call, max_batch);
  const bool interleaves = traits_.interleaves_tiles || call.tiles != 0;
  std::optional<TaskWriter> writer(std::in_place, call, many, tile,
                                   interleaves);
  std::uint64_t left = writer->descriptors();
  const auto next_tasks = [&] {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(left, max_batch));
  };

  Submission submission;
  submission.is_many = true;
  std::uint32_t tasks = next_tasks();
  std::unique_lock lock = lock_between();
  submission.route = admit(call, stream);
  Place place = acquire(lock, call, stream, tasks, submission);
  const Unfinished unfinished(*this);
  fill(ticket, submission, place, left);
  if (call.op->is_checked.load(std::memory_order_relaxed)) {
    faults_.attach(call, submission.route, ticket.begin, ticket.end, true);
    writer.emplace(call, many, tile, interleaves);
  }
  writer->use_operator_of(call);
  Ring& ring = *traits_.rings[submission.route.ring];
  for (;;) {
    writer->write(ring, place, tasks, submission.after);
    if (call.op->is_traced.load(std::memory_order_relaxed))
      backend_.watch(submission.route, place, tasks, call.op->name);
    SubmitCounts::add(counts_.tasks, tasks);
    SubmitCounts::add(counts_.batches, 1);
    backend_.publish(submission.route, place, tasks);
    left -= tasks;
    if (left == 0) break;
    tasks = next_tasks();
    place = acquire_next(lock, call, tasks, submission, ticket.begin);
    // The batch that the first chunk waited for may be out of this one's reach.
    if (submission.after && ring.is_done(*submission.after))
      submission.after.reset();
  }
  if (stream.is_named) backend_.flush(&stream);
  return ticket;
}

bool Submitter::submit_independent(std::span<Call> calls,
                                   const Stream& stream) {
  const std::unique_lock lock = lock_between();
  Submission submission;
  submission.route = admit(calls[0], stream);
  cuts_.clear();
  accesses_.clear();
  std::uint64_t tasks = 0;
  for (Call& call : calls) {
    resolve(call);
    tasks += cuts_.emplace_back(cut_of(backend_, call)).total;
    const auto accesses = call.access_view();
    accesses_.insert(accesses_.end(), accesses.begin(), accesses.end());
  }
  // An error names the call that it belongs to.
  if (tasks > traits_.rings[0]->max_batch() ||
      !dependencies_.has_room(accesses_.size()) ||
      backend_.find_unreachable(accesses_) != nullptr)
    return false;
  const auto* conflicts = dependencies_.find(accesses_);
  BatchRef blocker;
  if (conflicts && !dependencies_.put_in_order(*conflicts, submission, blocker))
    return false;
  const auto all = static_cast<std::uint32_t>(tasks);
  const auto place = backend_.reserve(submission.route, all);
  if (!place) return false;
  Place own = *place;
  own.is_alone = false;  // each has only some of the places
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Call& call = calls[i];
    submission.is_single = cuts_[i].total == 1;
    note(call, submission, own);
    watch(call, submission, own, cuts_[i].total);
    write_descriptors(*traits_.rings[submission.route.ring], own,
                      submission.after, call, cuts_[i],
                      traits_.interleaves_tiles);
    own.first += cuts_[i].total;
  }
  if (conflicts) SubmitCounts::add(counts_.ordered, calls.size());
  SubmitCounts::add(counts_.tasks, tasks);
  SubmitCounts::add(counts_.batches, 1);
  backend_.publish(submission.route, *place, all);
  newest_.note(submission.route.ring, place->batch_begin);
  return true;
}

Place Submitter::acquire_next(std::unique_lock<QuickMutex>& lock,
                              const Call& call, std::uint32_t tasks,
                              const Submission& submission,
                              std::uint64_t group) {
  const Deadline deadline = back_pressure_.deadline();
  const Ring& ring = *traits_.rings[submission.route.ring];
  const auto wait_for = [&](BatchRef batch) {
    const std::uint64_t end = back_pressure_.prepare_wait(batch);
    lock.unlock();
    bool is_done = false;
    try {
      is_done = back_pressure_.wait_for_space(call, batch, end, deadline);
    } catch (...) {
      lock.lock();  // for Unfinished
      throw;
    }
    lock.lock();
    // `group` is where this submission's first batch began.
    if (!is_done) back_pressure_.time_out(call, ring.head() - group);
    dependencies_.prune();
  };
  while (!dependencies_.has_room(call.access_count))
    wait_for(dependencies_.oldest());
  std::optional<Place> place;
  while (!(place = backend_.reserve(submission.route, tasks)))
    wait_for(oldest_of(traits_.rings, submission.route.ring));
  const BatchRef batch{submission.route.ring, place->batch_begin,
                       submission.route.stream};
  dependencies_.add(call.access_view(), batch, group, HazardTable::kNoPosition);
  return *place;
}

void Submitter::refuse_closed(const Call& call) {
  throw QueueClosed(concat(call.op->name, ": the runtime is closed"));
}

Place Submitter::acquire(std::unique_lock<QuickMutex>& lock, Call& call,
                         const Stream& stream, std::uint32_t tasks,
                         Submission& submission) {
  std::optional<Deadline> deadline;
  for (;;) {
    check_memory(call);
    BatchRef blocker;
    const auto* conflicts = dependencies_.find(call.access_view());
    if (const auto place =
            place_for(call, conflicts, tasks, submission, blocker))
      return *place;
    if (!deadline) deadline = back_pressure_.deadline();
    const std::uint64_t end = back_pressure_.prepare_wait(blocker);
    lock.unlock();
    if (!back_pressure_.wait_for_space(call, blocker, end, *deadline))
      back_pressure_.time_out(call, 0);
    lock = lock_between();
    submission.route = admit(call, stream);
    submission.after.reset();
  }
}

std::optional<Place> Submitter::place_for(
    const Call& call, const HazardTable::Conflicts* conflicts,
    std::uint32_t tasks, Submission& submission, BatchRef& blocker) {
  if (!dependencies_.has_room(call.access_count)) {
    blocker = dependencies_.oldest();
    return std::nullopt;
  }
  if (conflicts) {
    Place followed;
    switch (chains_.follow(call, *conflicts, submission, followed, blocker)) {
      case Chains::Followed::Yes:
        return followed;
      case Chains::Followed::Blocked:
        return std::nullopt;
      case Chains::Followed::No:
        break;
    }
    if (!dependencies_.put_in_order(*conflicts, submission, blocker))
      return std::nullopt;
  }
  const auto place = backend_.reserve(submission.route, tasks);
  if (!place) {
    blocker = oldest_of(traits_.rings, submission.route.ring);
    return std::nullopt;
  }
  note(call, submission, *place);
  if (conflicts) SubmitCounts::add(counts_.ordered, 1);
  return place;
}

void Submitter::check_memory(const Call& call) {
  const Access* wrong = backend_.find_unreachable(call.access_view());
  if (wrong == nullptr) return;
  throw InvalidArgument(concat(
      call.op->name, ": expected plain memory of the device, got the address ",
      wrong->low,
      "; copy it there with allocate() and "
      "copy_to_device()"));
}

void Submitter::note(const Call& call, const Submission& submission,
                     const Place& place) {
  const BatchRef batch{submission.route.ring, place.batch_begin,
                       submission.route.stream};
  // Batches of submit_many() do not wait for each other, its first begins here.
  const std::uint64_t group =
      submission.is_many ? place.batch_begin : HazardTable::kAlone;
  dependencies_.add(call.access_view(), batch, group,
                    Chains::may_follow(call, submission)
                        ? place.first
                        : HazardTable::kNoPosition);
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
