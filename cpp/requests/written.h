#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpuos/requests.h"

namespace gpuos::requests {

/// The owners that requests write, to detect whether any request meets another.
/// It reuses its memory.
///
/// Many streams have no conflicts and then need no table of owners. One word
/// per output and one lookup per operand show this.
class Written {
 public:
  /// Returns whether no request reads or writes what another one writes, by
  /// owners, and none reduces, which could share its loop over a row with
  /// another.
  bool are_independent(std::span<const Request> requests);

 private:
  void clear(std::size_t owners);
  /// The place of `owner`, or the free one where it belongs.
  const void*& place_of(const void* owner) noexcept {
    // Uses the high bits, which are well mixed: addresses have even distances.
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
