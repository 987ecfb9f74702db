// Loads and stores of the interpreter.
#pragma once

#include "interpreter/lanes.h"

namespace gpuos {
namespace program {

// This function and the next ones are not inlined, because divisions are long.
__device__ __noinline__ char* address_of(const DeviceTask& task, u32 access,
                                         u64 row, u64 column) {
  char* base = reinterpret_cast<char*>(task.addresses[access]);
  const u32 outer = task.shape.outer_dims;
  return base + task.offset(access, 0, outer, row) +
         task.offset(access, outer, task.dims(), column);
}

// Describes where the elements of a lane are.
struct Walk {
  char* first;
  i64 stride;    // to the next element, if `is_even`
  bool is_even;  // else each has to be found
};

__device__ inline Walk walk_of(const DeviceTask& task, u32 access,
                               const RowLane& place, u32 bytes) {
  if (task.shape.flags & kFlat) {
    const i64 stride = task.shape.flat >> access & 1 ? bytes : 0;
    char* base = reinterpret_cast<char*>(task.addresses[access]);
    return {base + static_cast<i64>(place.column) * stride, stride, true};
  }
  const u32 inner = task.shape.inner_dims;
  const u32 along = access * task.dims() + task.shape.outer_dims;
  return {address_of(task, access, place.row, place.column),
          inner == 1 ? task.strides[along] : 0, inner <= 1};
}

__device__ inline u64 load_bits(Code code, const char* from) {
  switch (code) {
#define GPUOS_CASE(name, Stored)                      \
  case Code::name:                                    \
    return to_bits(static_cast<CellOf<Stored>::type>( \
        *reinterpret_cast<const Stored*>(from)));
    GPUOS_LOAD_CODES(GPUOS_CASE)
#undef GPUOS_CASE
    default:
      return 0;
  }
}

__device__ inline void store_bits(Code code, char* to, u64 bits) {
  switch (code) {
#define GPUOS_CASE(name, Stored)                                    \
  case Code::name:                                                  \
    *reinterpret_cast<Stored*>(to) =                                \
        static_cast<Stored>(from_bits<CellOf<Stored>::type>(bits)); \
    break;
    GPUOS_STORE_CODES(GPUOS_CASE)
#undef GPUOS_CASE
    default:
      break;
  }
}

template <u32 W, typename F>
__device__ inline void walk(const DeviceTask& task, Code code, u32 access,
                            const RowLane& place, u32 valid, F f) {
  const Walk walk = walk_of(task, access, place, bytes_of(code));
#pragma unroll
  for (u32 w = 0; w < W; ++w) {
    if (w >= valid) continue;
    f(w, walk.is_even ? walk.first + w * walk.stride
                      : address_of(task, access, place.row, place.column + w));
  }
}

template <u32 W>
__device__ __noinline__ Values<W> load(const DeviceTask& task, Code code,
                                       u32 access, RowLane place, u32 valid) {
  Values<W> out{};
  walk<W>(task, code, access, place, valid,
          [&](u32 w, const char* from) { out.set(w, load_bits(code, from)); });
  return out;
}

template <u32 W>
__device__ __noinline__ void store(const DeviceTask& task, Code code,
                                   u32 access, RowLane place, u32 valid,
                                   Values<W> values) {
  walk<W>(task, code, access, place, valid,
          [&](u32 w, char* to) { store_bits(code, to, values.bits(w, true)); });
}

}  // namespace program
}  // namespace gpuos
