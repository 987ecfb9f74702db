// The parameters of a launch of the worker kernel.
#pragma once

#include "operator.h"

namespace gpuos {
namespace abi {

// Makes the word in `started` of a place: the lap tag and, for a chain, the
// record of the last whole operator that it reached.
GPUOS_DEVICE inline u64 started_word(u32 tag, u32 record) {
  return u64{tag} << 32 | record;
}

// One ring, by the addresses that the device uses.
struct Queue {
  const Descriptor* descriptors;  // host memory
  const ArgBlock* arg_blocks;     // host memory, one for each place
  u32* done;     // host memory: lap tag of the last batch that began here and
                 // is finished
  u64* started;  // host memory: started_word() of the last traced task begun
                 // here
  u32* counts;   // device memory: finished tasks of the batch that began here;
                 // turns of a task that began one before: set_turns()
  u32* flags;    // device memory: like `done`, for workers that wait
  u32 capacity;  // a power of two
  u32 capacity_bits;
};

// Survives residencies. In device memory. The lines are apart because all
// workers read `park` and `ticket` while others write the next field.
struct ResidencyState {
  alignas(128) u64 ticket;  // next position to claim
  alignas(128) u64 park;    // residencies up to this number must leave
  alignas(128) u64 left;    // workers that have left, over all residencies
};

enum Mode : u32 {
  kResident,     // claim positions of the ring one by one and stay
  kRingBurst,    // run positions [begin, end) of the ring and leave
  kInlineBurst,  // run `inline_count` descriptors of the parameters and leave
  kTiledBurst    // run `inline_count` tiles of `tiled` and leave
};

// Holds the task of a kTiledBurst in the form that a worker needs. Nothing has
// to be unpacked, and all of it is contiguous. The first read of each line of a
// launch's parameters costs a fetch from memory.
struct TiledTask {
  u16 op;         // slot in the operator table
  u16 is_traced;  // see kTraced
  u32 count;      // elements
  u32 parts;      // tiles
  u32 arg_count;
  u64 args[kMaxArgs];
};

struct Launch {
  Queue queue;
  const OpFn* table;
  u32 mode;

  // kResident
  u32 inline_count;  // kInlineBurst, kTiledBurst
  ResidencyState* state;
  u64* claims;  // device memory, one a worker: claimed position + 1, or 0
  u64* left;    // host memory: number of the last residency that has left
  u64 residency;
  u64 linger_ns;
  u64 lease_ns;

  // For bursts. The batch is the whole range. Without `signal` it has no
  // completion, because a captured launch may run again at any time.
  u64 begin;
  u64 end;
  u32 signal;
  // No task depends on the previous launch of the stream, so the tasks need not
  // wait for its end.
  u32 is_independent;
  TiledTask tiled;  // kTiledBurst
};
// The parameters of a kInlineBurst, which has a kernel of its own. A launch
// with 4 KiB of parameters takes a microsecond longer than one with 500 bytes
// (docs/lab/bursts.md).
struct InlineLaunch : Launch {
  Descriptor descriptors[kLaunchDescriptors];
};
static_assert(sizeof(InlineLaunch) <= 4096, "the smallest parameter limit");

}  // namespace abi
}  // namespace gpuos
