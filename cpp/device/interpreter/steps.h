// The instructions that the interpreter's loop does not run itself. Each is a
// separate call, so that it saves only the registers that it uses.
#pragma once

#include "interpreter/array_memory.h"
#include "interpreter/inner_loop.h"
#include "interpreter/joins.h"

namespace gpuos {
namespace program {

// The numbers of elements of a lane that are loaded and gathered, and stored.
struct Valid {
  u32 loaded;
  u32 stored;
};

template <u32 W>
struct Steps {
  InnerLoop<W> loop;
  Cells<W> cells;

  __device__ u32 cell_bytes() const { return cells.lanes * W * 4; }

  __device__ void read(u32 offset, bool wide, Values<W>& values) const {
    loop.read_words(offset, values.low);
    if (wide) loop.read_words(offset + cell_bytes(), values.high);
  }
  __device__ void read_a(const Ready& step, bool wide, const Values<W>& last,
                         Values<W>& values) const {
    if (step.is_last_a())
      values = last;
    else
      read(step.a(), wide, values);
  }
  __device__ void read_b(const Ready& step, bool wide, const Values<W>& last,
                         Values<W>& values) const {
    if (step.is_last_b())
      values = last;
    else
      read(step.b(), wide, values);
  }
  __device__ void write(u32 offset, bool wide, const Values<W>& values) const {
    loop.write_words(offset, values.low);
    if (wide) loop.write_words(offset + cell_bytes(), values.high);
  }
  __device__ void write_result(const Ready& step,
                               const Values<W>& values) const {
    if (step.is_kept()) write(step.out(), step.has_wide_result(), values);
  }

  __device__ Reduction<W> reduction_of(const Ready& step) const {
    const bool is_pair = step.has_pairs();
    return {cells,
            step.function,
            step.out() / cell_bytes(),
            step.has_wide_operands() || is_pair,
            step.kind() == kPlaceStep || step.kind() == kPlaceJoin || is_pair,
            is_pair};
  }
};

template <u32 W>
__device__ __noinline__ Values<W> compute_each(Steps<W> steps, Ready step,
                                               Values<W> last) {
  const bool wide = step.has_wide_operands();
  const auto function = reinterpret_cast<Function>(step.function);
  Values<W> a, b;
  steps.read_a(step, wide, last, a);
  steps.read_b(step, wide, last, b);
#pragma unroll
  for (u32 w = 0; w < W; ++w)
    last.set(w, function(a.bits(w, wide), b.bits(w, wide)));
  steps.write_result(step, last);
  return last;
}

template <u32 W>
__device__ __noinline__ Values<W> select(Steps<W> steps, Ready step,
                                         Values<W> last) {
  const bool wide = step.has_wide_operands();
  Values<W> condition, b, c;
  steps.read_a(step, false, last, condition);
  steps.read_b(step, wide, last, b);
  steps.read(static_cast<u32>(step.function), wide, c);
#pragma unroll
  for (u32 w = 0; w < W; ++w) {
    const bool is = condition.low[w] != 0;
    last.low[w] = is ? b.low[w] : c.low[w];
    last.high[w] = is ? b.high[w] : c.high[w];
  }
  steps.write_result(step, last);
  return last;
}

// Writes the initial value of a reduction.
template <u32 W>
__device__ __noinline__ void begin(Steps<W> steps, Ready step) {
  const bool wide = step.has_wide_operands();
  Values<W> values;
  const u64 first = reinterpret_cast<Function>(step.function)(0, 0);
#pragma unroll
  for (u32 w = 0; w < W; ++w) values.set(w, first);
  steps.write(step.out(), wide, values);
  if (step.kind() != kPlaceInit) return;
#pragma unroll
  for (u32 w = 0; w < W; ++w) values.set(w, ~0ull >> 1);
  steps.write(step.out() + (wide ? 2 : 1) * steps.cell_bytes(), true, values);
}

template <u32 W>
__device__ __noinline__ void gather(Steps<W> steps, Ready step, u32 valid,
                                    Values<W> last) {
  const bool wide = step.has_wide_operands();
  const auto function = reinterpret_cast<Function>(step.function);
  Values<W> a, values;
  steps.read_a(step, wide, last, a);
  steps.read(step.out(), wide, values);
  u64 sum = values.bits(0, wide);
#pragma unroll
  for (u32 w = 0; w < W; ++w)
    if (w < valid) sum = function(sum, a.bits(w, wide));
  values.set(0, sum);
  steps.write(step.out(), wide, values);
}

template <u32 W>
__device__ __noinline__ void gather_place(Steps<W> steps, Ready step,
                                          u64 column, u32 valid,
                                          Values<W> last) {
  const bool wide = step.has_wide_operands();
  const Reduction<W> reduction{.cells = steps.cells,
                               .function = step.function,
                               .cell = step.out() / steps.cell_bytes(),
                               .wide = wide,
                               .has_place = true,
                               .is_pair = false};
  Values<W> a;
  steps.read_a(step, wide, last, a);
  Gathered found = reduction.of(threadIdx.x, 0);
#pragma unroll
  for (u32 w = 0; w < W; ++w)
    if (w < valid) found = reduction.both(found, {a.bits(w, wide), column + w});
  reduction.keep(0, found);
}

// ---- Operands or results of 128 bits, which are stored in cells.

template <u32 W>
struct Pairs {
  const Steps<W>& steps;
  const Ready& step;

