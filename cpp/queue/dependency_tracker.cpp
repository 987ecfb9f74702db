#include "queue/dependency_tracker.h"

#include <cstring>

#include "queue/task_writer.h"

namespace gpuos {

bool DependencyTracker::put_in_order(const HazardTable::Conflicts& conflicts,
                                     Submission& submission,
                                     BatchRef& blocker) {
  close_chains(conflicts);
  const Order order = backend_.order(submission.route, conflicts.view());
  if (order.wait_on_host) {
    blocker = *order.wait_on_host;
    return false;
  }
  if (conflicts.overflow) {
    blocker = conflicts.batches[conflicts.count - 1];
    return false;
  }
  if (join(order, submission)) return true;
  blocker = oldest_of(rings_, submission.route.ring);
  return false;
}

void DependencyTracker::close_chains(const HazardTable::Conflicts& conflicts) {
  OpenChains& chains = *backend_.traits().chains;
  if (chains.is_empty()) return;
  for (const BatchRef& batch : conflicts.view()) {
    if (batch.ring == kChainRing) chains.close(batch.begin);
  }
}

bool DependencyTracker::join(const Order& order, Submission& submission) {
  if (order.count == 0) return true;
  submission.after = order.begins[0];
  if (order.count == 1) return true;
  const auto place = backend_.reserve(submission.route, 1);
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
  Ring& ring = *rings_[submission.route.ring];
  ring.note_empty_place(place->batch_begin);
  write_task(ring, *place, place->first, std::nullopt, payload);
  backend_.publish(submission.route, *place, 1);
  submission.after = place->first;
  return true;
}

}  // namespace gpuos
