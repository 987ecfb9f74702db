#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpuos/operator.h"
#include "gpuos/runtime.h"
#include "queue/call.h"
#include "requests/alias_analysis.h"
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
  void run(const RequestArrays& arrays, AliasAnalysis& aliases,
           const Groups& groups);

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

  const RequestArrays* arrays_ = nullptr;
  AliasAnalysis* aliases_ = nullptr;
  const Groups* groups_ = nullptr;
  std::vector<LeveledGroup> leveled_;
  std::vector<std::uint32_t> ends_;  // of each level in sorted_
  std::vector<const Group*> sorted_;
};

/// The tasks of one level. None meets another, so they are submitted together.
class LevelCalls {
 public:
  explicit LevelCalls(Runtime& runtime);

  /// Forgets calls that were not submitted because of a failure.
  void begin(const Stream& stream);
  /// Adds a call of an elementwise operator over arrays of `elems` elements
  /// without gaps. The addresses are the output's, then the inputs'.
  /// Throws: as Runtime::submit().
  ///
  /// It is inline so that no argument is passed on. The processor would wait
  /// for a copy of data that was just written in parts.
  void add(const Operator& op, DType dtype, std::uint64_t elems,
           std::span<const std::uint64_t> addresses,
           std::span<const Scalar> params) {
    write_call(calls_[count_], *op.record(), dtype, elems, addresses, params);
    count();
  }
  /// Throws: as Runtime::submit().
  void add(const Program& program, std::span<const TensorView> inputs,
           std::span<const TensorView> outputs,
           std::span<const Scalar> scalars);
  /// Submits the added calls. Throws: as Runtime::submit().
  void flush();

 private:
  /// Calls that are submitted together.
  static constexpr std::size_t kMost = 64;
  /// Fewer are left to find their way into chains.
  static constexpr std::size_t kFewest = 4;

  void count() {
    if (++count_ == kMost) flush();
  }

  Runtime& runtime_;
  Stream stream_;
  std::vector<Call> calls_;  // kMost of them, of which count_ are added
  std::size_t count_ = 0;
};

}  // namespace gpuos::requests
