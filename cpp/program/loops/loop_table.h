#pragma once

// Read before the device headers are given another namespace, so it includes
// none of them.
#include <cstddef>
#include <cstdint>

namespace gpuos::program {

/// Cells of one chunk. `out` is one of the operands or apart from them.
struct LoopOperands {
  void* out;
  const void* a;
  const void* b;
  const void* c;
  std::size_t count;
  std::uint64_t place;  // an argmax: the number of the first element
};
using Loop = void (*)(const LoopOperands& operands);

/// `count` elements in memory, `stride` bytes apart.
struct LoopMemory {
  void* cells;
  char* memory;
  std::int64_t stride;
  std::size_t count;
};
using MemoryLoop = void (*)(const LoopMemory& memory);

/// By opcode; null where there is none.
struct LoopTable {
  const Loop* loops;
  const MemoryLoop* memory;
};

/// For the processor that runs this.
const LoopTable& loop_table() noexcept;

LoopTable loops_baseline() noexcept;
#if defined(GPUOS_WIDE_LOOPS)
LoopTable loops_avx2() noexcept;
LoopTable loops_avx512() noexcept;
#endif

}  // namespace gpuos::program
