#include "program/loops/loop_table.h"

// Functions that are not inlined must not be shared with files that are
// compiled for other processors.
namespace gpuos_loops = gpuos;
#define GPUOS_LOOP_NAMESPACE gpuos_loops
#define gpuos gpuos_baseline  // NOLINT(readability-identifier-naming)
#include "program/loops/loops.h"
#undef gpuos

namespace gpuos::program {

LoopTable loops_baseline() noexcept {
  return {gpuos_baseline::program::kLoops.loops,
          gpuos_baseline::program::kMemoryLoops.loops,
          gpuos_baseline::program::kLoops.sums};
}

}  // namespace gpuos::program
