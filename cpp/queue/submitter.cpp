#include "queue/submitter.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos {

Submitter::Submitter(Backend& backend, QuickMutex& submit_mutex,
                     const RuntimeOptions& options, std::uint32_t runtime_id)
    : backend_(backend),
      mutex_(submit_mutex),
      timeout_(options.submit_timeout),
      runtime_id_(runtime_id),
      min_tile_(backend.min_tile_elems()),
      interleaves_(backend.interleaves_tiles()),
      rings_(backend.rings().begin(), backend.rings().end()) {}

Ticket Submitter::submit(Call& call, const Stream& stream) {
  Ticket ticket{.runtime = runtime_id_};
  if (call.count == 0) return ticket;
  const Cut parts = cut(call);
  std::unique_lock lock = lock_between();
  Plan plan{admit(call, stream), {}, parts.total == 1, false, false};
  if (may_follow(call, plan) && follow_row(call, plan.route, ticket))
    return ticket;
  const Place place = acquire(lock, call, stream, parts.total, plan);
  write(call, parts, place, plan, ticket);
  return ticket;
}

bool Submitter::try_submit(Call& call, const Stream& stream, Ticket& ticket) {
  ticket = {.runtime = runtime_id_};
  if (call.count == 0) return true;
  const Cut parts = cut(call);
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || is_unfinished_) return false;
  Plan plan{admit(call, stream), {}, parts.total == 1, false, false};
  const bool may_be_member = may_follow(call, plan);
  if (may_be_member && follow_row(call, plan.route, ticket)) return true;
  const auto* conflicts = find_conflicts(call.access_view());
  // A task that may become a member of a chain calls nobody; one that turns out
  // not to be one may.
  const bool follows = conflicts != nullptr && conflicts->count == 1 &&
                       may_be_member &&
                       plan.route.collects(conflicts->batches[0]);
  if (!backend_.is_quick(plan.route, parts.total, call.access_view(),
                         conflicts != nullptr && !follows))
    return false;
  BatchRef blocker;
  std::optional<Place> place;
  if (follows) {
    if (!hazards_.has_room(call.access_count) ||
        follow(call, *conflicts, plan, place.emplace(), blocker) !=
            Followed::Yes)
      return false;
  } else {
    place = place_for(call, conflicts, parts.total, plan, blocker);
  }
  if (!place) return false;
  write(call, parts, *place, plan, ticket);
  return true;
}

Cut Submitter::cut(const Call& call) const {
  if (call.tiles != 0) return {.piece = call.count, .total = call.tiles};
  // The usual case, without a division.
  if (call.count <= min_tile_ || !call.op->elementwise) return {};
  return cut_of(backend_, call, rings_[0]->max_batch());
}

void Submitter::fill(Ticket& ticket, const Plan& plan, const Place& place,
                     std::uint64_t tasks) {
  ticket.begin = place.batch_begin;
  ticket.end = place.first + tasks;
  ticket.ring = static_cast<std::uint16_t>(plan.route.ring);
  ticket.member = static_cast<std::uint16_t>(place.member);
}

void Submitter::write(const Call& call, const Cut& cut, const Place& place,
                      const Plan& plan, Ticket& ticket) {
  fill(ticket, plan, place, cut.total);
  count(tasks_, cut.total);
  count(batches_, 1);
  if (plan.is_chained) return;
  Ring& ring = *rings_[plan.route.ring];
  if (cut.piece == 0)
    write_whole(ring, place, plan.after, call);
  else if (call.tiles != 0)
    write_tiles(ring, place, plan.after, call);
  else
    write_cut(ring, place, plan.after, call, cut, interleaves_);
  if (call.op->is_traced.load(std::memory_order_relaxed))
    backend_.watch(plan.route, place, cut.total, call.op->name);
  backend_.publish(plan.route, place, cut.total);
  note_newest(plan.route.ring, place.batch_begin);
  // The next call is likely to be like this one.
  constexpr std::uint32_t kFewTiles = 8;
  if (cut.total <= kFewTiles) ring.prefetch(place.first + cut.total, cut.total);
}

Ticket Submitter::submit_many(ManyCall& call, const ManyTasks& many,
                              const Stream& stream) {
  Ticket ticket{.runtime = runtime_id_};
  if (call.count == 0) return ticket;
  const std::uint32_t max_batch = rings_[0]->max_batch();
  // The tiles of a program know what is theirs.
  TaskWriter writer(call, many, tile_of(backend_, call, max_batch),
                    interleaves_ || call.tiles != 0);
  std::uint64_t left = writer.descriptors();

  Plan plan;
  plan.is_many = true;
  auto tasks =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(left, max_batch));
  std::unique_lock lock = lock_between();
  plan.route = admit(call, stream);
  Place place = acquire(lock, call, stream, tasks, plan);
  const Unfinished unfinished(*this);
  fill(ticket, plan, place, left);
  writer.use_operator_of(call);
  Ring& ring = *rings_[plan.route.ring];
  for (;;) {
    writer.write(ring, place, tasks, plan.after);
    if (call.op->is_traced.load(std::memory_order_relaxed))
      backend_.watch(plan.route, place, tasks, call.op->name);
    count(tasks_, tasks);
    count(batches_, 1);
    backend_.publish(plan.route, place, tasks);
    left -= tasks;
    if (left == 0) break;
    tasks =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(left, max_batch));
    place = acquire_next(lock, call, tasks, plan, ticket.begin);
    // What the first chunk waited for may be out of this one's reach.
    if (plan.after && ring.is_done(*plan.after)) plan.after.reset();
  }
  if (stream.is_named) backend_.flush(&stream);
  return ticket;
}

