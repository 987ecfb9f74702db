#pragma once

#include <cstdint>
#include <vector>

#include "queue/ring.h"

namespace gpuos {

/// The arrays of a ring in the memory of the host.
struct RingArrays {
  explicit RingArrays(std::uint32_t capacity)
      : descriptors(capacity),
        blocks(capacity),
        done(capacity),
        started(capacity) {}

  Ring make(std::uint64_t first_position = 0) {
    return Ring(
        {descriptors.data(), blocks.data(), done.data(), started.data()},
        static_cast<std::uint32_t>(done.size()), first_position);
  }

  std::vector<abi::Descriptor> descriptors;
  std::vector<abi::ArgBlock> blocks;
  std::vector<std::uint32_t> done;
  std::vector<std::uint64_t> started;
};

}  // namespace gpuos
