// Instructions in the form that the interpreter runs, with the addresses of
// their functions and cells.
#pragma once

#include "interpreter/lanes.h"

namespace gpuos {
namespace program {

// program_functions.cu
extern __device__ AnyFunction gpuos_program_functions[];
extern __device__ FunctionOfFour gpuos_program_functions_of_four[];

// Forms in addition to those of Form. A kCompute that the loop runs itself has
// no flags.
constexpr u32 kComputeEach = kKindMask;      // element by element
constexpr u32 kInlinedLoad = kKindMask - 1;  // of elements of 32 bits
constexpr u32 kInlinedStore = kKindMask - 2;
constexpr u32 kInlinedStep = kKindMask - 3;  // of an Inlined, which is `index`
constexpr u32 kInlinedScalar =
    kKindMask - 3;  // in plain texts; the value itself
// A flag of inlined accesses, which have no pairs. With it the task has rows
// and `index` is the access. Without it `index` is the distance of elements in
// bytes.
constexpr u32 kOfRows = kPairResult;

// An instruction that is ready to run, as it is stored in the scratch. Cells
// are byte offsets from the lane's first cell, in multiples of 128. The words
// are chosen so that the loop needs few instructions for its most frequent
// steps.
struct alignas(16) Ready {
  enum : u32 {
    kKindShift = 8,
    kLastA = 1 << 12,  // operand a is the result of the instruction before
    kLastB = 1 << 13,
    kNotKept = 1 << 14,  // no cell keeps the result
    kHalf = 16,
    kOffset = 0xff80  // of the lower half
  };

  u64 function;  // kSelect: where the third operand is; inlined accesses: the
                 // address of element 0
  u32 operands;  // flags of the form, a, b
  u32 rest;      // index, kind, flags, out

  __device__ u32 a() const { return operands & kOffset; }
  __device__ u32 b() const { return operands >> kHalf; }
  __device__ u32 out() const { return rest >> kHalf; }
  __device__ u32 index() const { return rest & 0xff; }
  __device__ u32 kind() const { return rest >> kKindShift & kKindMask; }
  // The Inlined of a kCompute. Other instructions have a larger number.
  __device__ u32 inlined() const { return rest & (kLastA - 1); }
  __device__ bool is_last_a() const { return (rest & kLastA) != 0; }
  __device__ bool is_last_b() const { return (rest & kLastB) != 0; }
  __device__ bool is_kept() const { return (rest & kNotKept) == 0; }
  __device__ bool is_of_rows() const { return has(kOfRows); }
  __device__ bool has_wide_operands() const { return has(kWideOperands); }
  __device__ bool has_wide_result() const { return has(kWideResult); }
  __device__ bool has_pair_operands() const { return has(kPairOperands); }
  __device__ bool has_pair_result() const { return has(kPairResult); }
  // Not used for inlined accesses.
  __device__ bool has_pairs() const {
    return has_pair_operands() || has_pair_result();
  }

