// Bounds the waiting time of a request that no code reads.
#pragma once

#include <chrono>

namespace gpuos::bridge {

/// Begin to look three times in each `interval` whether something waits: the
/// second look at the same requests asks who adds to them to start them, the
/// third flushes them. Once more: another interval.
void start_timer(std::chrono::microseconds interval);
/// Until start_timer() it does not look.
void pause_timer();
/// Ends the thread. Without the GIL: what it flushes may need it.
void stop_timer();
/// In the child of a fork, which has no such thread.
void forget_timer();
/// Something waits again, see Pending::lets_timer_sleep(): while nothing does
/// the thread sleeps, so that a program that rests has its processor for
/// itself. Cheap for a thread that is awake.
void wake_timer();

}  // namespace gpuos::bridge
