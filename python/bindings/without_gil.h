#pragma once

#include <Python.h>
#include <unistd.h>

namespace gpuos::python {

/// Lets other threads run Python for as long as it lives.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      // Before 3.14 an interpreter that goes down ends a daemon thread here by
      // unwinding its stack, which C++ may not let pass. Stay, as 3.14 does:
      // https://docs.python.org/3.14/c-api/init.html
      for (;;) pause();
    }
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace gpuos::python
