// What is pending, and waiting for it.
#include <algorithm>

#include "gpuos/interrupt.h"
#include "queue/submitter.h"

namespace gpuos {

bool Submitter::wait(const BatchRef& batch, std::uint64_t end,
                     Deadline deadline) {
  const Ring& ring = *rings_[batch.ring];
  for (std::uint64_t turn = 0; !ring.is_done(batch.begin); ++turn) {
    backend_.check_alive();
    // A look at the clock costs as much as several at the ring.
    if (turn % 16 == 0 && std::chrono::steady_clock::now() >= deadline)
      return ring.is_done(batch.begin);
    backend_.pause(batch, end, turn, deadline);
  }
  return true;
}

std::uint64_t Submitter::end_for_room(const BatchRef& batch) const {
  const Ring& ring = *rings_[batch.ring];
  return std::max(ring.end_of(batch.begin),
                  std::min(ring.head(), batch.begin + kRoom));
}

BatchRef Submitter::oldest_of(std::uint32_t ring) const {
  return {ring, rings_[ring]->completed(), nullptr};
}

bool Submitter::is_idle() const noexcept {
  const Ring& ring = *rings_[newest_ring_.load(std::memory_order_relaxed)];
  return ring.head() == 0 ||
         ring.is_done(newest_batch_.load(std::memory_order_relaxed));
}

bool Submitter::has_backlog() const noexcept {
  const std::uint32_t ring = newest_ring_.load(std::memory_order_relaxed);
  if (ring == kChainRing) return false;  // each submission is a batch
  constexpr std::uint64_t kMany = 128;
  const std::uint64_t before = batch_before_.load(std::memory_order_relaxed);
  return rings_[ring]->head() >=
             newest_batch_.load(std::memory_order_relaxed) + kMany &&
         before != kNoBatch && !rings_[ring]->is_done(before);
}

void Submitter::flush(const Stream* only) {
  const std::lock_guard lock(mutex_);
  backend_.flush(only);
}

std::vector<std::uint64_t> Submitter::heads() {
  // What a submission is still to queue may use what is dropped now.
  const std::unique_lock lock = lock_between();
  std::vector<std::uint64_t> heads;
  for (Ring* ring : rings_) {
    // What was dropped before may be free then; nobody else looks while workers
    // stay.
    ring->advance();
    heads.push_back(ring->head());
  }
  return heads;
}

void Submitter::advance() {
  const std::lock_guard lock(mutex_);
  for (Ring* ring : rings_) ring->advance();
}

bool Submitter::is_past(std::span<const std::uint64_t> marks,
                        BatchRef* oldest) {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t i = 0; i < rings_.size(); ++i) {
    rings_[i]->advance();
    if (rings_[i]->completed() < marks[i]) {
      if (oldest != nullptr) {
        *oldest = oldest_of(i);
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
  hazards_.prune(rings_);
  const auto found = hazards_.find({&access, 1}, rings_);
  end = 0;
  for (const BatchRef& batch : found.view()) {
    backend_.ensure_running(batch);
    end = std::max(end, rings_[batch.ring]->end_of(batch.begin));
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

bool Submitter::wait_for_room(const Call& call, const BatchRef& batch,
                              std::uint64_t end, Deadline deadline) {
  const auto next = [&] {
    return std::min(deadline,
                    std::chrono::steady_clock::now() + Interrupt::kPeriod);
  };
  while (!wait(batch, end, next())) {
    Interrupt::check(call.op->name.c_str());
    if (std::chrono::steady_clock::now() >= deadline) return false;
  }
  return true;
}

}  // namespace gpuos
