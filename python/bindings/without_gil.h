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

  /// Runs the handlers of signals that came. True: one raised, and its
  /// exception is pending.
  bool has_signal_raised() noexcept {
    // Handlers run in the main thread alone. A daemon thread might stay here
    // when the interpreter goes down, in the middle of a compilation.
    // gettid() is not in glibc 2.28, for which wheels are built.
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
      // Before 3.14 an interpreter that goes down ends a daemon thread here by
      // unwinding its stack, which C++ may not let pass. Stay, as 3.14 does:
      // https://docs.python.org/3.14/c-api/init.html
      for (;;) pause();
    }
  }

  PyThreadState* state_;
};

}  // namespace gpuos::python
