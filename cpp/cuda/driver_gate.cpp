#include "cuda/driver_gate.h"

#include <chrono>
#include <thread>

namespace gpuos::cu {
namespace {

/// A load takes about 25 us, and a sleep takes longer.
constexpr int kEagerTurns = 1000;
constexpr std::chrono::microseconds kStep{100};

}  // namespace

void DriverGate::wait(std::unique_lock<std::mutex>& lock) {
  for (int turn = 0; !lock.try_lock(); ++turn) {
    health_.check();
    if (turn < kEagerTurns) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kStep);
    }
  }
}

}  // namespace gpuos::cu
