#pragma once

#include <array>
#include <cstdint>

#include "cuda/driver_gate.h"
#include "driver/context.h"

namespace gpuos::cu {

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
