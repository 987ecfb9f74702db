#pragma once

#include <cstdint>

namespace gpuos::program {

/// Who runs a pass.
struct Workers {
  std::uint32_t count = 1;
  std::uint32_t lanes = 1;  // of one worker; 1: it does all elements of a tile
  bool are_idle = false;    // nothing else is pending
  bool have_backlog = false;  // see Submitter::has_backlog()
  // Of the device: sums have the order of device/program_device_order.h.
  bool are_deterministic = false;
};

}  // namespace gpuos::program
