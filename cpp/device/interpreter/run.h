// Runs a task of the interpreter on a worker: all elements, row by row, or its
// slice of a row.
#pragma once

#include "interpreter/slices.h"
#include "interpreter/steps.h"

namespace gpuos {
namespace program {

// The instructions of a part that run while slices are joined. After a loop the
// phases come in this order.
enum class Phase : u32 { All, Inits, Gathers, Joins, Others };

__device__ inline bool is_run(Phase phase, u32 kind) {
  if (phase == Phase::All) return true;
  if (phase == Phase::Inits) return kind == kInit || kind == kPlaceInit;
  const bool joins = kind == kJoin || kind == kPlaceJoin;
  return joins == (phase != Phase::Others);
}

template <u32 W>
class Interpreter {
 public:
  __device__ Interpreter(const DeviceTask& task, u32 lanes)
      : task_(task),
        cells_{lanes},
        loop_{scratch_address(),
              scratch_address() + kTextBytes + threadIdx.x * W * 4} {
    keep(0, task.size());
    __syncthreads();
  }

  // All workers share the columns.
  __device__ void run_elements(u32 tile, u32 tiles) {
    const bool works = threadIdx.x < cells_.lanes;
    RowLane place{0, 0, 0, 0, works};
    if (!works) return;
    const u32 begin = task_.begin(1);
    const u32 end = task_.end(1);
    Values<W> last{};
    run_kept(0, begin, place, {W, 0}, last);
    const u64 columns = task_.rows.columns;
    const u64 step = u64{tiles} * cells_.lanes * W;
    for (place.column = (u64{tile} * cells_.lanes + threadIdx.x) * W;
         place.column < columns; place.column += step) {
      const u32 valid = valid_of(columns - place.column);
      run_kept(begin, end, place, {valid, valid}, last);
    }
    // One worker computes the values that are the same for all elements.
    if (tile != 0 || task_.begin(2) == task_.end(2)) return;
    place.column = 0;
    run_kept(task_.begin(2), task_.end(2), place,
             {W, threadIdx.x == 0 ? 1u : 0u}, last);
  }

  // Runs a text that does not fit into the scratch. All lanes make it ready
  // piece by piece.
  __device__ void run_long_elements(u32 tile, u32 tiles) const {
    const bool works = threadIdx.x < cells_.lanes;
    const u32 end = task_.end(1);
    RowLane place{0, 0, 0, 0, works};
    run_pieces(0, task_.begin(1), place, {W, 0});
    const u64 columns = task_.rows.columns;
    const u64 step = u64{tiles} * cells_.lanes * W;
    for (u64 first = u64{tile} * cells_.lanes * W; first < columns;
         first += step) {
      place.column = first + threadIdx.x * W;
      place.is_on = works && place.column < columns;
      const u32 valid = place.is_on ? valid_of(columns - place.column) : 0;
      run_pieces(task_.begin(1), end, place, {valid, valid});
    }
    if (tile != 0) return;
    place = {0, 0, 0, 0, works};
    run_pieces(task_.begin(2), task_.end(2), place,
               {W, threadIdx.x == 0 ? 1u : 0u});
  }

  __device__ void run_rows(u32 tile, u32 tiles) {
    const u32 count = groups(task_.rows);
    for (u32 group = tile; group < count; group += tiles) {
      RowLane place = place_in(group);
      for (u32 part = 0; part < task_.header.parts; ++part) {
        if (part % 2 == 0)
          run_row_part(part, Phase::All, place);
        else
          run_columns(part, place, 0);
      }
      __syncthreads();
    }
  }

  // Runs rows that have slices. If workers share rows, a tile is a slice, and
  // the last worker combines the slices. Otherwise one worker runs all slices
  // in order.
  __device__ void run_slices(u32 tile, u32 tiles) {
    const u32 slices = task_.rows.slices;
    const bool is_shared = (task_.shape.flags & kSliced) != 0;
    const u32 units = groups(task_.rows) * (is_shared ? slices : 1);
#pragma unroll 1
    for (u32 unit = tile; unit < units; unit += tiles) {
      const u32 group = is_shared ? unit / slices : unit;
      const u32 begin = is_shared ? unit % slices : 0;
      const u32 end = is_shared ? begin + 1 : slices;
      RowLane place = place_in(group);
      run_row_part(0, Phase::All, place);
#pragma unroll 1
      for (u32 part = 1; part < task_.header.parts; part += 2) {
#pragma unroll 1
        for (u32 slice = begin; slice < end; ++slice)
          gather_slice(part, slice, group, place);
        __syncthreads();
        if (is_shared && !is_last_slice(task_.rows, group)) break;
        take_slices(part, place);
      }
      __syncthreads();
    }
  }

