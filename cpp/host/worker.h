#pragma once

#include <chrono>
#include <cstdint>

#include "host/shared.h"

namespace gpuos::host {

/// The loop of one worker thread; returns after Shared::stop().
void run_worker(Shared& shared, std::uint32_t index);

/// Runs unclaimed tasks at positions before `end`, for which the calling thread
/// waits. Returns when none is left or the deadline has passed. Workers run
/// tasks of whole operators, and all tasks while one of those is pending.
/// Returns whether it ran a task.
bool help(Shared& shared, std::uint64_t end,
          std::chrono::steady_clock::time_point deadline);

}  // namespace gpuos::host
