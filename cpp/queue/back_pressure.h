#pragma once

#include <chrono>
#include <cstdint>

#include "queue/backend.h"
#include "queue/call.h"
#include "queue/hazards.h"

namespace gpuos {

/// Waits for batches, and for room that they leave in a queue.
///
/// Threads: any, without a lock, unless a function says otherwise.
class BackPressure {
 public:
  /// `timeout`: how long a full queue is waited for.
  BackPressure(Backend& backend, std::chrono::milliseconds timeout)
      : backend_(backend), timeout_(timeout) {}

  /// See Submitter::wait().
  bool wait(const BatchRef& batch, std::uint64_t end, Deadline deadline);

  /// When to give up a queue that is full now.
  Deadline deadline() const {
    return std::chrono::steady_clock::now() + timeout_;
  }
  /// Sees to it that `batch` runs, and returns where tasks end that the caller
  /// may run while it waits for it. The submit lock is held.
  std::uint64_t prepare_wait(const BatchRef& batch);
  /// wait(), which Interrupt ends too. Throws: Cancelled.
  bool wait_for_space(const Call& call, const BatchRef& batch,
                      std::uint64_t end, Deadline deadline);
  /// `queued`: tasks of the same submission that went before.
  [[noreturn]] void time_out(const Call& call, std::uint64_t queued) const;

 private:
  Backend& backend_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace gpuos
