#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "call.h"
#include "gpuos/scalar.h"
#include "program/layout.h"
#include "program/plan.h"
#include "program/workers.h"

namespace gpuos::program {

/// Lanes of a worker that can share rows: a power of two, and not more than the
/// interpreter's `cells` have room for.
std::uint32_t row_lanes(const Workers& workers, std::uint32_t cells) noexcept;

/// How many workers take part in a pass, and who does what.
struct Split {
  std::uint32_t tiles = 1;
  std::uint32_t row_lanes = 1;
  std::uint32_t slices = 1;
  bool is_transposed = false;
};

Split split_of(const Pass& pass, const Layout& layout, const Workers& workers);

/// Bytes in which the slices of rows leave what they gathered, the counters
/// before them included; 0 if rows are not sliced.
std::size_t gathered_bytes(const Pass& pass, const Layout& layout,
                           const Split& split, const Workers& workers);

/// The bits of a pass' scalars as a task carries them.
/// Throws: InvalidArgument for a number that its dtype cannot hold.
void find_scalars(const Plan& plan, const Pass& pass,
                  std::span<const gpuos::Scalar> given,
                  std::span<const std::int64_t> sizes, std::uint64_t* words);

/// Where a task's tables lie if they do not fit its arguments.
using FarTable = std::function<std::uint64_t(std::span<const std::uint64_t>)>;

/// Completes `call` but for the operator and the accesses. `text` is the
/// address of what the interpreter runs.
void write_arguments(const Pass& pass, const Layout& layout, const Split& split,
                     std::uint64_t text, std::span<const std::uint64_t> scalars,
                     std::uint64_t gathered, std::uint32_t lanes,
                     const FarTable& far_table, Call& call);

/// Calls `f` for parts of `layout` of at most `limit` elements each, or rows
/// if the pass has reductions.
void for_each_piece(const Pass& pass, const Layout& layout, std::uint64_t limit,
                    const std::function<void(const Layout&)>& f);

}  // namespace gpuos::program
