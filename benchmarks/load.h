#pragma once

#include <cstdint>

#include "loops.h"

namespace gpuos::bench {

/// Replaces an operator `swaps` times, takes the replacement back and switches
/// an alias of it, while another thread submits it without
/// a pause, at least `min_tasks` times. Every body adds 1 to each element of
/// the task's own buffer, so a buffer counts its tasks.
///
/// Gives for each swap "pause_us" (the queue stood still), "load_us" (the part
/// of it in which the driver loads the module), "swap_ms" (replace(), compiling
/// included), "rollback_us", "switch_us", and the "loads" of the last two, each
/// of which would be a pause. Gives one number for all as "tasks", "lost"
/// (tasks whose work is missing), "wrong" (elements with an unexpected count)
/// and "seconds".
Times swap_under_load(Rig& rig, int swaps, std::uint64_t min_tasks);

/// cuCtxSynchronize(), which is cudaDeviceSynchronize(): "idle_us" right after
/// one task was awaited, "saturated_us" beside a thread that keeps the queue
/// full.
Times synchronize_beside(Rig& rig, int idle_reps, int saturated_reps);

}  // namespace gpuos::bench
