#pragma once

// Read before the device headers are given another namespace, so it includes
// none of them.
#include <cstddef>
#include <cstdint>

namespace gpuos::program {

/// Cells of one chunk. `out` is one of the operands or apart from them.
struct LoopOperands {
  void* out = nullptr;
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  std::size_t count = 0;
  std::uint64_t place = 0;  // an argmax: the number of the first element
};
using Loop = void (*)(const LoopOperands& operands);

/// `count` elements in memory, `stride` bytes apart, and `runs` times as many,
/// `between` bytes apart.
struct LoopMemory {
  void* cells;
  char* memory;
  std::int64_t stride;
  std::size_t count;
  std::size_t runs;
  std::int64_t between;
};
using MemoryLoop = void (*)(const LoopMemory& memory);

/// The values of a reduction of one row: Sums in device/compiled/reductions.h,
/// which begin with the result.
struct LoopSums {
  void (*take)(void* sums, const void* values, std::size_t count,
               std::uint64_t at, std::uint64_t columns);
  void (*finish)(void* sums, std::uint64_t columns);
  void (*push)(void* sums, std::uint64_t number);
  void (*finish_tree)(void* sums, std::uint64_t count);
};

/// Loops by opcode, or null. These rules hold for reductions other than places:
/// - SumInit: `out` gets the initial value, combined with `a` if it is given.
/// - SumStep: `out` is combined with `a` element by element.
/// - LoopSums are indexed by the code of the step.
struct LoopTable {
  const Loop* loops;
  const MemoryLoop* memory;
  const LoopSums* sums;
};

/// For the processor that runs this.
const LoopTable& loop_table() noexcept;

LoopTable loops_baseline() noexcept;
#if defined(GPUOS_WIDE_LOOPS)
LoopTable loops_avx2() noexcept;
LoopTable loops_avx512() noexcept;
#endif

}  // namespace gpuos::program
