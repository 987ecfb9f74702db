#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpuos/requests.h"
#include "requests/arrays.h"
#include "requests/owner_table.h"

namespace gpuos::requests {

/// Owners that requests write, to see whether any request meets another. Its
/// memory is used again.
///
/// Many requests of streams depend on no other. This table shows that without
/// their owners, by a word for each output and a lookup for each operand.
class WriteSet {
 public:
  /// Returns whether no request reads or writes what another one writes, by
  /// owners. Also false if one reduces, because it could share its loop over a
  /// row.
  bool are_independent(std::span<const Request> requests);

 private:
  void clear(std::size_t owners);
  /// The place of `owner`, or the free one where it belongs.
  const void*& place_of(const void* owner) noexcept {
    // The high bits are mixed well. Addresses have even distances.
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

/// The owners of a request's arrays.
struct RequestOwners {
  std::uint32_t out = kNone;
  std::array<std::uint32_t, kMaxRequestOperands> operands{};
};

/// The first analysis of all requests: their owners, whether these are
/// disjoint, and whether any request meets another.
class AliasAnalysis {
 public:
  /// `owners_are_disjoint`: as RequestRunner::run().
  void run(const Arrays& arrays, bool owners_are_disjoint);

  /// Empty if all are apart and that was known of the owners.
  OwnerTable& owners() noexcept { return owners_; }
  const RequestOwners& of(std::uint32_t request) const noexcept {
    return of_[request];
  }
  /// Two owners have memory in common and one of them is written to, so
  /// owners do not tell which requests depend on each other.
  bool has_overlaps() const noexcept { return has_overlaps_; }
  /// Returns whether no request reads or writes memory that another one writes,
  /// and none can share a loop over a row with another. Any order then gives
  /// the same.
  bool are_independent() const noexcept {
    return are_independent_ && !has_overlaps_;
  }

 private:
  struct Range {
    std::uint64_t low = ~std::uint64_t{0};
    std::uint64_t high = 0;
    bool is_written = false;
  };

  void prefetch(const Arrays& arrays, std::size_t request) const noexcept;
  void find_owners(const Arrays& arrays);
  void find_ranges(const Arrays& arrays);
  void widen(std::uint32_t owner, const ByteRange& range);

  WriteSet written_;
  OwnerTable owners_;
  std::vector<RequestOwners> of_;
  std::vector<Range> ranges_;
  bool has_overlaps_ = false;
  bool are_independent_ = false;
};

}  // namespace gpuos::requests
