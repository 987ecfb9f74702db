#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "device/task_abi.h"
#include "gpuos/runtime.h"
#include "queue/hazards.h"
#include "queue/operator_record.h"

namespace gpuos {

/// A checked submission of one task.
struct Call {
  Call() { std::fill_n(args.begin(), abi::kInlineArgs, 0); }

  const OperatorRecord* named = nullptr;  // may be an alias
  const OperatorRecord* op = nullptr;     // resolved
  std::uint32_t slot = 0;
  DType dtype = DType::Float32;
  std::uint64_t count = 0;      // elements of the output
  std::uint32_t tiles = 0;      // descriptors, each with the same arguments; 0:
                                // the elements decide
  std::uint32_t buffers = 0;    // output and inputs
  std::uint32_t arg_count = 0;  // and scalars
  // Filled up to their counts. The rest is not initialized.
  std::array<std::uint64_t, abi::kMaxArgs> args;
  std::array<Access, abi::kMaxArgs> accesses;
  std::uint32_t access_count = 0;

  std::span<const Access> access_view() const {
    return {accesses.data(), access_count};
  }
};

/// Sets `op` and `slot` to the current meaning of `named`. It stays valid until
/// the tasks are queued only under the submit lock: see
/// OperatorRegistry::drop().
/// Throws: InvalidArgument, HasChanged if the call was made for other
/// parameters.
void resolve(Call& call);

/// Checks everything that a caller can get wrong.
/// Throws: InvalidArgument `operator: expected X, got Y`. `params` by
/// reference: callers have it on the stack, just written, and a copy of it as a
/// whole would wait for both of its words.
Call make_call(const OperatorRecord& named, std::span<const TensorView> inputs,
               const TensorView& out, const std::span<const Scalar>& params);

/// Makes `call` that of an elementwise operator over arrays of `elems` elements
/// without gaps. `addresses` has the output's, then the inputs'.
void write_call(Call& call, const OperatorRecord& named, DType dtype,
                std::uint64_t elems, std::span<const std::uint64_t> addresses,
                std::span<const Scalar> params);

/// A call of many tasks. `count` is that of the largest task, and each access
/// spans all tasks.
struct ManyCall : Call {
  /// Columns of arguments that differ by task. Null: `args` has the argument.
  std::array<const Column*, abi::kMaxArgs> columns{};
};
ManyCall make_many_call(const OperatorRecord& named, const ManyTasks& many);

/// Elements of the largest task. Throws: InvalidArgument.
std::int64_t largest_of(const OperatorRecord& op, const ManyTasks& many);
/// Makes argument `arg`, the output or an input, a column of addresses.
/// Throws: InvalidArgument for an address that is not aligned to an element.
void add_column(ManyCall& call, const OperatorRecord& op, std::size_t arg,
                const Column& column, const ManyTasks& many);

}  // namespace gpuos
