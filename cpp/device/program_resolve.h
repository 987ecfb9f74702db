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
static_assert(sizeof(Resolved) == kResolvedBytes, "one load");
constexpr u32 kKept = kTextBytes / sizeof(Resolved);
constexpr u32 kNoCell = 1;  // offsets are even
constexpr u32 kCellMask = 0xfffe;

// Forms beside those of Form. A kCompute that the loop runs itself has no
// flags, and as `index` the Inlined that it is, as a kJoin has.
constexpr u32 kComputeEach = kKindMask;    // element by element
constexpr u32 kQuickLoad = kKindMask - 1;  // of elements of 32 bits
constexpr u32 kQuickStore = kKindMask - 2;
constexpr u32 kQuickStep = kKindMask - 3;  // of an Inlined, which is `index`
// Of quick accesses: there are rows, and `index` is the access; else it is the
// distance in bytes from one element to the next.
constexpr u32 kOfRows = 0x40;

// Functions of float that are run without a call, which takes longer than most
// of them. The first ones take no longer than to choose among them.
enum Inlined : u32 {
  kCalled,
  kAdd,
  kSubtract,
  kMultiply,
  kMaximum,
  kMinimum,
  kDivide,
  kExp,
  kSigmoid,
  kTanh,
  kLastShort = kMinimum
};

__device__ inline u32 inlined_of(u32 opcode) {
  if ((opcode & ((1u << kTypeBits) - 1)) != kF32) return kCalled;
  switch (static_cast<Code>(opcode >> kTypeBits)) {
    case Code::Add:
    case Code::SumStep:
    case Code::SumJoin:
      return kAdd;
    case Code::Subtract:
      return kSubtract;
    case Code::Multiply:
    case Code::ProdStep:
    case Code::ProdJoin:
      return kMultiply;
    case Code::Maximum:
    case Code::MaxStep:
    case Code::MaxJoin:
      return kMaximum;
    case Code::Minimum:
    case Code::MinStep:
    case Code::MinJoin:
      return kMinimum;
    case Code::Divide:
      return kDivide;
    case Code::Exp:
      return kExp;
    case Code::Sigmoid:
      return kSigmoid;
    case Code::Tanh:
      return kTanh;
    default:
      return kCalled;
  }
}

template <typename F>
__device__ __forceinline__ u32 result_of(u32 a, u32 b) {
  return static_cast<u32>(call<F, float>(a, b));
}

// One of the short functions without a branch: the next instruction of another
// place comes later than the results of all of them.
__device__ __forceinline__ u32 short_result(u32 inlined, u32 a, u32 b) {
  u32 result = result_of<AddFunction>(a, b);
  if (inlined == kSubtract) result = result_of<SubtractFunction>(a, b);
  if (inlined == kMultiply) result = result_of<MultiplyFunction>(a, b);
  if (inlined == kMaximum) result = result_of<MaximumFunction>(a, b);
  if (inlined == kMinimum) result = result_of<MinimumFunction>(a, b);
  return result;
}

// Calls `f` with the short function that `inlined` is, for many elements.
template <typename F>
__device__ __forceinline__ void with_short(u32 inlined, F f) {
  switch (inlined) {
    case kAdd:
      return f(AddFunction{});
    case kSubtract:
      return f(SubtractFunction{});
    case kMultiply:
      return f(MultiplyFunction{});
    case kMaximum:
      return f(MaximumFunction{});
    default:
      return f(MinimumFunction{});
  }
}
// The same with the others. False: it has to be called.
template <typename F>
__device__ __forceinline__ bool with_long(u32 inlined, F f) {
  switch (inlined) {
    case kDivide:
      f(DivideFunction{});
      return true;
    case kExp:
      f(ExpFunction{});
      return true;
    case kSigmoid:
      f(SigmoidFunction{});
      return true;
    case kTanh:
      f(TanhFunction{});
      return true;
    default:
      return false;
  }
}

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
  __device__ bool is_of_rows() const { return rest >> 24 & kOfRows; }
  __device__ bool has_wide_operands() const {
    return rest >> 24 & kWideOperands;
  }
  __device__ bool has_wide_result() const { return rest >> 24 & kWideResult; }
};

// An access to elements of 32 bits whose addresses are sums of products.
__device__ inline bool is_quick(const DeviceTask& task, const Instruction& x) {
  const u32 code = x.opcode >> kTypeBits;
  return ((task.shape.flags & kFlat) ||
          (task.shape.outer_dims <= 1 && task.shape.inner_dims <= 1)) &&
         (code == static_cast<u32>(Code::Load32) ||
          code == static_cast<u32>(Code::Store32));
}

__device__ inline void resolve_access(const DeviceTask& task,
                                      const Instruction& x,
                                      Resolved& resolved) {
  resolved.function = x.opcode >> kTypeBits;
  if (!is_quick(task, x)) return;
  resolved.form = kind_of(x) == kLoad ? kQuickLoad : kQuickStore;
  resolved.function = task.addresses[x.index];
  if (task.shape.flags & kFlat)
    resolved.index = task.shape.flat >> x.index & 1 ? 4 : 0;
  else
    resolved.form |= kOfRows;
}

template <u32 W>
__device__ inline void resolve_compute(const Instruction& x,
                                       Resolved& resolved) {
  resolved.function = 0;
  resolved.index = inlined_of(x.opcode);
  if (W == 4 && x.opcode >= kFirstOfFour && x.opcode < kEndOfFour)
    resolved.function = reinterpret_cast<u64>(
        gpuos_program_functions_of_four[x.opcode - kFirstOfFour]);
  if (W == 1 && x.form == kCompute)
    resolved.function =
        reinterpret_cast<u64>(gpuos_program_functions[x.opcode]);
  if (resolved.function != 0) return;
  resolved.function = reinterpret_cast<u64>(gpuos_program_functions[x.opcode]);
  resolved.form |= kComputeEach;
}

template <u32 W>
__device__ Resolved resolve(const DeviceTask& task, const Instruction& x,
                            u32 cell_bytes) {
  const auto offset = [&](u8 cell) {
    return static_cast<u16>(cell == kLast ? kNoCell : cell * cell_bytes);
  };
  Resolved resolved{0,       offset(x.a), offset(x.b), offset(x.out),
                    x.index, x.form};
  switch (kind_of(x)) {
    case kSelect:
      resolved.function = offset(x.c);
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
      resolved.function =
          reinterpret_cast<u64>(gpuos_program_functions[x.opcode]);
      resolved.index = inlined_of(x.opcode);
      if (kind_of(x) == kStep && resolved.index != kCalled)
        resolved.form = kQuickStep;
  }
  return resolved;
}

}  // namespace program
}  // namespace gpuos
