// Bounds how long a request waits that nobody asks for.
#pragma once

#include <chrono>

namespace gpuos::bridge {

/// Begin to look twice in each `interval` whether something waits, and flush
/// what has waited since the last look. Once more: another interval.
void start_timer(std::chrono::microseconds interval);
/// Ends the thread. Without the GIL: what it flushes may need it.
void stop_timer();
/// In the child of a fork, which has no such thread.
void forget_timer();

}  // namespace gpuos::bridge
