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

/// `count` must be at least 1. Addresses are below 2^63, as those of a user's
/// memory are.
Bounds bounds_of(const std::uint64_t* addresses, std::size_t count) noexcept;

/// Returns whether some [lows[i], highs[i]) has bytes in common with [low,
/// high).
bool any_overlaps(const std::int64_t* lows, const std::int64_t* highs,
                  std::size_t count, std::int64_t low,
                  std::int64_t high) noexcept;

}  // namespace gpuos
