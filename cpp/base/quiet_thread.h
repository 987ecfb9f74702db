#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace gpuos {

/// A thread that takes no signals: those are for the program's own threads.
template <typename F>
std::thread quiet_thread(F run) {
  struct Blocked {
    Blocked() noexcept {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~Blocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    sigset_t before;
  };
  const Blocked blocked;  // which the thread inherits
  return std::thread(std::move(run));
}

}  // namespace gpuos
