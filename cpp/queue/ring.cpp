#include "queue/ring.h"

#include <bit>

namespace gpuos {

Ring::Ring(RingMemory memory, std::uint32_t capacity,
           std::uint64_t first_position)
    : memory_(memory),
      capacity_(capacity),
      capacity_bits_(static_cast<std::uint32_t>(std::countr_zero(capacity))),
      head_(first_position),
      completed_(first_position),
      batches_(capacity) {}

std::optional<std::uint64_t> Ring::open_batch(std::uint32_t tasks) {
  const std::uint64_t begin = head();
  if (begin + tasks - completed() > capacity_) {
    advance();
    if (begin + tasks - completed() > capacity_) return std::nullopt;
  }
  batches_[place_of(begin)] = {tasks, 0};
  head_.store(begin + tasks, std::memory_order_release);
  return begin;
}

bool Ring::extend_batch(std::uint64_t begin, std::uint32_t tasks) {
  const std::uint64_t end = head();
  if (end + tasks - completed() > capacity_) {
    advance();
    if (end + tasks - completed() > capacity_) return false;
  }
  batches_[place_of(begin)].places += tasks;
  head_.store(end + tasks, std::memory_order_release);
  return true;
}

void Ring::advance() noexcept {
  std::uint64_t position = completed();
  const std::uint64_t end = head();
  std::int64_t more = 0;
  while (position != end && is_done(position)) {
    const Batch& batch = batches_[place_of(position)];
    position += batch.places;
    more += batch.more;
  }
  completed_more_.store(completed_more_.load(std::memory_order_relaxed) + more,
                        std::memory_order_relaxed);
  completed_.store(position, std::memory_order_release);
}

}  // namespace gpuos
