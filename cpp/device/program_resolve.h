// Instructions as the interpreter runs them: with the addresses of their
// functions and of their cells.
#pragma once

#include "program_lanes.h"

namespace gpuos {
namespace program {

// program_functions.cu
extern __device__ Function gpuos_program_functions[];
extern __device__ FunctionOfFour gpuos_program_functions_of_four[];

// An instruction ready to run, as it lies in scratch. Cells are offsets in
// bytes from the lane's first one.
struct alignas(16) Resolved {
  u64 function;  // kSelect: where the third operand is; quick accesses: the
                 // address of element 0
  u16 a;
  u16 b;
  u16 out;
  u8 index;
  u8 form;
};
static_assert(sizeof(Resolved) == 16, "one load");
constexpr u32 kKept = kTextBytes / sizeof(Resolved);
constexpr u32 kNoCell = 1;  // offsets are even
constexpr u32 kCellMask = 0xfffe;

// Forms beside those of Form: the function is one of four elements, and
// elements of 32 bits of a flat task. Their `index` is the distance in bytes
// from one element to the next.
constexpr u32 kComputeFour = kKindMask;
constexpr u32 kQuickLoad = kKindMask - 1;
constexpr u32 kQuickStore = kKindMask - 2;

constexpr u32 kFirstOfFour = static_cast<u32>(Code::Negative) << kTypeBits;
constexpr u32 kEndOfFour = static_cast<u32>(Code::Isnan) << kTypeBits;

__device__ inline u32 kind_of(const Instruction& x) {
  return x.form & kKindMask;
}

// The words of a Resolved in registers.
struct Step {
  u64 function;
  u32 operands;
  u32 rest;

  __device__ u32 a() const { return operands & 0xffff; }
  __device__ u32 b() const { return operands >> 16; }
  __device__ u32 out() const { return rest & 0xffff; }
  __device__ u32 index() const { return rest >> 16 & 0xff; }
  __device__ u32 form() const { return rest >> 24; }
  __device__ u32 kind() const { return rest >> 24 & kKindMask; }
  __device__ bool has_wide_operands() const {
    return rest >> 24 & kWideOperands;
  }
  __device__ bool has_wide_result() const { return rest >> 24 & kWideResult; }
};

__device__ inline bool is_quick(const DeviceTask& task, const Instruction& x) {
  const u32 code = x.opcode >> kTypeBits;
  return (task.shape.flags & kFlat) &&
         (code == static_cast<u32>(Code::Load32) ||
          code == static_cast<u32>(Code::Store32));
}

template <u32 W>
__device__ Resolved resolve(const DeviceTask& task, const Instruction& x,
                            u32 cell_bytes) {
  const auto offset = [&](u8 cell) {
    return static_cast<u16>(cell == kLast ? kNoCell : cell * cell_bytes);
  };
  Resolved resolved{0,       offset(x.a), offset(x.b), offset(x.out),
                    x.index, x.form};
  const u32 kind = kind_of(x);
  if (kind == kSelect) {
    resolved.function = offset(x.c);
  } else if (kind == kLoad || kind == kStore) {
    resolved.function = x.opcode >> kTypeBits;
    if (is_quick(task, x)) {
      resolved.form = kind == kLoad ? kQuickLoad : kQuickStore;
      resolved.function = task.addresses[x.index];
      resolved.index = task.shape.flat >> x.index & 1 ? 4 : 0;
    }
  } else if (kind != kScalar) {
    if (W == 4 && kind == kCompute && x.opcode >= kFirstOfFour &&
        x.opcode < kEndOfFour)
      resolved.function = reinterpret_cast<u64>(
          gpuos_program_functions_of_four[x.opcode - kFirstOfFour]);
    if (resolved.function != 0)
      resolved.form = kComputeFour;
    else
      resolved.function =
          reinterpret_cast<u64>(gpuos_program_functions[x.opcode]);
  }
  return resolved;
}

}  // namespace program
}  // namespace gpuos