 private:
  // All threads. Makes `count` instructions ready, if there is room.
  __device__ void keep(u32 first, u32 count) const {
    Ready* kept = reinterpret_cast<Ready*>(scratch);
    const u32 end = min(count, kKept);
    for (u32 i = threadIdx.x; i < end; i += blockDim.x)
      kept[i] = resolve<W>(task_, instructions_of(task_.text)[first + i],
                           cell_bytes());
    if (threadIdx.x < kAhead) clear_step(end + threadIdx.x);
  }

  __device__ __noinline__ void run_pieces(u32 begin, u32 end, RowLane place,
                                          Valid valid) const {
    Values<W> last{};
    for (u32 first = begin; first < end; first += kKept) {
      const u32 count = min(end - first, kKept);
      __syncthreads();
      keep(first, count);
      __syncthreads();
      if (place.is_on) run_kept(0, count, place, valid, last);
    }
  }

  __device__ static u32 valid_of(u64 left) {
    return left < W ? static_cast<u32>(left) : W;
  }
  __device__ RowLane place_in(u32 group) const {
    const u32 row_lanes = task_.rows.row_lanes;
    const u32 in_group = group_rows(task_.rows);
    const u32 lane = threadIdx.x;
    const bool transposed = task_.shape.flags & kTransposed;
    const u32 row = transposed ? lane % in_group : lane / row_lanes;
    RowLane place;
    place.sub = transposed ? lane / in_group : lane % row_lanes;
    place.distance = transposed ? in_group : 1;
    place.row = u64{group} * in_group + row;
    place.column = 0;
    place.is_on = lane < cells_.lanes && place.row < task_.rows.rows;
    return place;
  }

  // Run by all threads, because joins have barriers. Threads without a row do
  // nothing else.
  __device__ void run_row_part(u32 part, Phase phase, RowLane& place) {
    place.column = 0;
    // A row has one result, which its first lane writes.
    const Valid valid{place.is_on ? W : 0,
                      place.is_on && place.sub == 0 ? 1u : 0u};
    const bool works = threadIdx.x < cells_.lanes;
    Values<W> last{};
    const u32 end = task_.end(part);
    for (u32 i = task_.begin(part); i < end; ++i) {
      const Ready step = fetch(i);
      const u32 kind = step.kind();
      if (!is_run(phase, kind)) continue;
      if (kind == kJoin || kind == kPlaceJoin)
        join(step, phase, place);
      else if (works)
        run_one(step, place, valid, last);
    }
  }

  // Leaves the values of a slice and a loop to take_slices().
  __device__ void gather_slice(u32 part, u32 slice, u32 group, RowLane& place) {
    run_row_part(part - 1, Phase::Inits, place);
    run_columns(part, place, slice);
    run_row_part(part + 1, Phase::Joins, place);
    const u32 words = gathered_words(part);
    const u64 row_in_group = place.row - u64{group} * group_rows(task_.rows);
    kept_stride_ = group_rows(task_.rows) * words;
    kept_ = reinterpret_cast<u32*>(task_.rows.gathered) + groups(task_.rows) +
            u64{group} * task_.rows.slices * kept_stride_ +
            row_in_group * words;
    if (place.is_on && place.sub == 0)
      keep_gathered(part, kept_ + u64{slice} * kept_stride_);
  }
  // Combines the values and continues. This is one call, because the stack
  // would grow otherwise.
  __device__ void take_slices(u32 part, RowLane& place) {
    constexpr u32 kFirst = static_cast<u32>(Phase::Inits);
    constexpr u32 kLast = static_cast<u32>(Phase::Others);
#pragma unroll 1
    for (u32 phase = kFirst; phase <= kLast; ++phase)
      run_row_part(phase == kFirst ? part - 1 : part + 1,
                   static_cast<Phase>(phase), place);
  }

  __device__ void run_columns(u32 part, const RowLane& place, u32 slice) const {
    if (task_.end(part) <= kKept)
      run_columns_of<true>(part, place, slice);
    else
      run_columns_of<false>(part, place, slice);
  }
  template <bool kIsKept>
  __device__ __noinline__ void run_columns_of(u32 part, RowLane place,
                                              u32 slice) const {
    if (!place.is_on) return;
    const u32 first = task_.begin(part);
    const u32 last = task_.end(part);
    const u32 lanes = task_.rows.row_lanes;
    const u64 step = u64{lanes} * task_.rows.slices * kPackColumns;
    const u64 end = task_.rows.columns;
    for (place.column = (u64{slice} * lanes + place.sub) * kPackColumns;
         place.column < end;
         place.column = column_after(place.column, W, step)) {
      const u32 valid = valid_of(end - place.column);
      Values<W> result{};
      if constexpr (kIsKept)
        run_kept(first, last, place, {valid, valid}, result);
      else
        run_far(first, last, place, {valid, valid}, result);
    }
  }

  __device__ Steps<W> steps() const { return {loop_, cells_}; }

