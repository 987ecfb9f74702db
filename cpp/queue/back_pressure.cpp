#include "queue/back_pressure.h"

#include <algorithm>

#include "base/concat.h"
#include "gpuos/error.h"
#include "gpuos/interrupt.h"

namespace gpuos {
namespace {

/// Places that are made free for many submissions, or each of them would meet a
/// full queue.
constexpr std::uint64_t kRoom = 1024;

}  // namespace

bool BackPressure::wait(const BatchRef& batch, std::uint64_t end,
                        Deadline deadline) {
  const Ring& ring = *backend_.traits().rings[batch.ring];
  for (std::uint64_t turn = 0; !ring.is_done(batch.begin); ++turn) {
    backend_.check_alive();
    // A look at the clock costs as much as several at the ring.
    if (turn % 16 == 0 && std::chrono::steady_clock::now() >= deadline)
      return ring.is_done(batch.begin);
    backend_.pause(batch, end, turn, deadline);
  }
  return true;
}

std::uint64_t BackPressure::prepare_wait(const BatchRef& batch) {
  backend_.ensure_running(batch);
  const Ring& ring = *backend_.traits().rings[batch.ring];
  return std::max(ring.end_of(batch.begin),
                  std::min(ring.head(), batch.begin + kRoom));
}

bool BackPressure::wait_for_space(const Call& call, const BatchRef& batch,
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

void BackPressure::time_out(const Call& call, std::uint64_t queued) const {
  std::string message =
      concat(call.op->name, ": expected room in a queue of ",
             backend_.traits().rings[0]->capacity(), " tasks within ",
             timeout_.count(), " ms, got none");
  if (queued != 0)
    message += concat("; the first ", queued,
                      " tasks of this call are queued and will run");
  throw Timeout(message);
}

}  // namespace gpuos
