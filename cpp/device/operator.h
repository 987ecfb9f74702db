// The types that an operator uses. The host compiler, nvcc and NVRTC read them.
#pragma once

#include "task_abi.h"

namespace gpuos {

// The tile that an operator is asked to run. Argument 0 is the output, then
// come the inputs, then the scalars.
struct Task {
  const u64* args;
  const void* state;  // on the host of the slot, for the interpreter; on the
                      // device the worker's scratch, abi::kScratchBytes
  u32 count;          // elements

  template <typename T>
  GPUOS_DEVICE T* pointer(u32 index) const {
    return reinterpret_cast<T*>(args[index]);
  }

  template <typename T>
  GPUOS_DEVICE T scalar(u32 index) const {
    static_assert(sizeof(T) <= sizeof(u64), "a scalar is one argument");
    // Reads a whole word, because the device would otherwise load it byte by
    // byte.
    const u64 bits = args[index];
    T value;
#if defined(__CUDACC__)  // NVRTC has no __builtin_memcpy
    memcpy(&value, &bits, sizeof(T));
#else
    __builtin_memcpy(&value, &bits, sizeof(T));
#endif
    return value;
  }
};

// The position of this lane among the lanes that run the task. These are the
// threads of one worker, or of all workers that share a large elementwise task.
// barrier() waits for those of one worker. On the host one thread runs a task
// alone.
struct Lane {
#if defined(__CUDACC__)
  u32 first;  // index of the worker's first lane
  u32 total;

  // One worker of `workers`.
  static GPUOS_DEVICE Lane of(u32 worker, u32 workers) {
    return {worker * blockDim.x, workers * blockDim.x};
  }
  GPUOS_DEVICE u32 index() const { return first + threadIdx.x; }
  GPUOS_DEVICE u32 count() const { return total; }
  // The worker's number, and the number of workers that share the task.
  GPUOS_DEVICE u32 tile() const { return first / blockDim.x; }
  GPUOS_DEVICE u32 tiles() const { return total / blockDim.x; }
  GPUOS_DEVICE void barrier() const { __syncthreads(); }
#else
  u32 number = 0;
  u32 total = 1;

  u32 tile() const { return number; }
  u32 tiles() const { return total; }
  static constexpr u32 index() { return 0; }
  static constexpr u32 count() { return 1; }
  static constexpr void barrier() {}
#endif
};

using OpFn = void (*)(Task task, Lane lane);

// Defines an operator and exports the typed pointer by which it is found:
//   GPUOS_OPERATOR(twice) {
//     float* out = task.pointer<float>(0);
//     const float* in = task.pointer<const float>(1);
//     for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
//       out[i] = 2 * in[i];
//   }
#define GPUOS_OPERATOR(name)                                      \
  extern "C" GPUOS_DEVICE void gpuos_op_##name(gpuos::Task task,  \
                                               gpuos::Lane lane); \
  extern "C" {                                                    \
  GPUOS_ENTRY gpuos::OpFn gpuos_entry_##name = gpuos_op_##name;   \
  }                                                               \
  extern "C" GPUOS_DEVICE void gpuos_op_##name(                   \
      [[maybe_unused]] gpuos::Task task, [[maybe_unused]] gpuos::Lane lane)

#if defined(__CUDACC__)
#define GPUOS_ENTRY __device__
#else
#define GPUOS_ENTRY __attribute__((visibility("default")))
#endif

}  // namespace gpuos
