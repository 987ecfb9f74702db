#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpuos/tensor_view.h"
#include "program/calls/task.h"
#include "program/calls/text_memory.h"
#include "program/calls/tiers.h"
#include "program/graph/plan.h"
#include "queue/workers.h"

namespace gpuos::program {

/// The code of a pass. Programs with a pass of this structure share it.
struct PassCode {
  Text text;
  std::uint32_t cells = 0;  // that the text needs
  std::shared_ptr<Tier> tier;
  // If set, a graph may read the text at any time. Any thread sets it, and it
  // is never cleared.
  std::atomic<bool> may_be_captured{false};
  std::uint64_t turn = 0;  // see PassCodes::take_unused()
};

/// A plan and the codes of its passes.
struct PlanCode {
  std::vector<PassCode*> fused;
  std::vector<PassCode*> split;
};

/// The arrays of one call.
struct CallViews {
  std::span<const TensorView> inputs;
  std::span<const TensorView> outputs;
};

/// The bytes that an array covers, relative to its address. It is empty if both
/// are equal.
struct Extent {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  bool is_empty() const noexcept { return low == high; }
};

struct PreparedAccess {
  Buffer buffer;
  Extent extent;  // may be empty
  bool writes = false;
};

/// A scalar that the call gives.
struct PreparedScalar {
  std::uint32_t arg = 0;  // of the task
  std::uint32_t argument = 0;
  DType dtype{};
  bool is_imaginary = false;  // as in ScalarWord
};

struct PreparedPass {
  const Pass* pass = nullptr;
  PassCode* code = nullptr;
  std::uint64_t elements = 0;
  std::vector<PreparedAccess> accesses;  // of the pass, in its order
  std::vector<PreparedScalar> scalars;
  ByLoad<std::vector<TaskModel>> tasks;  // of lanes == 1 for Busy only
};

/// An output and an input that must not overlap.
struct Disjoint {
  std::uint32_t output = 0;
  std::uint32_t input = 0;
  bool may_be_same = false;  // at the same address they are one array
};

/// The parts of a call that shapes and strides decide, so without addresses and
/// scalars. It is rewritten often, so its vectors keep their memory.
struct Prepared {
  /// The numbers that differ between calls, without addresses. It is empty
  /// until ready.
  std::vector<std::int64_t> key;
  /// One number of the key, which differs between most keys.
  std::int64_t glance = 0;
  std::vector<std::int64_t> sizes;
  std::vector<Extent> inputs;
  std::vector<Extent> outputs;
  std::vector<TensorView> temporaries;  // without memory
  std::vector<PreparedPass> passes;
  std::vector<Disjoint> disjoint;
  /// Pairs of outputs that must not overlap.
  std::vector<std::array<std::uint32_t, 2>> different;
  /// Far tables, which tasks read.
  std::vector<std::shared_ptr<void>> tables;
  ByLoad<bool> needs_memory;  // temporaries, tables or what tasks gather
  bool is_resizable = false;  // other sizes would change only numbers

  /// Returns whether it was prepared for arrays like these: as many, of these
  /// dtypes, shapes and strides.
  bool fits(const CallViews& call) const noexcept;
};

/// See Prepared::glance: how long the first output is.
inline std::int64_t glance_at(const CallViews& call) noexcept {
  return call.outputs.empty() || call.outputs[0].dims == 0
             ? 0
             : call.outputs[0].shape[0];
}

/// Gives a copy of a table to the device.
using KeepTable =
    std::function<std::shared_ptr<void>(std::span<const std::uint64_t>)>;

/// Adapts `prepared` from one plain call to another of the same program, which
/// is faster than prepare(). Returns false if the call is not plain. `prepared`
/// is then invalid until prepare() has written it. Throws: as
/// check_addresses().
bool resize(const CallViews& call, const Workers& workers, Prepared& prepared);

/// Throws: InvalidArgument for shapes that do not go together.
void prepare(const Plan& plan, const PlanCode& codes, const CallViews& call,
             const Workers& workers, const KeepTable& keep_table,
             Prepared& prepared);

}  // namespace gpuos::program
