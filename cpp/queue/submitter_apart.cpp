// Calls that have nothing to do with each other, queued in one go.
#include "queue/submitter.h"

namespace gpuos {

bool Submitter::submit_apart(std::span<Call> calls, const Stream& stream) {
  const std::unique_lock lock = lock_between();
  Plan plan;
  plan.route = admit(calls[0], stream);
  cuts_.clear();
  accesses_.clear();
  std::uint64_t tasks = 0;
  for (Call& call : calls) {
    resolve(call);
    tasks += cuts_.emplace_back(cut(call)).total;
    const auto accesses = call.access_view();
    accesses_.insert(accesses_.end(), accesses.begin(), accesses.end());
  }
  // Whatever is wrong is told of the call that it is wrong with.
  if (tasks > rings_[0]->max_batch() || !hazards_.has_room(accesses_.size()) ||
      backend_.find_unreachable(accesses_) != nullptr)
    return false;
  const auto conflicts = find_conflicts(accesses_);
  BatchRef blocker;
  if (conflicts && !put_in_order(*conflicts, plan, blocker)) return false;
  const auto place =
      backend_.reserve(plan.route, static_cast<std::uint32_t>(tasks));
  if (!place) return false;
  if (conflicts) count(ordered_, calls.size());
  write_apart(calls, *place, plan);
  count(tasks_, tasks);
  count(batches_, 1);
  backend_.publish(plan.route, *place, static_cast<std::uint32_t>(tasks));
  note_newest(plan.route.ring, place->batch_begin);
  return true;
}

void Submitter::write_apart(std::span<const Call> calls, const Place& place,
                            const Plan& plan) {
  Ring& ring = *rings_[plan.route.ring];
  Place own = place;
  own.is_alone = false;  // each has only some of the places
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Call& call = calls[i];
    Plan with_size = plan;
    with_size.is_single = cuts_[i].total == 1;
    note(call, with_size, own);
    if (cuts_[i].piece == 0)
      write_whole(ring, own, plan.after, call);
    else if (call.tiles != 0)
      write_tiles(ring, own, plan.after, call);
    else
      write_cut(ring, own, plan.after, call, cuts_[i], interleaves_);
    if (call.op->is_traced.load(std::memory_order_relaxed))
      backend_.watch(plan.route, own, cuts_[i].total, call.op->name);
    own.first += cuts_[i].total;
  }
}

}  // namespace gpuos
