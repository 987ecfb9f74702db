// Loads, stores and fences with a scope. docs/memory_model.md has the argument.
// Each use names its partner.
#pragma once

#include "task_abi.h"

namespace gpuos {

// The scratch of kScratchBytes for the operators of a worker. Code that is
// loaded later cannot name it, so each task carries its address.
extern __shared__ u32 worker_scratch[];

struct alignas(16) Chunk {
  u32 words[4];
};

// Loads 16 bytes that the host or another worker may be writing.
__device__ inline Chunk load_chunk(const void* from) {
  Chunk c;
  asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(c.words[0]), "=r"(c.words[1]), "=r"(c.words[2]),
                 "=r"(c.words[3])
               : "l"(from)
               : "memory");
  return c;
}

// Starts a copy of 16 bytes past the L1. They are in shared memory after this
// thread has waited for the group of copies that it then commits.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
__device__ inline void copy_chunk(Chunk* to, const Chunk* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   static_cast<u32>(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}
__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
// Waits for all groups except the last `kLeft`.
template <u32 kLeft>
__device__ inline void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}
#else  // there are no such copies before sm_80: each is awaited at once
__device__ inline void copy_chunk(Chunk* to, const Chunk* from) {
  Chunk c;
  asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(c.words[0]), "=r"(c.words[1]), "=r"(c.words[2]),
                 "=r"(c.words[3])
               : "l"(from)
               : "memory");
  *to = c;
}
__device__ inline void commit_copies() {}
template <u32 kLeft>
__device__ inline void await_copies() {}
#endif

__device__ inline u64 load_relaxed_sys(const u64* from) {
  u64 value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];"
               : "=l"(value)
               : "l"(from)
               : "memory");
  return value;
}

__device__ inline u32 load_relaxed(const u32* from) {
  u32 value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
               : "=r"(value)
               : "l"(from)
               : "memory");
  return value;
}

__device__ inline void store_relaxed(u32* to, u32 value) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(value)
               : "memory");
}

__device__ inline void store_relaxed_sys(u32* to, u32 value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value)
               : "memory");
}

__device__ inline void store_relaxed_sys(u64* to, u64 value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(value)
               : "memory");
}

__device__ inline void fence_gpu() {
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

__device__ inline void fence_sys() {
  asm volatile("fence.acq_rel.sys;" ::: "memory");
}

// Counts up to `last` and from there to 0, and returns the previous count. It
// releases the writes of this thread and, after a barrier, of its block. It
// acquires what others released by counting here. It takes half the time of a
// count between two fences.
__device__ inline u32 count_in_turn(u32* counter, u32 last) {
  u32 before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(counter), "r"(last)
               : "memory");
  return before;
}

__device__ inline u64 now_ns() {
  u64 value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value));
  return value;
}

// Programmatic dependent launch. Pairs with the launch attribute in
// WorkerKernel::launch(). Without it, and before sm_90, a launch begins after
// the previous one of the stream has ended.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
enum : u32 { kAwaitsPreviousLaunch = 1 };
// Makes all writes of the previous launch visible.
__device__ inline void await_previous_launch() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
__device__ inline void let_next_launch_begin() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
#else
enum : u32 { kAwaitsPreviousLaunch = 0 };
__device__ inline void await_previous_launch() {}
__device__ inline void let_next_launch_begin() {}
#endif

}  // namespace gpuos
