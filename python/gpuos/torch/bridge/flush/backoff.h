// Programs that gain nothing are left to PyTorch for a while.
#pragma once

#include <chrono>
#include <cstdint>

#include "pytorch/keys.h"

namespace gpuos::bridge {

/// A thread enters a scheduler. Returns false if it still backs off.
bool begin_watching();
/// Drops the counts of the thread so far.
void watch_anew();
/// Keeps the thread from backing off until an equal number of end_fixed()
/// calls, so that only its operators decide what is deferred.
void begin_fixed();
void end_fixed();
bool is_fixed() noexcept;

/// Counts an operator that went to PyTorch. At times it compares the savings of
/// deferring with the cost of the flushes. If they are too small, it removes
/// the mode from the thread, whose operators then do not come here.
void note_left();
/// Notes by how much a flush in this thread, its lifetime, takes longer than
/// its work should. Units: nanoseconds.
class FlushWatch {
 public:
  explicit FlushWatch(std::int64_t due_ns) : due_ns_(due_ns) {}
  ~FlushWatch();
  FlushWatch(const FlushWatch&) = delete;
  FlushWatch& operator=(const FlushWatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  std::int64_t due_ns_;
  Clock::time_point begin_ = Clock::now();
};

/// Calls of overrides until the next look, in a thread that is not usual.
extern constinit thread_local std::uint32_t calls_to_look GPUOS_NEAR_TLS;
/// Counts overridden methods in a thread that may back off. Returns whether
/// the back-off is over. The mode is then back in the thread.
bool try_to_wake();

}  // namespace gpuos::bridge
