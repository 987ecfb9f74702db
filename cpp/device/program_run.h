// How a worker runs a task of the interpreter: all elements, row by row, or its
// slice of a row.
#pragma once

#include "program_joins.h"
#include "program_memory.h"
#include "program_quick.h"

namespace gpuos {
namespace program {

// What of a part is run while slices are put together.
enum class Mode : u32 { All, Inits, Joins, Gathers, Rest };

__device__ inline bool is_run(Mode mode, u32 kind) {
  if (mode == Mode::All) return true;
  if (mode == Mode::Inits) return kind == kInit || kind == kPlaceInit;
  const bool joins = kind == kJoin || kind == kPlaceJoin;
  return joins == (mode != Mode::Rest);
}

// How many elements of a lane are loaded and gathered, and how many stored.
struct Valid {
  u32 loaded;
  u32 stored;
};

template <u32 W>
class Interpreter {
 public:
  __device__ Interpreter(const DeviceTask& task, u32 lanes)
      : task_(task),
        cells_{lanes},
        quick_{scratch_address(),
               scratch_address() + kTextBytes + threadIdx.x * W * 4} {
    const u32 count = task.end(task.header.parts - 1);
    Resolved* kept = reinterpret_cast<Resolved*>(scratch);
    for (u32 i = threadIdx.x; i < count && i < kKept; i += blockDim.x)
      kept[i] = resolve<W>(task, instructions_of(task.text)[i], cell_bytes());
    __syncthreads();
  }

  // All workers share the columns.
  __device__ void run_elements(u32 tile, u32 tiles) {
    const bool works = threadIdx.x < cells_.lanes;
    Place place{0, 0, 0, 0, works};
    if (!works) return;
    const u32 begin = task_.begin(1);
    const u32 end = task_.end(1);
    run_part(0, begin, place, {W, 0});
    const u64 columns = task_.rows.columns;
    const u64 step = u64{tiles} * cells_.lanes * W;
    for (place.column = (u64{tile} * cells_.lanes + threadIdx.x) * W;
         place.column < columns; place.column += step) {
      const u32 valid = valid_of(columns - place.column);
      run_part(begin, end, place, {valid, valid});
    }
    // What is the same for all elements.
    if (tile != 0 || task_.begin(2) == task_.end(2)) return;
    place.column = 0;
    run_part(task_.begin(2), task_.end(2), place,
             {W, threadIdx.x == 0 ? 1u : 0u});
  }

  __device__ void run_rows(u32 tile, u32 tiles) {
    const u32 groups = group_count();
    for (u32 group = tile; group < groups; group += tiles) {
      Place place = place_in(group);
      for (u32 part = 0; part < task_.header.parts; ++part) {
        if (part % 2 == 0)
          run_row_part(part, Mode::All, place);
        else
          run_columns(part, place, 0, task_.rows.columns);
      }
      __syncthreads();
    }
  }

  // One slice of a group of rows; the worker that comes last puts them
  // together.
  __device__ void run_slice(u32 tile) {
    const u32 slices = task_.rows.slices;
    const u32 group = tile / slices;
    const u32 slice = tile % slices;
    Place place = place_in(group);
    const u64 each = (task_.rows.columns + slices - 1) / slices;
    const u64 begin = min(each * slice, task_.rows.columns);
    const u64 end = min(begin + each, task_.rows.columns);
    run_row_part(0, Mode::All, place);
    run_columns(1, place, begin, end);
    run_row_part(2, Mode::Joins, place);
    const u32 words = gathered_words();
    const u64 row_in_group = place.row - u64{group} * group_rows();
    kept_stride_ = group_rows() * words;
    kept_ = reinterpret_cast<u32*>(task_.rows.gathered) + group_count() +
            u64{group} * slices * kept_stride_ + row_in_group * words;
    if (place.is_on && place.sub == 0)
      keep_gathered(kept_ + u64{slice} * kept_stride_);
    if (!is_last_slice(group)) return;
    run_row_part(0, Mode::Inits, place);
    run_row_part(2, Mode::Gathers, place);
    run_row_part(2, Mode::Joins, place);
    run_row_part(2, Mode::Rest, place);
  }

 private:
  __device__ static u32 valid_of(u64 left) {
    return left < W ? static_cast<u32>(left) : W;
  }
  __device__ u32 group_rows() const {
    return cells_.lanes / task_.rows.row_lanes;
  }
  __device__ u32 group_count() const {
    return (task_.rows.rows + group_rows() - 1) / group_rows();
  }

  __device__ Place place_in(u32 group) const {
    const u32 row_lanes = task_.rows.row_lanes;
    const u32 in_group = group_rows();
    const u32 lane = threadIdx.x;
    const bool transposed = task_.shape.flags & kTransposed;
    const u32 row = transposed ? lane % in_group : lane / row_lanes;
    Place place;
    place.sub = transposed ? lane / in_group : lane % row_lanes;
    place.distance = transposed ? in_group : 1;
    place.row = u64{group} * in_group + row;
    place.column = 0;
    place.is_on = lane < cells_.lanes && place.row < task_.rows.rows;
    return place;
  }

