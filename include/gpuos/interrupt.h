#pragma once

#include <chrono>

#include "gpuos/export.h"

namespace gpuos {

/// Makes the long waits of this thread cancellable while it exists. These are
/// submissions to a full queue, compilations, and synchronize(). gpuos then
/// calls it to ask whether to continue. If not, the wait ends with Cancelled
/// and has no effect. Launches of a Session continue. Runtime::close() also
/// ends with Cancelled, and the runtime is closed then.
///
/// Threads: it affects the thread that makes and destroys it, where they nest.
class GPUOS_API Interrupt {
 public:
  /// True ends the wait. A wait asks every 50 ms. Must not throw.
  using Ask = bool (*)(void* context) noexcept;

  Interrupt(Ask ask, void* context) noexcept;
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static constexpr std::chrono::milliseconds kPeriod{50};

  /// Returns whether this thread should stop. It is cheap enough for a loop.
  static bool is_asked_for() noexcept;
  /// Throws: Cancelled if this thread should stop. `what` names the wait.
  static void check(const char* what);

 private:
  using Clock = std::chrono::steady_clock;

  bool ask_now_and_then() noexcept;

  const Ask ask_;
  void* const context_;
  Interrupt* const before_;
  Clock::time_point next_{};
  bool stops_ = false;
};

}  // namespace gpuos
