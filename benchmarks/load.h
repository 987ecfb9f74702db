#pragma once

#include <cstdint>

#include "loops.h"

namespace gpuos::bench {

/// Replaces an operator `swaps` times, takes the replacement back and switches
/// an alias of it, while another thread submits it without
/// a pause, at least `min_tasks` times. Every body adds 1 to each element of
/// the task's own buffer, so a buffer counts its tasks.
///
/// Gives "pause_us", how long the queue stood still, of which "load_us" in the
/// driver to load the module; "swap_ms" of replace(), compiling included;
/// "rollback_us" and "switch_us", and their "loads", each of which would be a
/// pause. One number have "tasks", "lost" (tasks whose work is missing),
/// "wrong" (elements with another count than expected) and "seconds".
Times swap_under_load(Rig& rig, int swaps, std::uint64_t min_tasks);

/// cuCtxSynchronize(), which is cudaDeviceSynchronize(): "idle_us" right after
/// one task was awaited, "saturated_us" beside a thread that keeps the queue
/// full.
Times synchronize_beside(Rig& rig, int idle_reps, int saturated_reps);

}  // namespace gpuos::bench
