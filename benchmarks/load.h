#pragma once

#include <cstdint>

#include "loops.h"

namespace gpuos::bench {

/// Replaces an operator `swaps` times, rolls it back and switches its alias.
/// Meanwhile another thread submits it without a pause, at least `min_tasks`
/// times. Every body adds 1 to each element of the task's own buffer, so a
/// buffer counts its tasks.
///
/// Returns several times for each swap. "pause_us" is the pause of the queue.
/// "load_us" is the part of it in which the driver loads the module. "swap_ms"
/// is replace() with its compilation. "rollback_us" and "switch_us" follow.
/// "loads" counts the loads of these two, each of which would be a pause.
/// The result has one number for all swaps as "tasks", "lost" (tasks without
/// their work), "wrong" (elements with an unexpected count) and "seconds".
Times swap_under_load(Rig& rig, int swaps, std::uint64_t min_tasks);

/// Times cuCtxSynchronize(), which is cudaDeviceSynchronize(). "idle_us" is the
/// time after one awaited task. During "saturated_us" a thread keeps the queue
/// full.
Times synchronize_beside(Rig& rig, int idle_reps, int saturated_reps);

}  // namespace gpuos::bench