  __device__ u32 operand_words() const {
    return step.has_pair_operands() ? 4 : step.has_wide_operands() ? 2 : 1;
  }
  __device__ u32 result_words() const {
    return step.has_pair_result() ? 4 : step.has_wide_result() ? 2 : 1;
  }
  __device__ Four read(u32 offset, u32 words, u32 w) const {
    Four four{};
#pragma unroll
    for (u32 k = 0; k < 4; ++k)
      if (k < words) four.values[k] = load_shared(place(offset, k, w));
    return four;
  }
  __device__ void write(const Four& four, u32 words, u32 w) const {
#pragma unroll
    for (u32 k = 0; k < 4; ++k)
      if (k < words) store_shared(place(step.out(), k, w), four.values[k]);
  }
  __device__ Four call(const Four& a, const Four& b) const {
    return reinterpret_cast<FunctionOfFour>(step.function)(a, b);
  }

 private:
  __device__ u32 place(u32 offset, u32 cell, u32 w) const {
    return steps.loop.mine + offset + cell * steps.cell_bytes() + w * 4;
  }
};

// Takes the elements in order, with results in cells only, which keeps the
// stack short.
template <u32 W>
__device__ __noinline__ Values<W> call_pairs(Steps<W> steps, Ready step,
                                             u32 valid) {
  const Pairs<W> pairs{steps, step};
  const u32 kind = step.kind();
  const u32 words = pairs.operand_words();
#pragma unroll 1
  for (u32 w = 0; w < W; ++w) {
    const bool is_step = kind == kStep;
    if (is_step && w >= valid) break;
    const Four a =
        pairs.read(is_step ? step.out() : step.a(), words, is_step ? 0 : w);
    const Four b = pairs.read(is_step ? step.a() : step.b(), words, w);
    pairs.write(pairs.call(a, b), pairs.result_words(), is_step ? 0 : w);
  }
  Values<W> last{};
  if (!step.has_pair_result())
    steps.read(step.out(), step.has_wide_result(), last);
  return last;
}

// Runs the instructions that call no function.
template <u32 W>
__device__ __noinline__ void move_pairs(Steps<W> steps, const DeviceTask& task,
                                        Ready step, RowLane place,
                                        Valid valid) {
  const Pairs<W> pairs{steps, step};
  const u32 kind = step.kind();
#pragma unroll 1
  for (u32 w = 0; w < W; ++w) {
    if (kind == kSelect) {
      const bool is = load_shared(steps.loop.mine + step.a() + w * 4) != 0;
      pairs.write(
          pairs.read(is ? step.b() : static_cast<u32>(step.function), 4, w), 4,
          w);
    } else if (kind == kScalar) {
      const Gathered halves{task.scalar(step.index()),
                            task.scalar(step.index() + 1)};
      pairs.write(bit_cast<Four>(halves), 4, w);
    } else if (w < (kind == kLoad ? valid.loaded : valid.stored)) {
      const Walk walk = walk_of(task, step.index(), place, sizeof(Four));
      auto* const at = reinterpret_cast<Four*>(
          walk.is_even
              ? walk.first + w * walk.stride
              : address_of(task, step.index(), place.row, place.column + w));
      if (kind == kLoad)
        pairs.write(*at, 4, w);
      else
        *at = pairs.read(step.a(), 4, w);
    }
  }
}

template <u32 W>
__device__ __noinline__ Values<W> run_step(Steps<W> steps,
                                           const DeviceTask& task, Ready step,
                                           RowLane place, Valid valid,
                                           Values<W> last) {
  if (step.has_pairs()) {
    const u32 kind = step.kind();
    if (kind == kComputeEach || kind == kInit || kind == kStep)
      return call_pairs<W>(steps, step, valid.loaded);
    move_pairs<W>(steps, task, step, place, valid);
    return last;
  }
  switch (step.kind()) {
    case kComputeEach:
      return compute_each<W>(steps, step, last);
    case kSelect:
      return select<W>(steps, step, last);
    case kLoad:
      last = load<W>(task, static_cast<Code>(step.function), step.index(),
                     place, valid.loaded);
      steps.write_result(step, last);
      return last;
    case kStore: {
      Values<W> a;
      steps.read_a(step, step.has_wide_operands(), last, a);
      store<W>(task, static_cast<Code>(step.function), step.index(), place,
               valid.stored, a);
      return last;
    }
    case kScalar: {
      const u64 bits = task.scalar(step.index());
#pragma unroll
      for (u32 w = 0; w < W; ++w) last.set(w, bits);
      steps.write_result(step, last);
      return last;
    }
    case kStep:
      gather<W>(steps, step, valid.loaded, last);
      return last;
    case kPlaceStep:
      gather_place<W>(steps, step, place.column, valid.loaded, last);
      return last;
    default:
      begin<W>(steps, step);
      return last;
  }
}

}  // namespace program
}  // namespace gpuos
