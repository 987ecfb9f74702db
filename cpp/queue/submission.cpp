#include "queue/submission.h"

#include <chrono>
#include <cstring>

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos {

bool Submitter::Submission::order(const Call& call, std::uint32_t tasks,
                                  bool may_wait) {
  const auto* met = of_.dependencies_.find(call.access_view());
  // A possible member of a flush's chain wakes no thread. A task that turns out
  // not to be one may wake one.
  const bool follows = met != nullptr && met->count == 1 && may_follow_ &&
                       route_.collects(met->batches[0]);
  if (may_wait)
    check_memory(call);
  else if (!of_.backend_.can_queue_now(route_, tasks, call.access_view(),
                                       met != nullptr && !follows))
    return false;
  if (met == nullptr) return true;
  if (!has_room(call.access_count)) return false;
  if (may_follow_) {
    const auto followed =
        of_.chains_.follow(call, *met, route_, place_, blocker_);
    is_member_ = followed == Chains::Followed::Yes;
    if (followed != Chains::Followed::No) return is_member_;
    if (follows && !may_wait) return false;
  }
  return order_after(*met, 1);
}

bool Submitter::Submission::order_after(const HazardTable::Conflicts& met,
                                        std::size_t calls) {
  of_.dependencies_.close_chains(met);
  const Order order = of_.backend_.order(route_, met.view());
  if (order.wait_on_host)
    blocker_ = *order.wait_on_host;
  else if (met.overflow)
    blocker_ = met.batches[met.count - 1];
  else if (!join(order))
    blocker_ = oldest_of(of_.traits_.rings, route_.ring);
  else
    ordered_ = calls;
  return ordered_ != 0;
}

bool Submitter::Submission::join(const Order& order) {
  if (order.count == 0) return true;
  after_ = order.begins[0];
  if (order.count == 1) return true;
  const auto place = of_.backend_.reserve(route_, 1);
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
  ring().note_empty_place(place->batch_begin);
  set_place(payload, *place, place->first, std::nullopt);
  ring().write(place->first, payload);
  of_.backend_.publish(route_, *place, 1);
  after_ = place->first;
  return true;
}

void Submitter::Submission::check_memory(const Call& call) const {
  const Access* wrong = of_.backend_.find_unreachable(call.access_view());
  if (wrong == nullptr) return;
  throw InvalidArgument(concat(
      call.op->name, ": expected plain memory of the device, got the address ",
      wrong->low,
      "; copy it there with allocate() and "
      "copy_to_device()"));
}

void Submitter::Submission::wait(std::unique_lock<QuickMutex>& lock, Call& call,
                                 const Stream& stream) {
  if (!deadline_) deadline_ = std::chrono::steady_clock::now() + of_.timeout_;
  of_.wait_for_room(lock, call, blocker_, queued_, *deadline_);
  if (queued_ == 0) {
    lock = of_.lock_between();
    route_ = admit(of_, call, stream);
    may_follow_ = is_single_ && Chains::may_follow(call, route_);
    after_.reset();
    ordered_ = 0;
  } else {
    lock.lock();
  }
  of_.dependencies_.prune();
}

}  // namespace gpuos
