#include "program/loops/loop_table.h"

namespace gpuos::program {
namespace {

LoopTable choose() noexcept {
#if defined(GPUOS_WIDE_LOOPS)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return loops_avx512();
  if (__builtin_cpu_supports("avx2")) return loops_avx2();
#endif
  return loops_baseline();
}

}  // namespace

const LoopTable& loop_table() noexcept {
  static const LoopTable table = choose();
  return table;
}

}  // namespace gpuos::program