  // Run by all threads, because joins have barriers; those without a row do
  // nothing else.
  __device__ void run_row_part(u32 part, Mode mode, Place& place) {
    place.column = 0;
    // A row has one result, which its first lane writes.
    const Valid valid{place.is_on ? W : 0,
                      place.is_on && place.sub == 0 ? 1u : 0u};
    const bool works = threadIdx.x < cells_.lanes;
    Values<W> last{};
    for (u32 i = task_.begin(part); i < task_.end(part); ++i) {
      const Instruction x = instructions_of(task_.text)[i];
      const u32 kind = kind_of(x);
      if (!is_run(mode, kind)) continue;
      if (kind == kJoin || kind == kPlaceJoin)
        join(x, mode, place);
      else if (works)
        last = run_one(fetch(quick_, i), place, valid, last);
    }
  }

  __device__ __noinline__ void run_columns(u32 part, Place place, u64 begin,
                                           u64 end) const {
    if (!place.is_on) return;
    const u32 first = task_.begin(part);
    const u32 last = task_.end(part);
    const u64 step = u64{task_.rows.row_lanes} * W;
    for (place.column = begin + u64{place.sub} * W; place.column < end;
         place.column += step) {
      const u32 valid = valid_of(end - place.column);
      run_part(first, last, place, {valid, valid});
    }
  }

  __device__ Reduction<W> reduction_of(const Instruction& x) const {
    return {cells_, gpuos_program_functions[x.opcode], x.out,
            (x.form & kWideOperands) != 0, kind_of(x) >= kPlaceInit};
  }

  // Calls `f` for each join at the beginning of part 2.
  template <typename F>
  __device__ void each_join(F f) const {
    const Instruction* all = instructions_of(task_.text);
    for (u32 i = task_.begin(2); i < task_.end(2); ++i)
      if (is_run(Mode::Joins, kind_of(all[i]))) f(reduction_of(all[i]));
  }
  __device__ u32 gathered_words() const {
    u32 words = 0;
    each_join([&](const Reduction<W>& x) { words += x.words(); });
    return words;
  }
  __device__ void keep_gathered(u32* to) const {
    each_join([&](const Reduction<W>& x) {
      to = keep_words(x.of(threadIdx.x, 0), x.wide, x.has_place, to);
    });
  }

  // All threads. Counts the slice; the last worker sees what all have kept.
  __device__ bool is_last_slice(u32 group) const {
    u32* counter = reinterpret_cast<u32*>(task_.rows.gathered) + group;
    // Pairs with the same fence of the worker that comes last.
    fence_gpu();
    __syncthreads();
    u32* told = cells_.at(0, 0);
    // The last one also sets the count back to 0.
    if (threadIdx.x == 0)
      *told =
          atomicInc(counter, task_.rows.slices - 1) == task_.rows.slices - 1;
    __syncthreads();
    const bool is_last = *told != 0;
    __syncthreads();
    fence_gpu();
    return is_last;
  }

  __device__ u32 cell_bytes() const { return cells_.lanes * W * 4; }

  __device__ __forceinline__ Step fetch(const Quick<W>& quick, u32 i) const {
    return i < kKept ? quick.fetch(i) : fetch_far(i);
  }
  __device__ __noinline__ Step fetch_far(u32 i) const {
    const Resolved resolved =
        resolve<W>(task_, instructions_of(task_.text)[i], cell_bytes());
    return {
        resolved.function, resolved.a | u32{resolved.b} << 16,
        resolved.out | u32{resolved.index} << 16 | u32{resolved.form} << 24};
  }

  __device__ void read(u32 offset, bool wide, const Values<W>& last,
                       Values<W>& values) const {
    if (offset == kNoCell) {
      values = last;
      return;
    }
    quick_.read_words(offset, values.low);
    if (wide) quick_.read_words(offset + cell_bytes(), values.high);
  }
  __device__ void write(u32 offset, bool wide, const Values<W>& values) const {
    quick_.write_words(offset, values.low);
    if (wide) quick_.write_words(offset + cell_bytes(), values.high);
  }

  // The loop: of a part whose columns this lane has. What a program of small
  // operations is made of is here; a call would save registers in memory.
  __device__ __forceinline__ void run_part(u32 begin, u32 end,
                                           const Place& place,
                                           Valid valid) const {
    Values<W> last{};
    const Quick<W> quick = quick_;
    Step next = fetch(quick, begin);
    for (u32 i = begin; i < end; ++i) {
      const Step step = next;
      // Arrives while this one is run.
      if (i + 1 < end) next = fetch(quick, i + 1);
      const u32 form = step.form();
      if (form == (W == 4 ? kComputeFour : u32{kCompute})) {
        if constexpr (W == 4)
          quick.compute_four(step, last);
        else
          quick.compute_narrow(step, last);
      } else if (form == kQuickLoad) {
        quick.load_quick(step, place.column, valid.loaded, last);
      } else if (form == kQuickStore) {
        quick.store_quick(step, place.column, valid.stored, last);
      } else {
        last = run_one(step, place, valid, last);
      }
    }
  }

