#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpuos::program {

/// The other work that is queued. It decides how many workers share a task.
enum class Load : std::uint8_t {
  Idle,    // nothing else is pending
  Busy,    //
  Backlog  // many tasks have collected: only throughput matters
};

/// One value for each Load.
template <typename T>
class ByLoad {
 public:
  T& operator[](Load load) noexcept {
    return values_[static_cast<std::size_t>(load)];
  }
  const T& operator[](Load load) const noexcept {
    return values_[static_cast<std::size_t>(load)];
  }

 private:
  std::array<T, 3> values_{};
};

/// The workers that run a pass.
struct Workers {
  std::uint32_t count = 1;
  std::uint32_t lanes = 1;  // of one worker; 1: it does all elements of a tile
  Load load = Load::Busy;
  // For the device: sums have the order of device/interpreter/device_order.h.
  bool are_deterministic = false;
};

}  // namespace gpuos::program
