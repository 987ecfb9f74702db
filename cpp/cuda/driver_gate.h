#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "cuda/watchdog.h"
#include "driver/context.h"

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

/// Remembers which addresses are plain memory of the device: a task with a host
/// pointer would kill the context, and asking the driver each time costs more
/// than a task does.
///
/// Threads: the submit lock.
class AddressCache {
 public:
  AddressCache(const Context& context, DriverGate& gate)
      : context_(context), gate_(gate) {}

  bool is_device_memory(std::uint64_t address) {
    if (is_known(address)) return true;
    if (!ask(address)) return false;
    const std::uint64_t page = address >> kPageBits;
    pages_[page % kEntries] = page;
    return true;
  }
  /// Looks without asking the driver. Returns false if the driver must be
  /// asked.
  bool is_known(std::uint64_t address) const noexcept {
    const std::uint64_t page = address >> kPageBits;
    // An empty entry has page 0, where no device memory is.
    return page != 0 && pages_[page % kEntries] == page;
  }

 private:
  // Device memory is mapped in pieces of 2 MiB.
  static constexpr unsigned kPageBits = 21;
  static constexpr std::size_t kEntries = 4096;

  bool ask(std::uint64_t address) const;

  const Context& context_;
  DriverGate& gate_;
  std::array<std::uint64_t, kEntries> pages_{};
};

}  // namespace gpuos::cu