Place Submitter::acquire_next(std::unique_lock<QuickMutex>& lock,
                              const Call& call, std::uint32_t tasks,
                              const Plan& plan, std::uint64_t group) {
  const Deadline deadline = std::chrono::steady_clock::now() + timeout_;
  const auto wait_for = [&](BatchRef batch) {
    backend_.ensure_running(batch);
    const std::uint64_t end = end_for_room(batch);
    lock.unlock();
    bool is_done = false;
    try {
      is_done = wait_for_room(call, batch, end, deadline);
    } catch (...) {
      lock.lock();  // for Unfinished
      throw;
    }
    lock.lock();
    // `group` is where this submission's first batch began.
    if (!is_done) time_out(call, rings_[plan.route.ring]->head() - group);
    hazards_.prune(rings_);
  };
  while (!hazards_.has_room(call.access_count)) wait_for(hazards_.oldest());
  std::optional<Place> place;
  while (!(place = backend_.reserve(plan.route, tasks)))
    wait_for(oldest_of(plan.route.ring));
  hazards_.add(call.access_view(),
               {plan.route.ring, place->batch_begin, plan.route.stream}, group);
  return *place;
}

void Submitter::refuse_closed(const Call& call) {
  throw QueueClosed(concat(call.op->name, ": the runtime is closed"));
}

Place Submitter::acquire(std::unique_lock<QuickMutex>& lock, Call& call,
                         const Stream& stream, std::uint32_t tasks,
                         Plan& plan) {
  std::optional<Deadline> deadline;
  for (;;) {
    check_memory(call);
    BatchRef blocker;
    const auto conflicts = find_conflicts(call.access_view());
    if (const auto place = place_for(call, conflicts, tasks, plan, blocker))
      return *place;
    if (!deadline) deadline = std::chrono::steady_clock::now() + timeout_;
    wait_unlocked(lock, call, blocker, *deadline);
    lock = lock_between();
    plan.route = admit(call, stream);
    plan.after.reset();
  }
}

const HazardTable::Conflicts* Submitter::find_conflicts(
    std::span<const Access> accesses) {
  if (hazards_.is_long()) hazards_.prune(rings_);
  if (hazards_.is_free(accesses)) return nullptr;
  hazards_.find(accesses, rings_, conflicts_);
  if (conflicts_.met_done) hazards_.prune(rings_);
  return conflicts_.count == 0 ? nullptr : &conflicts_;
}

std::optional<Place> Submitter::place_for(
    const Call& call, const HazardTable::Conflicts* conflicts,
    std::uint32_t tasks, Plan& plan, BatchRef& blocker) {
  if (!hazards_.has_room(call.access_count)) {
    blocker = hazards_.oldest();
    return std::nullopt;
  }
  if (conflicts) {
    Place followed;
    switch (follow(call, *conflicts, plan, followed, blocker)) {
      case Followed::Yes:
        return followed;
      case Followed::Blocked:
        return std::nullopt;
      case Followed::No:
        break;
    }
    if (!put_in_order(*conflicts, plan, blocker)) return std::nullopt;
  }
  const auto place = backend_.reserve(plan.route, tasks);
  if (!place) {
    blocker = oldest_of(plan.route.ring);
    return std::nullopt;
  }
  note(call, plan, *place);
  if (conflicts) count(ordered_, 1);
  return place;
}

bool Submitter::put_in_order(const HazardTable::Conflicts& conflicts,
                             Plan& plan, BatchRef& blocker) {
  close_chains(conflicts);
  const Order order = backend_.order(plan.route, conflicts.view());
  if (order.wait_on_host) {
    blocker = *order.wait_on_host;
    return false;
  }
  if (conflicts.overflow) {
    blocker = conflicts.batches[conflicts.count - 1];
    return false;
  }
  if (join(order, plan)) return true;
  blocker = oldest_of(plan.route.ring);
  return false;
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

bool Submitter::join(const Order& order, Plan& plan) {
  if (order.count == 0) return true;
  plan.after = order.begins[0];
  if (order.count == 1) return true;
  const auto place = backend_.reserve(plan.route, 1);
  if (!place) return false;
  abi::Payload payload{};
  payload.flags = abi::kJoin;
  payload.parts = static_cast<std::uint16_t>(order.count);
  for (std::size_t i = 0; i < order.count; ++i) {
    const auto distance =
        static_cast<std::uint16_t>(place->first - order.begins[i]);
    std::memcpy(reinterpret_cast<char*>(payload.args) + i * sizeof(distance),
                &distance, sizeof(distance));
  }
  Ring& ring = *rings_[plan.route.ring];
  write_task(ring, *place, place->first, std::nullopt, payload);
  backend_.publish(plan.route, *place, 1);
  plan.after = place->first;
  return true;
}

void Submitter::wait_unlocked(std::unique_lock<QuickMutex>& lock,
                              const Call& call, const BatchRef& batch,
                              Deadline deadline) {
  backend_.ensure_running(batch);
  const std::uint64_t end = end_for_room(batch);
  lock.unlock();
  if (!wait_for_room(call, batch, end, deadline)) time_out(call, 0);
}

void Submitter::time_out(const Call& call, std::uint64_t queued) const {
  std::string message = concat(call.op->name, ": expected room in a queue of ",
                               rings_[0]->capacity(), " tasks within ",
                               timeout_.count(), " ms, there was none");
  if (queued != 0)
    message += concat("; the first ", queued,
                      " tasks of this call are queued and will run");
  throw Timeout(message);
}

}  // namespace gpuos
