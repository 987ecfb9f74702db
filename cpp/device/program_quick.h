// What the interpreter's loop does itself: functions of values of 32 bits, and
// accesses to elements of 32 bits.
#pragma once

#include "program_resolve.h"

namespace gpuos {
namespace program {

// For with_short() and with_long(): the function of each element. NVRTC takes
// no lambda with a template.
template <u32 W>
struct Each {
  const u32 (&a)[W];
  const u32 (&b)[W];
  u32 (&results)[W];

  template <typename F>
  __device__ __forceinline__ void operator()(F) const {
#pragma unroll
    for (u32 w = 0; w < W; ++w) results[w] = result_of<F>(a[w], b[w]);
  }
};

// A copy of its own in the loop, so that the two addresses stay in registers.
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
  // The operand is read whatever it is: a branch takes longer.
  __device__ void read_operand(u32 offset, const Values<W>& last,
                               u32 (&words)[W]) const {
    read_words(offset & kCellMask, words);
#pragma unroll
    for (u32 w = 0; w < W; ++w)
      words[w] = offset == kNoCell ? last.low[w] : words[w];
  }
  __device__ void write_result(const Step& step, const Values<W>& last) const {
    if (step.out() != kNoCell) write_words(step.out(), last.low);
  }

  // Elements from `from` on, `stride` bytes apart.
  __device__ void load(const Step& step, const char* from, i64 stride,
                       u32 valid, Values<W>& last) const {
    bool is_done = false;
    if constexpr (W == 4) {
      if (stride == 4 && valid == 4 && is_aligned(from)) {
        const uint4 all = *reinterpret_cast<const uint4*>(from);
        last.low[0] = all.x;
        last.low[1] = all.y;
        last.low[2] = all.z;
        last.low[3] = all.w;
        is_done = true;
      }
    }
    if (!is_done) {
#pragma unroll
      for (u32 w = 0; w < W; ++w)
        if (w < valid)
          last.low[w] = *reinterpret_cast<const u32*>(from + w * stride);
    }
    write_result(step, last);
  }

  __device__ void store(const Step& step, char* to, i64 stride, u32 valid,
                        const Values<W>& last) const {
    u32 values[W];
    read_operand(step.a(), last, values);
    if constexpr (W == 4) {
      if (stride == 4 && valid == 4 && is_aligned(to)) {
        *reinterpret_cast<uint4*>(to) =
            make_uint4(values[0], values[1], values[2], values[3]);
        return;
      }
    }
#pragma unroll
    for (u32 w = 0; w < W; ++w)
      if (w < valid) *reinterpret_cast<u32*>(to + w * stride) = values[w];
  }
  __device__ static bool is_aligned(const char* address) {
    return reinterpret_cast<u64>(address) % 16 == 0;
  }

  __device__ __forceinline__ void compute(const Step& step,
                                          Values<W>& last) const {
    u32 a[W], b[W];
    read_operand(step.a(), last, a);
    read_operand(step.b(), last, b);
    if (step.index() - 1 < u32{kLastShort}) [[likely]] {
      compute_short(step.index(), a, b, last.low);
    } else {
      if (!with_long(step.index(), Each<W>{a, b, last.low}))
        call(step, a, b, last);
    }
    write_result(step, last);
  }

  // One step of a reduction, whose sums so far are in the result's cell.
  __device__ void gather(const Step& step, u32 valid,
                         const Values<W>& last) const {
    u32 values[W], sums[W], results[W];
    read_operand(step.a(), last, values);
    read_words(step.out(), sums);
    compute_short(step.index(), sums, values, results);
#pragma unroll
    for (u32 w = 0; w < W; ++w)
      if (w < valid) sums[w] = results[w];
    write_words(step.out(), sums);
  }

 private:
  __device__ static __forceinline__ void compute_short(u32 inlined,
                                                       const u32 (&a)[W],
                                                       const u32 (&b)[W],
                                                       u32 (&results)[W]) {
    if constexpr (W == 1) {
      results[0] = short_result(inlined, a[0], b[0]);
    } else {
      with_short(inlined, Each<W>{a, b, results});
    }
  }
  __device__ static void call(const Step& step, const u32 (&a)[W],
                              const u32 (&b)[W], Values<W>& last) {
    if constexpr (W == 4) {
      const auto function = reinterpret_cast<FunctionOfFour>(step.function);
      const Four result =
          function({{a[0], a[1], a[2], a[3]}}, {{b[0], b[1], b[2], b[3]}});
#pragma unroll
      for (u32 w = 0; w < 4; ++w) last.low[w] = result.values[w];
    } else {
      const auto function = reinterpret_cast<Function>(step.function);
      last.low[0] = static_cast<u32>(function(a[0], b[0]));
    }
  }
};

}  // namespace program
}  // namespace gpuos
