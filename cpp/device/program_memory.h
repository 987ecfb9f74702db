// Loads and stores of the interpreter.
#pragma once

#include "program_lanes.h"
#include "vectors.h"

namespace gpuos {
namespace program {

__device__ inline char* address_of(const DeviceTask& task, u32 access,
                                   u64 row, u64 column) {
  char* base = reinterpret_cast<char*>(task.addresses[access]);
  const u32 outer = task.shape.outer_dims;
  return base + task.offset(access, 0, outer, row) +
         task.offset(access, outer, task.dims(), column);
}

// Where the elements of a lane lie. Kept out of the interpreter's loop, as all
// that follows.
struct Walk {
  char* first;
  i64 stride;    // to the next element, if `is_even`
  bool is_even;  // else each has to be found
};

__device__ inline Walk walk_of(const DeviceTask& task, u32 access,
                               const Place& place, u32 bytes) {
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

template <typename Stored, u32 W, typename F>
__device__ inline void walk(const DeviceTask& task, u32 access,
                            const Place& place, u32 valid, F f) {
  const Walk walk = walk_of(task, access, place, sizeof(Stored));
#pragma unroll
  for (u32 w = 0; w < W; ++w) {
    if (w >= valid) continue;
    char* at = walk.is_even
                   ? walk.first + w * walk.stride
                   : address_of(task, access, place.row, place.column + w);
    f(w, reinterpret_cast<Stored*>(at));
  }
}

template <typename Cell, typename Stored, u32 W>
__device__ inline void load_as(const DeviceTask& task, u32 access,
                               const Place& place, u32 valid,
                               Values<W>& out) {
  walk<Stored, W>(task, access, place, valid, [&](u32 w, const Stored* from) {
    out.set(w, to_bits(static_cast<Cell>(*from)));
  });
}

template <u32 W>
__device__ __noinline__ Values<W> load(const DeviceTask& task, u32 code,
                                       u32 access, Place place, u32 valid) {
  Values<W> out{};
  switch (static_cast<Code>(code)) {
#define GPUOS_CASE(name, Stored)                                        \
  case Code::name:                                                      \
    load_as<CellOf<Stored>::type, Stored>(task, access, place, valid, out); \
    break;
    GPUOS_LOAD_CODES(GPUOS_CASE)
#undef GPUOS_CASE
    default:
      break;
  }
  return out;
}

template <typename Cell, typename Stored, u32 W>
__device__ inline void store_as(const DeviceTask& task, u32 access,
                                const Place& place, u32 valid,
                                const Values<W>& values) {
  walk<Stored, W>(task, access, place, valid, [&](u32 w, Stored* to) {
    *to = static_cast<Stored>(
        from_bits<Cell>(values.bits(w, sizeof(Cell) == 8)));
  });
}

template <u32 W>
__device__ __noinline__ void store(const DeviceTask& task, u32 code,
                                   u32 access, Place place, u32 valid,
                                   Values<W> values) {
  switch (static_cast<Code>(code)) {
#define GPUOS_CASE(name, Stored)                                           \
  case Code::name:                                                         \
    store_as<CellOf<Stored>::type, Stored>(task, access, place, valid, values); \
    break;
    GPUOS_STORE_CODES(GPUOS_CASE)
#undef GPUOS_CASE
    default:
      break;
  }
}

// Four elements of 32 bits that follow each other in memory, or null.
__device__ inline uint4* four_at(const DeviceTask& task, u32 access,
                                 const Place& place, u32 valid) {
  if (!(task.shape.flags & kFlat) || !(task.shape.flat >> access & 1) ||
      valid != 4)
    return nullptr;
  const u64 at = task.addresses[access] + place.column * 4;
  return at % 16 == 0 ? reinterpret_cast<uint4*>(at) : nullptr;
}

}  // namespace program
}  // namespace gpuos
