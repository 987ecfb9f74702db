// Decides when the workers of a residency leave.
#pragma once

#include "launch.h"
#include "memory.h"

namespace gpuos {

// The lanes of warp 0 that read these words while the warp polls.
enum : u32 { kParkLane = 4, kTicketLane = 5 };
// Polls between two looks at the clock.
enum : u32 { kClockPolls = 8 };

// The reasons why a resident worker leaves. A lane of warp 0 checks each.
class Watch {
 public:
  __device__ explicit Watch(const abi::Launch& launch)
      : launch_(launch), start_(now_ns()), idle_since_(start_) {
    if (threadIdx.x == kParkLane) word_ = &launch.state->park;
    if (threadIdx.x == kTicketLane) word_ = &launch.state->ticket;
  }

  // Returns what this lane loads in addition to the descriptor, or null.
  __device__ const u64* word() const { return word_; }

  // `value` is the word that the lane loaded.
  __device__ bool must_leave(u64 value) {
    if (threadIdx.x == kParkLane) return value >= launch_.residency;
    if (threadIdx.x != kTicketLane) return false;
    // Every task that any worker takes moves the ticket.
    if (value != ticket_) {
      ticket_ = value;
      is_idle_ = false;
    }
    if (++polls_ % kClockPolls != 0) return false;
    const u64 now = now_ns();
    if (!is_idle_) idle_since_ = now;
    is_idle_ = true;
    if (now - start_ < launch_.lease_ns &&
        now - idle_since_ < launch_.linger_ns)
      return false;
    // If one worker leaves, all must, because the worker that claimed a
    // position runs it.
    atomicMax(&launch_.state->park, launch_.residency);
    return true;
  }

 private:
  const abi::Launch& launch_;
  const u64* word_ = nullptr;
  u64 start_;
  u64 idle_since_;
  u64 ticket_ = 0;
  u32 polls_ = 0;
  bool is_idle_ = false;
};

}  // namespace gpuos