  // By value, so that the loop keeps `last` in registers.
  __device__ __noinline__ Values<W> run_one(Step step, const Place& place,
                                            Valid valid, Values<W> last) const {
    const bool wide = step.has_wide_operands();
    const auto function = reinterpret_cast<Function>(step.function);
    Values<W> a;
    switch (step.kind()) {
      case kComputeFour:
        quick_.compute_four(step, last);
        return last;
      case kQuickLoad:
        quick_.load_quick(step, place.column, valid.loaded, last);
        return last;
      case kQuickStore:
        quick_.store_quick(step, place.column, valid.stored, last);
        return last;
      case kCompute: {
        Values<W> b;
        read(step.a(), wide, last, a);
        read(step.b(), wide, last, b);
#pragma unroll
        for (u32 w = 0; w < W; ++w)
          last.set(w, function(a.bits(w, wide), b.bits(w, wide)));
        break;
      }
      case kLoad:
        last = load<W>(task_, static_cast<Code>(step.function), step.index(),
                       place, valid.loaded);
        break;
      case kStore:
        read(step.a(), wide, last, a);
        store<W>(task_, static_cast<Code>(step.function), step.index(), place,
                 valid.stored, a);
        return last;
      case kScalar: {
        const u64 bits = task_.scalars[step.index()];
#pragma unroll
        for (u32 w = 0; w < W; ++w) last.set(w, bits);
        break;
      }
      case kSelect:
        select(step, last);
        break;
      case kStep:
        gather(step, valid.loaded, last);
        return last;
      case kPlaceStep:
        gather_place(step, place, valid.loaded, last);
        return last;
      default:
        begin(step);
        return last;
    }
    if (step.out() != kNoCell) write(step.out(), step.has_wide_result(), last);
    return last;
  }

  __device__ void select(const Step& step, Values<W>& last) const {
    const bool wide = step.has_wide_operands();
    Values<W> condition, b, c;
    read(step.a(), false, last, condition);
    read(step.b(), wide, last, b);
    read(static_cast<u32>(step.function), wide, last, c);
#pragma unroll
    for (u32 w = 0; w < W; ++w) {
      const bool is = condition.low[w] != 0;
      last.low[w] = is ? b.low[w] : c.low[w];
      last.high[w] = is ? b.high[w] : c.high[w];
    }
  }

  __device__ void begin(const Step& step) const {
    const bool wide = step.has_wide_operands();
    Values<W> values;
    const u64 first = reinterpret_cast<Function>(step.function)(0, 0);
#pragma unroll
    for (u32 w = 0; w < W; ++w) values.set(w, first);
    write(step.out(), wide, values);
    if (step.kind() != kPlaceInit) return;
#pragma unroll
    for (u32 w = 0; w < W; ++w) values.set(w, ~0ull >> 1);
    write(step.out() + (wide ? 2 : 1) * cell_bytes(), true, values);
  }

  __device__ void gather(const Step& step, u32 valid,
                         const Values<W>& last) const {
    const bool wide = step.has_wide_operands();
    const auto function = reinterpret_cast<Function>(step.function);
    Values<W> a, sum;
    read(step.a(), wide, last, a);
    read(step.out(), wide, last, sum);
#pragma unroll
    for (u32 w = 0; w < W; ++w)
      if (w < valid) sum.set(w, function(sum.bits(w, wide), a.bits(w, wide)));
    write(step.out(), wide, sum);
  }

  __device__ void gather_place(const Step& step, const Place& place, u32 valid,
                               const Values<W>& last) const {
    const bool wide = step.has_wide_operands();
    const Reduction<W> reduction{cells_,
                                 reinterpret_cast<Function>(step.function),
                                 step.out() / cell_bytes(), wide, true};
    Values<W> a;
    read(step.a(), wide, last, a);
#pragma unroll
    for (u32 w = 0; w < W; ++w) {
      if (w >= valid) continue;
      const Gathered mine{a.bits(w, wide), place.column + w};
      reduction.keep(w, reduction.both(reduction.of(threadIdx.x, w), mine));
    }
  }

  __device__ void join(const Instruction& instruction, Mode mode,
                       const Place& place) {
    const Reduction<W> x = reduction_of(instruction);
    if (mode != Mode::Gathers) {
      join_lanes<W>(x, task_.rows.row_lanes, place);
      return;
    }
    gather_slices<W>(x, kept_, kept_stride_, task_.rows.slices,
                     task_.rows.row_lanes, place);
    kept_ += x.words();
  }

  const DeviceTask& task_;
  const Cells<W> cells_;
  const Quick<W> quick_;
  u32* kept_ = nullptr;  // what the slices of this lane's row gathered
  u32 kept_stride_ = 0;  // words from slice to slice
};

}  // namespace program
}  // namespace gpuos
