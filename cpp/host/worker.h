#pragma once

#include <chrono>
#include <cstdint>

#include "host/shared.h"

namespace gpuos::host {

/// The loop of one worker thread; returns after Shared::stop().
void run_worker(Shared& shared, std::uint32_t index);

/// Runs tasks at positions before `end`, for which the calling thread waits,
/// until none is left that nobody has claimed, or the deadline has passed.
/// Tasks of whole operators, and all while one of them is pending, are left to
/// workers. Returns whether it ran some.
bool help(Shared& shared, std::uint64_t end,
          std::chrono::steady_clock::time_point deadline);

}  // namespace gpuos::host
