#include "program/loops/loop_table.h"

// Functions that are not inlined must not be shared with files that are
// compiled for other processors.
namespace gpuos_loops = gpuos;
#define GPUOS_LOOP_NAMESPACE gpuos_loops
#define gpuos gpuos_avx2  // NOLINT(readability-identifier-naming)
#include "program/loops/loops.h"
#undef gpuos

namespace gpuos::program {

LoopTable loops_avx2() noexcept {
  return {gpuos_avx2::program::kLoops.loops,
          gpuos_avx2::program::kMemoryLoops.loops,
          gpuos_avx2::program::kLoops.sums};
}

}  // namespace gpuos::program
