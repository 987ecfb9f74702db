#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpuos/requests.h"

namespace gpuos::requests {

/// Owners that requests write, to see whether any request meets another. Its
/// memory is used again.
///
/// Many requests of streams meet none, and then nobody needs to know their
/// owners: one word for each output and a look for each operand tell it.
class Written {
 public:
  /// Whether no request reads or writes what another one writes, by owners,
  /// and none reduces, which could share its loop over a row with another.
  bool are_independent(std::span<const Request> requests);

 private:
  void clear(std::size_t owners);
  /// The place of `owner`, or the free one where it belongs.
  const void*& place_of(const void* owner) noexcept {
    // The high bits are the well mixed ones: addresses lie at even distances.
    std::size_t i = static_cast<std::size_t>(
        reinterpret_cast<std::uint64_t>(owner) * 0x9e3779b97f4a7c15 >> shift_);
    while (places_[i] != nullptr && places_[i] != owner)
      i = (i + 1) & (places_.size() - 1);
    return places_[i];
  }
  bool add_outputs(std::span<const Request> requests);
  bool is_read_elsewhere(const Request& request) noexcept;

  std::vector<const void*> places_;  // a power of two; null: free
  int shift_ = 0;                    // of a hash, so that a place is left
};

}  // namespace gpuos::requests
