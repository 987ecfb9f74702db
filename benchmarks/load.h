#pragma once

#include <cstdint>
#include <vector>

#include "loops.h"

namespace gpuos::bench {

struct SwapReport {
  std::vector<double> pause_us;  // how long the queue stood still
  std::vector<double> load_us;   // of that, in the driver to load the module
  std::vector<double> swap_ms;   // replace(), compiling included
  std::vector<double> rollback_us;
  std::vector<double> switch_us;     // of an alias
  std::uint64_t loads_of_these = 0;  // each of which would be a pause
  std::uint64_t tasks = 0;
  std::uint64_t lost = 0;   // tasks whose work is missing
  std::uint64_t wrong = 0;  // elements with another count than expected
  double seconds = 0;
};
/// Replaces an operator `swaps` times, takes the replacement back and switches
/// an alias of it, while another thread submits it without
/// a pause, at least `min_tasks` times. Every body adds 1 to each element of
/// the task's own buffer, so a buffer counts its tasks.
SwapReport swap_under_load(Rig& rig, int swaps, std::uint64_t min_tasks);

/// cuCtxSynchronize(), which is cudaDeviceSynchronize(): "idle_us" right after
/// one task was awaited, "saturated_us" beside a thread that keeps the queue
/// full.
Times synchronize_beside(Rig& rig, int idle_reps, int saturated_reps);

}  // namespace gpuos::bench
