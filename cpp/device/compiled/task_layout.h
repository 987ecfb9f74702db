// The memory layout of a task of compiled code, for all lanes of a worker: how
// each access walks through memory.
#pragma once

#include "compiled/reductions.h"
#include "interpreter/divider.h"
#include "interpreter/slices.h"

namespace gpuos {
namespace program {

enum : u32 { kEveryLane = 0xffffffffu };

// A pass whose tasks are all flat, or none. Each kind has its own code, so that
// a flat task does not pay for the needs of the others.
template <typename Pass, bool kFlatOnly>
struct PassOf : Pass {
  static constexpr bool kIsFlat = kFlatOnly;
};

// A pass that takes long to compile and to run is unrolled less.
template <typename P>
constexpr bool kIsLong = P::kScattered == 1;

// The compiler does not keep values in registers that it can find by way of
// `state`,
__device__ __forceinline__ void forget(const void*& state) {
  asm volatile("" : "+l"(state) : : "memory");
}
// or by way of this.
__device__ __forceinline__ u32 find_thread() {
  u32 thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

// Assumes this without a check, because another TaskLayout was packed already.
struct Packed {};

template <typename P>
struct TaskLayout : TaskArguments<P::kAccesses, P::kScalars> {
  using Base = TaskArguments<P::kAccesses, P::kScalars>;

  // One for each dimension, at the beginning of the worker's scratch.
  Divider* dividers;
  // Bit a is set if a pack of access a is contiguous. Otherwise it is one
  // element.
  u32 side_by_side;
  // True if kWidth consecutive elements can be read at once, for each access.
  // Only the end of a flat task may have fewer.
  bool has_packs;
  // True if all accesses of the loops are contiguous within each row.
  bool is_packed;

  // All threads.
  __device__ TaskLayout(const Task& task)
      : Base(task),
        dividers(static_cast<Divider*>(const_cast<void*>(task.state))),
        side_by_side(this->shape.flat),
        has_packs(P::kWidth > 1 && !this->is(kTransposed)),
        is_packed(false) {
    if constexpr (P::kIsFlat) {
#pragma unroll 1
      for (u32 a = 0; a < P::kAccesses; ++a)
        if (this->walks(a) && this->args[a] % pack_bytes(a) != 0)
          has_packs = false;
    } else {
      find_packs();
    }
    is_packed = has_packs && is_even() && walks_everywhere();
  }

  __device__ TaskLayout(const Task& task, Packed)
      : Base(task),
        dividers(static_cast<Divider*>(const_cast<void*>(task.state))),
        side_by_side(~0u),
        has_packs(true),
        is_packed(true) {}

  // All threads.
  __device__ void find_packs() {
    const u32 lane = threadIdx.x;
    const u32 dims = this->dims();
    if (lane < dims && divides())
      dividers[lane] = Divider::of(this->sizes[lane]);
    side_by_side = 0;
#pragma unroll 1
    for (u32 a = 0; a < P::kAccesses; ++a)
      if (dims != 0 && this->strides_of(a)[dims - 1] != 0)
        side_by_side |= 1u << a;
    const bool is_odd = this->shape.inner_dims == 0 ||
                        this->sizes[dims - 1] % P::kWidth != 0 ||
                        (lane < P::kAccesses && !lies_in_packs(lane));
    if (__syncthreads_or(is_odd)) has_packs = false;
  }

  __device__ bool walks_everywhere() const {
    return (~side_by_side & P::kColumns) == 0;
  }

  // Returns whether row or column numbers must be divided into several
  // dimensions.
  __device__ bool divides() const {
    return this->shape.outer_dims > 1 || this->shape.inner_dims > 1;
  }
  // Returns whether each access has one stride along a row.
  __device__ bool is_even() const {
    return P::kIsFlat || this->shape.inner_dims <= 1;
  }
  // Returns the stride in bytes of an access, if is_even().
  __device__ i64 column_stride(u32 access) const {
    if constexpr (P::kIsFlat) return this->walks(access) ? P::bytes(access) : 0;
    return this->shape.inner_dims == 0
               ? 0
               : this->strides_of(access)[this->dims() - 1];
  }
  __device__ static u32 pack_bytes(u32 access) {
    return P::bytes(access) * P::kWidth;
  }
  // The last dimension of this access has a stride that is not 0.
  __device__ bool lies_in_packs(u32 access) const {
    const i64* strides = this->strides_of(access);
    const u32 last = this->dims() - 1;
    if (strides[last] == 0) return true;
    u64 bits = this->args[access];
#pragma unroll 1
    for (u32 d = 0; d < last; ++d) bits |= static_cast<u64>(strides[d]);
    return strides[last] == P::bytes(access) && bits % pack_bytes(access) == 0;
  }
};

}  // namespace program
}  // namespace gpuos
