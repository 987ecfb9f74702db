#pragma once

#include <chrono>

#include "gpuos/error.h"
#include "gpuos/interrupt.h"
#include "module/pybind_objects.h"
#include "module/without_gil.h"

namespace gpuos::python {

/// Says when a wait must end. It is made from a Python timeout: seconds, or
/// None for ever.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws: InvalidArgument for a negative or not finite number.
  static Deadline from_timeout(pybind11::handle timeout, const char* where);
  static Deadline never() { return {}; }
  static Deadline after(std::chrono::nanoseconds time);

  bool has_passed() const { return is_set_ && Clock::now() >= at_; }
  /// Returns the time left, at most one slice.
  std::chrono::nanoseconds next_slice() const;
  double seconds() const noexcept { return seconds_; }

 private:
  bool is_set_ = false;
  double seconds_ = 0;
  Clock::time_point at_;
};

/// Throws: Timeout naming the length of the wait.
[[noreturn]] void throw_timeout(const char* where, const Deadline& deadline);

/// Calls `wait_for(slice)` without the GIL until it returns true. Signals are
/// handled between slices, so that Ctrl-C ends a wait.
/// Throws: Timeout, the errors of `wait_for`, KeyboardInterrupt.
template <typename WaitFor>
void wait_in_slices(const char* where, const Deadline& deadline,
                    WaitFor wait_for) {
  while (true) {
    bool is_done = false;
    {
      const WithoutGil no_gil;
      is_done = wait_for(deadline.next_slice());
    }
    if (is_done) return;
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
    if (deadline.has_passed()) throw_timeout(where, deadline);
  }
}

/// Runs `work` without the GIL. Ctrl-C, and any signal whose handler raises,
/// ends the waits of gpuos in it. Examples are waits for room in a queue and
/// for a compiler.
/// Throws: the errors of `work`, and the exception of the handler.
template <typename Work>
auto interruptible(Work work) {
  try {
    WithoutGil no_gil;
    const Interrupt interrupt(
        [](void* gil) noexcept {
          return static_cast<WithoutGil*>(gil)->has_signal_raised();
        },
        &no_gil);
    return work();
  } catch (const Cancelled&) {
    if (PyErr_Occurred() != nullptr) throw pybind11::error_already_set();
    throw;
  }
}

}  // namespace gpuos::python
