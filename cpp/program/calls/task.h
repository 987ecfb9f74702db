#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "device/task_abi.h"
#include "gpuos/scalar.h"
#include "program/calls/layout.h"
#include "program/graph/plan.h"
#include "queue/workers.h"

namespace gpuos::program {

/// Lanes of a worker that can share rows: a power of two, and not more than the
/// interpreter's `cells` have room for.
std::uint32_t row_lanes(const Workers& workers, std::uint32_t cells) noexcept;

/// The number of workers in a pass and the division of its work.
struct Split {
  std::uint32_t tiles = 1;
  std::uint32_t row_lanes = 1;
  std::uint32_t slices = 1;
  bool is_transposed = false;
  bool shares_rows = false;  // each slice of a row is a tile of its own

  /// Returns whether a task cut so differs from one cut like `other` in nothing
  /// but the number of its tiles.
  bool is_alike(const Split& other) const noexcept {
    return row_lanes == other.row_lanes && slices == other.slices &&
           is_transposed == other.is_transposed &&
           shares_rows == other.shares_rows;
  }
};

/// Returns whether rows have the lanes that device/interpreter/device_order.h
/// asks for, however long they are.
bool has_ordered_lanes(const Workers& workers, std::uint32_t cells) noexcept;

/// Returns the most rows with `columns` columns that one task may have.
std::uint64_t most_rows(const Pass& pass, std::uint64_t columns,
                        const Workers& workers) noexcept;

Split split_of(const Pass& pass, const Layout& layout, const Workers& workers);

/// Memory for the partial results of the slices of rows: a counter of 4 bytes
/// for each group of rows, then the values. The counters are 0 before and after
/// the task.
struct SliceMemory {
  std::uint32_t counters = 0;  // none: rows are not sliced
  std::size_t bytes = 0;       // of the values
};

SliceMemory gathered_of(const Pass& pass, const Layout& layout,
                        const Split& split, const Workers& workers);

/// A task without the addresses of its text, buffers and partial results, and
/// without the scalars of a call.
struct TaskModel {
  TaskModel() {}  // leaves the arguments unwritten

  std::uint64_t count = 0;
  std::uint32_t tiles = 0;
  std::uint32_t arg_count = 0;
  /// Instead of an access' address: how far it is from its buffer's.
  std::array<std::uint64_t, abi::kMaxArgs> args;
  std::uint32_t flat = 0;  // accesses without gaps, if that is all of them
  std::uint32_t gathered_arg = 0;
  SliceMemory gathered{};

  static constexpr std::uint32_t kText = 0;
  /// The places of the pass's first access and first scalar.
  static constexpr std::uint32_t kAddresses = 1;
  static std::uint32_t first_scalar(const Pass& pass) noexcept {
    return kAddresses + static_cast<std::uint32_t>(pass.accesses.size());
  }
};

/// Returns the bits of a scalar in a task. A complex128 is passed in two parts.
/// Throws: InvalidArgument for a number that its dtype cannot hold.
std::uint64_t scalar_bits(const gpuos::Scalar& value, DType dtype,
                          bool is_imaginary);
inline std::uint64_t scalar_bits(const gpuos::Scalar& value,
                                 const ScalarWord& word) {
  return scalar_bits(value, word.dtype, word.is_imaginary);
}

/// Stores a task's tables that do not fit its arguments. Returns the address.
using FarTable = std::function<std::uint64_t(std::span<const std::uint64_t>)>;

/// The parts that decide the arguments of a task.
struct TaskParts {
  const Plan& plan;
  const Pass& pass;
  const Layout& layout;
  const Split& split;
  std::span<const std::int64_t> sizes;
  std::uint32_t lanes;  // of a worker that work
};

/// Completes `task` except for `gathered`. Throws: InvalidArgument for a number
/// of the program that its dtype cannot hold.
void write_arguments(const TaskParts& parts, const FarTable& far_table,
                     TaskModel& task);

/// Calls `f` for parts of `layout` of at most `limit` elements each, or rows
/// if the pass has reductions.
void for_each_piece(const Pass& pass, const Layout& layout, std::uint64_t limit,
                    const std::function<void(const Layout&)>& f);

}  // namespace gpuos::program
