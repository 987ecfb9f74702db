#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "requests/arrays.h"
#include "requests/owners.h"
#include "requests/written.h"

namespace gpuos::requests {

/// The owners of a request's arrays.
struct OwnersOf {
  std::uint32_t out = kNone;
  std::array<std::uint32_t, kMaxRequestOperands> operands{};
};

/// The first analysis of all requests: their owners, whether these are
/// disjoint, and whether any request meets another.
class Survey {
 public:
  /// `owners_lie_apart`: as RequestRunner::run().
  void run(const Arrays& arrays, bool owners_lie_apart);

  /// Empty if all are apart and that was known of the owners.
  Owners& owners() noexcept { return owners_; }
  const OwnersOf& of(std::uint32_t request) const noexcept {
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

  Written written_;
  Owners owners_;
  std::vector<OwnersOf> of_;
  std::vector<Range> ranges_;
  bool has_overlaps_ = false;
  bool are_independent_ = false;
};

}  // namespace gpuos::requests
