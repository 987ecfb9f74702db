#pragma once

#include <mutex>

#include "cuda/watchdog.h"

namespace gpuos::cu {

/// Keeps other threads out of the driver while a module is loaded. The driver
/// would make them wait for the load, and the load waits for running tasks,
/// perhaps for an endless one. Threads that wait at the gate instead see that
/// the runtime died.
///
/// Threads: any.
class DriverGate {
 public:
  explicit DriverGate(const Health& health) : health_(health) {}

  /// Keeps other threads out while the result exists. Used by calls that do not
  /// wait for the device, and by the load itself.
  /// Throws: TaskError if the runtime dies before it is this thread's turn.
  std::unique_lock<std::mutex> pass() {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) wait(lock);
    return lock;
  }

 private:
  void wait(std::unique_lock<std::mutex>& lock);

  const Health& health_;
  std::mutex mutex_;
};

}  // namespace gpuos::cu
