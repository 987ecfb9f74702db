// The host, the worker and every operator share these layouts. The host
// compiler, nvcc and NVRTC read them. Raise kAbiVersion with a change.
#pragma once

#if defined(__CUDACC__)
#define GPUOS_DEVICE __device__
#define GPUOS_EXPORT extern "C" __device__
#else
#define GPUOS_DEVICE
#define GPUOS_EXPORT extern "C" __attribute__((visibility("default")))
#endif

namespace gpuos {

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

namespace abi {

// Enumerators, because each constant would be a variable in every image.
enum Limit : u32 {
  kAbiVersion = 5,
  kInlineArgs = 4,          // arguments that fit a descriptor
  kMaxArgs = 32,            // output, inputs and scalars together
  kSlots = 1024,            // operators loaded at the same time
  kMaxTiles = 4096,         // of one task
  kChainRecords = 128,      // of one of a chain's blocks
  kChainPiece = 64,         // of them, which a worker fetches together
  kLaunchDescriptors = 56,  // that fit a launch's parameters
  kScratchBytes = 36864,    // shared memory of a worker for its operator,
  kSharedBytes = kScratchBytes + 16  // and after it set_turns()
};

// The low bits of Payload::flags. The tile number is above them.
enum Flags : u16 {
  kArgsInBlock = 1,  // args[0] is the number of arguments, which are in the
                     // argument block of the place args[1] positions before
  kTraced = 2,       // the worker marks `started` before it runs the task, or a
                     // member that it calls
  kJoin = 4,         // no operator: wait for the batches listed in `args`
  kWaits = 8,        // `wait_distance` is not 0
  kChain = kJoin | kWaits  // a join that goes on with the members in a block
};
enum : u32 { kTileShift = 4 };

// The contents of a descriptor, 48 bytes.
struct Payload {
  u16 op;     // slot in the operator table
  u16 flags;  // Flags | tile << kTileShift
  u32 count;  // elements of the task
  u64 args[kInlineArgs];
  u16 batch_offset;   // this position minus the batch's first
  u16 batch_size;     // tasks in the batch
  u16 wait_distance;  // this position minus the first of the batch to wait
                      // for; 0: nothing to wait for
  u16 parts;          // tiles of the task, 0 as 1; kJoin: the number of u16
                      // distances in `args`
};
static_assert(sizeof(Payload) == 48, "a descriptor carries 12 words");

enum : u32 { kMaxJoined = kInlineArgs * sizeof(u64) / sizeof(u16) };

GPUOS_DEVICE inline bool is_chain(u32 flags) {
  return (flags & kChain) == kChain;
}

// One task of a chain. Arguments that do not fit in `args` continue in the
// records after it, so that all arguments of a member are contiguous.
struct alignas(16) Member {
  u16 op;  // slot in the operator table
  u16 arg_count;
  u32 count;  // elements
  u64 args[7];
};
static_assert(sizeof(Member) == 64, "a member is one cache line");

// Returns the records of a member. Its head is as long as one argument.
GPUOS_DEVICE inline u32 chain_records(u32 arg_count) {
  return (1 + arg_count + 7) / 8;
}

// The descriptor of a chain has `count` records of members at the address
// args[kChainBlock]. The distances of the join come before it. A piece of
// kChainPiece records never ends within a member: its unused end is a gap.
enum : u32 {
  kChainBlock = kInlineArgs - 1,
  kMaxChainWaits = kChainBlock * sizeof(u64) / sizeof(u16),
  kChainBytes = kChainRecords * sizeof(Member),
  kGap = 0xffff  // as Member::op
};

// Returns where the next piece begins, and thus the next member after a gap.
GPUOS_DEVICE inline u32 next_piece(u32 record) {
  return (record / kChainPiece + 1) * kChainPiece;
}

// A payload in a ring slot has four chunks of 16 bytes. Each has three payload
// words and the lap tag. A chunk is stored and loaded whole, so a slot with
// four right tags is complete.
struct alignas(64) Descriptor {
  u32 words[16];
};
static_assert(sizeof(Descriptor) == 64, "one cache line");

// Lap tag of a position; never 0, so zeroed memory is an empty ring.
// `capacity_bits` is the logarithm of the ring's capacity.
GPUOS_DEVICE inline u32 lap_tag(u64 position, u32 capacity_bits) {
  return static_cast<u32>(position >> capacity_bits) + 1;
}

struct alignas(128) ArgBlock {
  u64 args[kMaxArgs];
};
static_assert(sizeof(ArgBlock) == 256, "thirty-two arguments");

}  // namespace abi
}  // namespace gpuos
