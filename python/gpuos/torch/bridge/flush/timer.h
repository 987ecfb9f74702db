// Bounds the waiting time of a request that no code reads.
#pragma once

#include <chrono>

namespace gpuos::bridge {

/// Starts a thread that looks three times in each `interval` for pending
/// requests. The second look at the same requests makes the next add() start
/// them, and the third flushes them. A further call changes the interval.
void start_timer(std::chrono::microseconds interval);
/// Until start_timer() it does not look.
void pause_timer();
/// Ends the thread. The caller must not have the GIL, which the flush may need.
void stop_timer();
/// In the child of a fork, which has no such thread.
void forget_timer();
/// Something waits again, see Pending::lets_timer_sleep(): while nothing does
/// the thread sleeps, so that a program that rests has its processor for
/// itself. Cheap for a thread that is awake.
void wake_timer();

}  // namespace gpuos::bridge
