// The interpreter's loop, with the functions of values of 32 bits and the
// accesses to elements of 32 bits that it runs without a call.
#pragma once

#include "interpreter/resolve.h"

namespace gpuos {
namespace program {

// Operands a and b of an instruction.
template <u32 W>
struct Operands {
  u32 a[W];
  u32 b[W];

  template <typename F>
  __device__ __forceinline__ void apply(u32 (&results)[W]) const {
#pragma unroll
    for (u32 w = 0; w < W; ++w) results[w] = result_of<F>(a[w], b[w]);
  }
};

// The loop has its own copy, so that the two addresses stay in registers.
template <u32 W>
struct InnerLoop {
  u32 text;  // the instructions, in shared memory
  u32 mine;  // this lane's first cell

  __device__ u32 place_of(u32 i) const { return text + i * u32{sizeof(Ready)}; }
  __device__ Ready fetch(u32 place) const {
    const uint4 words = load_shared_four(place);
    return {words.x | u64{words.y} << 32, words.z, words.w};
  }
  // Returns one of its words.
  __device__ u32 fetch_operands(u32 place) const {
    return load_shared(place + u32{sizeof(u64)});
  }
  __device__ u32 fetch_rest(u32 place) const {
    return load_shared(place + u32{sizeof(u64) + sizeof(u32)});
  }

  // Returns this lane's words at an offset.
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
  // Reads both operands' cells even if they are not used, because a branch
  // would take longer.
  __device__ Operands<W> read_cells(u32 operands) const {
    const Ready step{0, operands, 0};
    Operands<W> cells;
    read_words(step.a(), cells.a);
    read_words(step.b(), cells.b);
    return cells;
  }
  // The operands are in a cell, or are the result of the previous instruction.
  __device__ static Operands<W> take(const Ready& step,
                                     const Operands<W>& cells,
                                     const Values<W>& last) {
    Operands<W> x;
#pragma unroll
    for (u32 w = 0; w < W; ++w) {
      x.a[w] = step.is_last_a() ? last.low[w] : cells.a[w];
      x.b[w] = step.is_last_b() ? last.low[w] : cells.b[w];
    }
    return x;
  }
  __device__ void write_result(const Ready& step, const Values<W>& last) const {
    if (step.is_kept()) write_words(step.out(), last.low);
  }

  // Elements from `from` on, `stride` bytes apart.
  __device__ void load(const char* from, i64 stride, u32 valid,
                       Values<W>& last) const {
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
  }

  __device__ void store(const u32 (&values)[W], char* to, i64 stride,
                        u32 valid) const {
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

  // Runs one step of a reduction that is a short Inlined. The current value is
  // the first one in the result's cell.
  __device__ void gather(const Ready& step, const u32 (&values)[W],
                         u32 valid) const {
    const u32 place = mine + step.out();
    u32 sum = load_shared(place);
    switch (step.index()) {
#define GPUOS_INLINED(name)                                            \
  case k##name:                                                        \
    _Pragma("unroll") for (u32 w = 0; w < W; ++w) if (w < valid) sum = \
        result_of<name##Function>(sum, values[w]);                     \
    break;
      GPUOS_INLINED(Add)
      GPUOS_INLINED(Subtract)
      GPUOS_INLINED(Multiply)
      GPUOS_INLINED(Maximum)
      GPUOS_INLINED(Minimum)
      default:
        break;
#undef GPUOS_INLINED
    }
    store_shared(place, sum);
  }

  // Runs an Inlined. Returns false if the instruction is not one.
  __device__ __forceinline__ bool compute(const Ready& step,
                                          const Operands<W>& x,
                                          Values<W>& last) const {
    const u32 inlined = step.inlined();
    if (inlined - 1 < u32{kLastShort}) [[likely]] {
      compute_short(inlined, x, last);
      return true;
    }
    switch (inlined) {
#define GPUOS_INLINED(name)                     \
  case k##name:                                 \
    x.template apply<name##Function>(last.low); \
    break;
      GPUOS_INLINED(Divide)
      GPUOS_INLINED(Exp)
      GPUOS_INLINED(Sigmoid)
      GPUOS_INLINED(Tanh)
      GPUOS_INLINED(Negative)
      GPUOS_INLINED(Absolute)
      default:
        return false;
    }
    return true;
  }
  __device__ static __forceinline__ void compute_short(u32 inlined,
                                                       const Operands<W>& x,
                                                       Values<W>& last) {
    if constexpr (W == 1) {
      last.low[0] = short_result(inlined, x.a[0], x.b[0]);
    } else {
      switch (inlined) {
        GPUOS_INLINED(Add)
        GPUOS_INLINED(Subtract)
        GPUOS_INLINED(Multiply)
        GPUOS_INLINED(Maximum)
        default:
          x.template apply<MinimumFunction>(last.low);
      }
    }
  }
#undef GPUOS_INLINED
  // Runs another function of values of 32 bits.
  __device__ void call(u64 address, const Operands<W>& x,
                       Values<W>& last) const {
    if constexpr (W == 4) {
      const auto function = reinterpret_cast<FunctionOfFour>(address);
      const Four result = function({{x.a[0], x.a[1], x.a[2], x.a[3]}},
                                   {{x.b[0], x.b[1], x.b[2], x.b[3]}});
#pragma unroll
      for (u32 w = 0; w < 4; ++w) last.low[w] = result.values[w];
    } else {
      const auto function = reinterpret_cast<Function>(address);
      last.low[0] = static_cast<u32>(function(x.a[0], x.b[0]));
    }
  }
};

// The parts of the next instructions that are fetched while one runs. No
// instruction reads a cell that the previous one wrote. It takes that result
// from registers.
template <u32 W>
struct Ahead {
  u32 rest;
  Operands<W> cells;
  u32 next_operands;

  // Fetches for the instruction at `at`.
  __device__ Ahead(const InnerLoop<W>& loop, u32 at)
      : rest(loop.fetch_rest(at)),
        cells(loop.read_cells(loop.fetch_operands(at))),
        next_operands(loop.fetch_operands(at + sizeof(Ready))) {}
  __device__ Ready step() const { return {0, 0, rest}; }
  __device__ void go_on(const InnerLoop<W>& loop, u32 at) {
    cells = loop.read_cells(next_operands);
    next_operands = loop.fetch_operands(at + kAhead * sizeof(Ready));
    rest = loop.fetch_rest(at + sizeof(Ready));
  }
};

}  // namespace program
}  // namespace gpuos
