// What the interpreter's loop does itself: functions of values of 32 bits, and
// accesses to elements of 32 bits of a flat task.
#pragma once

#include "program_resolve.h"

namespace gpuos {
namespace program {

// What the loop does itself. A copy of its own, so that the two addresses stay
// in registers.
template <u32 W>
struct Quick {
  u32 text;  // the instructions, in shared memory
  u32 mine;  // this lane's first cell

  __device__ Step fetch(u32 i) const {
    const uint4 words = load_shared_four(text + i * u32{sizeof(Resolved)});
    return {words.x | u64{words.y} << 32, words.z, words.w};
  }

  // This lane's words at an offset.
  __device__ void read_words(u32 offset, u32 (&words)[W]) const {
    if constexpr (W == 4) {
      const uint4 all = load_shared_four(mine + offset);
      words[0] = all.x;
      words[1] = all.y;
      words[2] = all.z;
      words[3] = all.w;
    } else {
      words[0] = load_shared(mine + offset);
    }
  }
  __device__ void write_words(u32 offset, const u32 (&words)[W]) const {
    if constexpr (W == 4)
      store_shared_four(mine + offset, words);
    else
      store_shared(mine + offset, words[0]);
  }

  __device__ void load_quick(const Step& step, u64 column, u32 valid,
                             Values<W>& last) const {
    const u32 stride = step.index();
    const char* from =
        reinterpret_cast<const char*>(step.function + column * stride);
    if constexpr (W == 4) {
      if (stride != 0 && valid == 4 && is_aligned(from)) {
        const uint4 all = *reinterpret_cast<const uint4*>(from);
        last.low[0] = all.x;
        last.low[1] = all.y;
        last.low[2] = all.z;
        last.low[3] = all.w;
        if (step.out() != kNoCell) write_words(step.out(), last.low);
        return;
      }
    }
#pragma unroll
    for (u32 w = 0; w < W; ++w)
      if (w < valid)
        last.low[w] = *reinterpret_cast<const u32*>(from + w * stride);
    if (step.out() != kNoCell) write_words(step.out(), last.low);
  }

  __device__ void store_quick(const Step& step, u64 column, u32 valid,
                              const Values<W>& last) const {
    const u32 stride = step.index();
    char* to = reinterpret_cast<char*>(step.function + column * stride);
    Values<W> values = last;
    if (step.a() != kNoCell) read_words(step.a(), values.low);
    if constexpr (W == 4) {
      if (stride != 0 && valid == 4 && is_aligned(to)) {
        *reinterpret_cast<uint4*>(to) = make_uint4(
            values.low[0], values.low[1], values.low[2], values.low[3]);
        return;
      }
    }
#pragma unroll
    for (u32 w = 0; w < W; ++w)
      if (w < valid) *reinterpret_cast<u32*>(to + w * stride) = values.low[w];
  }
  __device__ static bool is_aligned(const char* address) {
    return reinterpret_cast<u64>(address) % 16 == 0;
  }

  // Both operands are read whatever they are: a branch takes longer.
  __device__ void compute_four(const Step& step, Values<W>& last) const {
    if constexpr (W == 4) {
      const uint4 a = load_shared_four(mine + (step.a() & kCellMask));
      const uint4 b = load_shared_four(mine + (step.b() & kCellMask));
      const bool last_a = step.a() == kNoCell;
      const bool last_b = step.b() == kNoCell;
      const Four x{{last_a ? last.low[0] : a.x, last_a ? last.low[1] : a.y,
                    last_a ? last.low[2] : a.z, last_a ? last.low[3] : a.w}};
      const Four y{{last_b ? last.low[0] : b.x, last_b ? last.low[1] : b.y,
                    last_b ? last.low[2] : b.z, last_b ? last.low[3] : b.w}};
      const Four result = reinterpret_cast<FunctionOfFour>(step.function)(x, y);
#pragma unroll
      for (u32 w = 0; w < 4; ++w) last.low[w] = result.values[w];
      if (step.out() != kNoCell) write_words(step.out(), last.low);
    }
  }

  __device__ void compute_narrow(const Step& step, Values<W>& last) const {
    const u32 a = load_shared(mine + (step.a() & kCellMask));
    const u32 b = load_shared(mine + (step.b() & kCellMask));
    last.low[0] = static_cast<u32>(reinterpret_cast<Function>(step.function)(
        step.a() == kNoCell ? last.low[0] : a,
        step.b() == kNoCell ? last.low[0] : b));
    if (step.out() != kNoCell) write_words(step.out(), last.low);
  }
};

}  // namespace program
}  // namespace gpuos
