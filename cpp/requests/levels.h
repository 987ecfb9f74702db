#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "requests/alias_analysis.h"
#include "requests/arrays.h"
#include "requests/groups.h"

namespace gpuos::requests {

/// Orders groups by the number of groups that must run before them. The groups
/// of a level are independent and run in parallel. Equal steps of many
/// independent chains are therefore together.
///
/// This order is as good as the groups' own. Two groups conflict if they touch
/// the same owner and one of them writes; then the later one has the higher
/// level. If owners do not show the conflicts, each group is a level.
class Levels {
 public:
  void run(const Arrays& arrays, AliasAnalysis& aliases, const Groups& groups);

  std::size_t count() const noexcept { return ends_.size(); }
  /// Returns the groups of a level in their order.
  std::span<const Group* const> at(std::size_t level) const noexcept {
    const std::size_t begin = level == 0 ? 0 : ends_[level - 1];
    return {sorted_.data() + begin, ends_[level] - begin};
  }

 private:
  struct LeveledGroup {
    const Group* group = nullptr;
    std::uint32_t level = 0;  // from 1 on
  };

  /// Returns one more than the highest level that the group meets.
  std::uint32_t level_of(const Group& group) const;
  void note(const Group& group, std::uint32_t level);
  void sort();

  const Arrays* arrays_ = nullptr;
  AliasAnalysis* aliases_ = nullptr;
  const Groups* groups_ = nullptr;
  std::vector<LeveledGroup> leveled_;
  std::vector<std::uint32_t> ends_;  // of each level in sorted_
  std::vector<const Group*> sorted_;
};

}  // namespace gpuos::requests
