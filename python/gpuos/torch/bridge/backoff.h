// Programs that gain nothing are left to PyTorch for a while.
#pragma once

#include <chrono>
#include <cstdint>

#include "keys.h"

namespace gpuos::bridge {

/// A thread enters a scheduler; false: it still backs off.
bool begin_watching();
/// Forget what the thread did until now.
void watch_anew();
/// Until as many calls of end_fixed(): the thread never backs off, so that what
/// is deferred depends on nothing but its operators.
void begin_fixed();
void end_fixed();
bool is_fixed() noexcept;

/// An operator went to PyTorch. Now and then this looks at what deferring has
/// saved meanwhile, and if that was not worth the flushes, takes the mode out
/// of the thread: then its operators do not come here at all.
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

/// Calls of the front until the next look, in a thread that is not usual.
extern constinit thread_local std::uint32_t calls_to_look GPUOS_NEAR_TLS;
/// Counts methods of the front in a thread that may back off. Returns whether
/// the back-off is over. The mode is then back in the thread.
bool try_to_wake();

}  // namespace gpuos::bridge
