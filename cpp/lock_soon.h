#pragma once

#include <mutex>

#include "cpu_relax.h"

namespace gpuos {

/// Takes a lock that others hold for less time than it takes to go to sleep
/// and be woken: looks at it for 1 to 2 us before that.
inline void lock_soon(std::unique_lock<std::mutex>& lock) {
  constexpr int kTurns = 64;
  for (int turn = 0; turn < kTurns && !lock.try_lock(); ++turn) cpu_relax();
  if (!lock.owns_lock()) lock.lock();
}

}  // namespace gpuos
