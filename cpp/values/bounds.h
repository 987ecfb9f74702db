#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuos {

/// The bounds of a column of addresses.
struct Bounds {
  std::uint64_t low;
  std::uint64_t high;
  std::uint64_t bits;  // every bit that some address has
};

/// Requires a `count` of at least 1. Addresses are below 2^63, like those of
/// user memory.
Bounds bounds_of(const std::uint64_t* addresses, std::size_t count) noexcept;

/// Returns whether some [lows[i], highs[i]) has bytes in common with [low,
/// high).
bool any_overlaps(const std::int64_t* lows, const std::int64_t* highs,
                  std::size_t count, std::int64_t low,
                  std::int64_t high) noexcept;

}  // namespace gpuos
