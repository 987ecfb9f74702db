#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "device/operator.h"

namespace gpuos::host {

/// A function that fills a slot.
struct LoadedOperator {
  OpFn function = nullptr;
  std::shared_ptr<const void> owner;  // of `function`
  std::string name;
};

/// Slot -> operator.
///
/// Threads: a slot is set or cleared while no published task uses it, so that
/// workers read it with no lock; the publication orders the two.
class OperatorTable {
 public:
  OpFn function(std::uint32_t slot) const noexcept { return functions_[slot]; }
  void set(std::uint32_t slot, LoadedOperator loaded) {
    functions_[slot] = loaded.function;
    const std::lock_guard lock(mutex_);
    names_[slot] = std::move(loaded.name);
    std::swap(owners_[slot], loaded.owner);
  }
  void clear(std::uint32_t slot) { set(slot, {}); }

  std::string name(std::uint32_t slot) const {
    const std::lock_guard lock(mutex_);
    return names_[slot];
  }

 private:
  std::array<OpFn, abi::kSlots> functions_{};
  mutable std::mutex mutex_;  // names are also read for a stuck operator
  std::array<std::string, abi::kSlots> names_;
  std::array<std::shared_ptr<const void>, abi::kSlots> owners_;
};

}  // namespace gpuos::host