  // Calls `f` for each join after loop `part`.
  template <typename F>
  __device__ void each_join(u32 part, F f) const {
    const u32 end = task_.end(part + 1);
    for (u32 i = task_.begin(part + 1); i < end; ++i) {
      const Ready step = fetch(i);
      if (is_run(Phase::Joins, step.kind())) f(steps().reduction_of(step));
    }
  }
  __device__ u32 gathered_words(u32 part) const {
    u32 words = 0;
    each_join(part, [&](const Reduction<W>& x) { words += x.words(); });
    return words;
  }
  __device__ void keep_gathered(u32 part, u32* to) const {
    each_join(part, [&](const Reduction<W>& x) {
      to = keep_words(x.of(threadIdx.x, 0), x.wide, x.has_place, to);
    });
  }

  __device__ u32 cell_bytes() const { return cells_.lanes * W * 4; }

  __device__ __forceinline__ Ready fetch(u32 i) const {
    return i < kKept ? loop_.fetch(loop_.place_of(i)) : fetch_far(i);
  }
  __device__ __noinline__ Ready fetch_far(u32 i) const {
    return resolve<W>(task_, instructions_of(task_.text)[i], cell_bytes());
  }

  // Runs the loop of a part over the columns of this lane.
  __device__ __forceinline__ void run_kept(u32 begin, u32 end,
                                           const RowLane& place, Valid valid,
                                           Values<W>& last) const {
    const InnerLoop<W> loop = loop_;
    u32 at = loop.place_of(begin);
    const u32 stop = loop.place_of(end);
    Ahead<W> ahead(loop, at);
#pragma unroll 1
    for (; at != stop; at += sizeof(Ready)) {
      const Ready step = ahead.step();
      const Operands<W> x = loop.take(step, ahead.cells, last);
      ahead.go_on(loop, at);
      if (loop.compute(step, x, last)) [[likely]]
        loop.write_result(step, last);
      else
        run_other(loop, loop.fetch(at), x, place, valid, last);
    }
  }
  // Runs a text of rows that does not fit into the scratch.
  __device__ __forceinline__ void run_far(u32 begin, u32 end,
                                          const RowLane& place, Valid valid,
                                          Values<W>& last) const {
#pragma unroll 1
    for (u32 i = begin; i < end; ++i) run_one(fetch(i), place, valid, last);
  }
  __device__ __forceinline__ void run_one(const Ready& step,
                                          const RowLane& place, Valid valid,
                                          Values<W>& last) const {
    const Operands<W> x =
        loop_.take(step, loop_.read_cells(step.operands), last);
    if (loop_.compute(step, x, last))
      loop_.write_result(step, last);
    else
      run_other(loop_, step, x, place, valid, last);
  }

  // Runs an instruction that is not an Inlined. The frequent ones of small
  // programs are inlined here, because a call would save registers in memory.
  __device__ __forceinline__ void run_other(const InnerLoop<W>& loop,
                                            const Ready& step,
                                            const Operands<W>& x,
                                            const RowLane& place, Valid valid,
                                            Values<W>& last) const {
    switch (step.kind()) {
      case kCompute:
        loop.call(step.function, x, last);
        loop.write_result(step, last);
        break;
      case kInlinedStep:
        loop.gather(step, x.a, valid.loaded);
        break;
      case kInlinedLoad: {
        const Walk walk = walk_of(step, place);
        loop.load(walk.first, walk.stride, valid.loaded, last);
        loop.write_result(step, last);
        break;
      }
      case kInlinedStore: {
        const Walk walk = walk_of(step, place);
        loop.store(x.a, walk.first, walk.stride, valid.stored);
        break;
      }
      default:
        last = run_step<W>(steps(), task_, step, place, valid, last);
    }
  }

  // Returns where the elements of an inlined access are.
  __device__ __forceinline__ Walk walk_of(const Ready& step,
                                          const RowLane& place) const {
    i64 stride = step.index();
    u64 first = step.function;
    if (step.is_of_rows()) {
      const i64* along = task_.strides + step.index() * task_.dims();
      if (task_.shape.outer_dims != 0)
        first += place.row * static_cast<u64>(*along++);
      stride = task_.shape.inner_dims != 0 ? *along : 0;
    }
    first += place.column * static_cast<u64>(stride);
    return {reinterpret_cast<char*>(first), stride, true};
  }

  __device__ void join(const Ready& step, Phase phase, const RowLane& place) {
    const Reduction<W> x = steps().reduction_of(step);
    if (phase != Phase::Gathers) {
      if (step.index() != kCalled)
        join_floats<W>(cells_, step.index(), x.cell, task_.rows.row_lanes,
                       place);
      else
        join_lanes<W>(x, task_.rows.row_lanes, place);
      return;
    }
    gather_slices<W>(x, kept_, kept_stride_, task_.rows.slices,
                     task_.rows.row_lanes, place);
    kept_ += x.words();
  }

  const DeviceTask& task_;
  const Cells<W> cells_;
  const InnerLoop<W> loop_;
  u32* kept_ = nullptr;  // what the slices of this lane's row gathered
  u32 kept_stride_ = 0;  // words from slice to slice
};

}  // namespace program
}  // namespace gpuos
