#pragma once

#include <Python.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpuos::python {

/// Lets other threads run Python for as long as it lives.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { take_back(); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

  /// Runs the handlers of signals that came. Returns true if one raised, and
  /// its exception is pending.
  bool has_signal_raised() noexcept {
    // Handlers run only in the main thread. A daemon thread might stay here
    // when the interpreter exits, in the middle of a compilation. glibc 2.28,
    // for which wheels are built, does not have gettid().
    if (syscall(SYS_gettid) != getpid()) return false;
    take_back();
    const bool has_raised = PyErr_CheckSignals() != 0;
    state_ = PyEval_SaveThread();
    return has_raised;
  }

 private:
  void take_back() noexcept {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      // Before 3.14 an exiting interpreter ends a daemon thread here by
      // unwinding its stack, which C++ may not let pass. The thread stays, as
      // in 3.14: https://docs.python.org/3.14/c-api/init.html
      for (;;) pause();
    }
  }

  PyThreadState* state_;
};

/// Calls `work` without the GIL.
template <typename Work>
auto released(Work work) {
  const WithoutGil no_gil;
  return work();
}

/// Returns a function that calls `member` without the GIL. Another thread may
/// hold a lock of the object and wait for the GIL.
template <typename Class, typename Result, typename... Args>
auto without_gil(Result (Class::*member)(Args...) const) {
  return [member](const Class& self, Args... args) {
    const WithoutGil no_gil;
    return (self.*member)(args...);
  };
}

}  // namespace gpuos::python