 private:
  __device__ bool has(u32 flag) const {
    return (operands & flag / (kKindMask + 1)) != 0;
  }
};
static_assert(sizeof(Ready) == kResolvedBytes, "one load");

// The number of instructions that the loop fetches ahead. `kAhead` empty
// instructions follow the last one.
constexpr u32 kAhead = 2;
constexpr u32 kKept = kTextBytes / sizeof(Ready) - kAhead;
__device__ inline void clear_step(u32 i) {
  store_shared_four(scratch_address() + i * u32{sizeof(Ready)}, {0, 0, 0, 0});
}
static_assert(kKept >= kMostPlain, "all of a plain text is kept");

template <typename F>
__device__ __forceinline__ u32 result_of(u32 a, u32 b) {
  return static_cast<u32>(call<F, float>(a, b));
}

// Runs one of the short functions without a branch. Fetching an instruction at
// another place takes longer than computing all results.
__device__ __forceinline__ u32 short_result(u32 inlined, u32 a, u32 b) {
  u32 result = result_of<AddFunction>(a, b);
  if (inlined == kSubtract) result = result_of<SubtractFunction>(a, b);
  if (inlined == kMultiply) result = result_of<MultiplyFunction>(a, b);
  if (inlined == kMaximum) result = result_of<MaximumFunction>(a, b);
  if (inlined == kMinimum) result = result_of<MinimumFunction>(a, b);
  return result;
}

constexpr u32 kFirstOfFour = static_cast<u32>(Code::FirstOfFour) << kTypeBits;
constexpr u32 kEndOfFour = static_cast<u32>(Code::EndOfFour) << kTypeBits;

__device__ inline u32 kind_of(const Instruction& x) {
  return x.form & kKindMask;
}

// An access to elements of 32 bits whose addresses are sums of products.
__device__ inline bool is_inlined(const DeviceTask& task,
                                  const Instruction& x) {
  const u32 code = x.opcode >> kTypeBits;
  return ((task.shape.flags & kFlat) ||
          (task.shape.outer_dims <= 1 && task.shape.inner_dims <= 1)) &&
         (code == static_cast<u32>(Code::Load32) ||
          code == static_cast<u32>(Code::Store32));
}

__device__ inline u64 address_of_function(const Instruction& x) {
  return bit_cast<u64>(gpuos_program_functions[x.opcode]);
}

// Returns the function, index and form of an instruction that is ready to run.
struct Resolved {
  u64 function;
  u8 index;
  u8 form;
};

__device__ inline void resolve_access(const DeviceTask& task,
                                      const Instruction& x,
                                      Resolved& resolved) {
  resolved.function = x.opcode >> kTypeBits;
  if (!is_inlined(task, x)) return;
  resolved.form = kind_of(x) == kLoad ? kInlinedLoad : kInlinedStore;
  resolved.function = task.addresses[x.index];
  if (task.shape.flags & kFlat)
    resolved.index = task.shape.flat >> x.index & 1 ? 4 : 0;
  else
    resolved.form |= kOfRows;
}

template <u32 W>
__device__ inline void resolve_compute(const Instruction& x,
                                       Resolved& resolved) {
  // Inlined code has no function.
  if (x.index != kCalled) return;
  if (W == 4 && x.opcode >= kFirstOfFour && x.opcode < kEndOfFour)
    resolved.function = reinterpret_cast<u64>(
        gpuos_program_functions_of_four[x.opcode - kFirstOfFour]);
  if (W == 1 && x.form == kCompute) resolved.function = address_of_function(x);
  if (resolved.function != 0) return;
  resolved.function = address_of_function(x);
  resolved.form |= kComputeEach;
}

__device__ inline Ready step_of(const Instruction& x, const Resolved& resolved,
                                u32 cell_bytes) {
  const u32 form = resolved.form;
  Ready step{resolved.function, form / (kKindMask + 1),
             resolved.index | (form & kKindMask) << Ready::kKindShift};
  if (x.a == kLast)
    step.rest |= Ready::kLastA;
  else
    step.operands |= x.a * cell_bytes;
  if (x.b == kLast)
    step.rest |= Ready::kLastB;
  else
    step.operands |= x.b * cell_bytes << Ready::kHalf;
  if (x.out == kLast)
    step.rest |= Ready::kNotKept;
  else
    step.rest |= x.out * cell_bytes << Ready::kHalf;
  return step;
}

template <u32 W>
__device__ Ready resolve(const DeviceTask& task, const Instruction& x,
                         u32 cell_bytes) {
  Resolved resolved{0, x.index, x.form};
  switch (kind_of(x)) {
    case kSelect:
      resolved.function = x.c * cell_bytes;
      break;
    case kLoad:
    case kStore:
      resolve_access(task, x, resolved);
      break;
    case kScalar:
      break;
    case kCompute:
      resolve_compute<W>(x, resolved);
      break;
    default:
      resolved.function = address_of_function(x);
      if (kind_of(x) == kStep && x.index != kCalled)
        resolved.form = kInlinedStep;
  }
  return step_of(x, resolved, cell_bytes);
}

}  // namespace program
}  // namespace gpuos
