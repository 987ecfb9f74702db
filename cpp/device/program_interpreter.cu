// The interpreter of programs, an operator of the worker's own: each
// instruction is run by all lanes for one or four elements each, with its
// operands in shared memory, by a call of its function's address.
#include "program_joins.h"
#include "program_memory.h"

namespace gpuos {
namespace program {

// program_functions.cu
extern __device__ Function gpuos_program_functions[];
extern __device__ FunctionOfFour gpuos_program_functions_of_four[];

namespace {

// An instruction with its function, as it lies in scratch.
struct alignas(16) Resolved {
  u64 function;
  Instruction x;
};
constexpr u32 kKept = kTextBytes / sizeof(Resolved);

constexpr u32 kFirstOfFour = static_cast<u32>(Code::Negative) << kTypeBits;
constexpr u32 kEndOfFour = static_cast<u32>(Code::Isnan) << kTypeBits;

__device__ u32 kind_of(const Instruction& x) { return x.form & kKindMask; }

template <u32 W>
__device__ Resolved resolve(const Instruction& x) {
  Resolved resolved{0, x};
  // A reduction's values are put together one by one.
  const bool is_one = W == 1 || kind_of(x) != kCompute;
  const bool has_four = x.opcode >= kFirstOfFour && x.opcode < kEndOfFour;
  if (!is_one && has_four)
    resolved.function = reinterpret_cast<u64>(
        gpuos_program_functions_of_four[x.opcode - kFirstOfFour]);
  if (resolved.function != 0) {
    // Marks a function of four.
    resolved.x.c = 1;
    return resolved;
  }
  if (kind_of(x) == kCompute || kind_of(x) >= kInit)
    resolved.function =
        reinterpret_cast<u64>(gpuos_program_functions[x.opcode]);
  return resolved;
}

// What of a part is run while slices are put together.
enum class Mode : u32 { All, Inits, Joins, Gathers, Rest };

__device__ bool is_run(Mode mode, u32 kind) {
  if (mode == Mode::All) return true;
  if (mode == Mode::Inits) return kind == kInit || kind == kPlaceInit;
  const bool joins = kind == kJoin || kind == kPlaceJoin;
  return joins == (mode != Mode::Rest);
}

// What is the same for all instructions of a part.
struct Run {
  u32 begin;
  u32 end;
  u32 loaded;  // elements of a lane that are loaded and gathered
  u32 stored;
  Mode mode;
};

template <u32 W>
class Interpreter {
 public:
  __device__ Interpreter(const DeviceTask& task, u32 lanes)
      : task_(task), cells_{lanes} {
    const u32 count = task.end(task.header.parts - 1);
    Resolved* kept = reinterpret_cast<Resolved*>(scratch);
    for (u32 i = threadIdx.x; i < count && i < kKept; i += blockDim.x)
      kept[i] = resolve<W>(instructions_of(task.text)[i]);
    __syncthreads();
  }

  // All workers share the columns.
  __device__ void run_elements(u32 tile, u32 tiles) {
    const bool works = threadIdx.x < cells_.lanes;
    Place place{0, 0, 0, 0, works};
    if (!works) return;
    run_part(0, Mode::All, place, W, 0);
    const u64 columns = task_.rows.columns;
    const u64 step = u64{tiles} * cells_.lanes * W;
    for (place.column = (u64{tile} * cells_.lanes + threadIdx.x) * W;
         place.column < columns; place.column += step) {
      const u32 valid = valid_of(columns - place.column);
      run_part(1, Mode::All, place, valid, valid);
    }
    // What is the same for all elements.
    if (tile != 0 || task_.begin(2) == task_.end(2)) return;
    place.column = 0;
    run_part(2, Mode::All, place, W, threadIdx.x == 0 ? 1 : 0);
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

  __device__ void run_row_part(u32 part, Mode mode, Place& place) {
    place.column = 0;
    // A row has one result, which its first lane writes.
    run_part(part, mode, place, place.is_on ? W : 0,
             place.is_on && place.sub == 0 ? 1 : 0);
  }

  __device__ void run_columns(u32 part, Place& place, u64 begin, u64 end) {
    if (!place.is_on) return;
    const u64 step = u64{task_.rows.row_lanes} * W;
    for (place.column = begin + u64{place.sub} * W; place.column < end;
         place.column += step) {
      const u32 valid = valid_of(end - place.column);
      run_part(part, Mode::All, place, valid, valid);
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
      *told = atomicInc(counter, task_.rows.slices - 1) ==
              task_.rows.slices - 1;
    __syncthreads();
    const bool is_last = *told != 0;
    __syncthreads();
    fence_gpu();
    return is_last;
  }

  __device__ static Resolved fetch(const u64* text_instructions, u32 i) {
    if (i < kKept) return reinterpret_cast<const Resolved*>(scratch)[i];
    return resolve<W>(reinterpret_cast<const Instruction*>(
        text_instructions)[i]);
  }

  __device__ void read(u8 cell, bool wide, const Values<W>& last,
                       Values<W>& values) const {
    if (cell == kLast)
      values = last;
    else
      cells_.read(cell, wide, values);
  }

  // Row parts are run by all threads, because joins have barriers; those
  // without a row do nothing else.
  __device__ __noinline__ void run_part(u32 part, Mode mode,
                                        const Place& place, u32 loaded,
                                        u32 stored) {
    const Run run{task_.begin(part), task_.end(part), loaded, stored, mode};
    const bool works = threadIdx.x < cells_.lanes;
    const u64* instructions =
        reinterpret_cast<const u64*>(instructions_of(task_.text));
    // In registers, not by way of `this`.
    const Cells<W> cells = cells_;
    Values<W> last{};
    Resolved next = fetch(instructions, run.begin);
    for (u32 i = run.begin; i < run.end; ++i) {
      const Resolved now = next;
      if (i + 1 < run.end) next = fetch(instructions, i + 1);
      const u32 kind = now.x.form & kKindMask;
      if (!is_run(mode, kind)) continue;
      if (kind == kJoin || kind == kPlaceJoin) {
        join(now, mode, place);
      } else if (works) {
        if (kind == kCompute)
          compute(now, cells, last);
        else
          run_other(now, cells, place, run, last);
      }
    }
  }

  __device__ void compute(const Resolved& now, const Cells<W>& cells,
                          Values<W>& last) const {
    const Instruction& x = now.x;
    const bool wide = x.form & kWideOperands;
    Values<W> a, b;
    if (x.a == kLast) a = last; else cells.read(x.a, wide, a);
    if (x.b == kLast) b = last; else cells.read(x.b, wide, b);
    if constexpr (W == 4) {
      if (x.c == 1) {
        const auto function = reinterpret_cast<FunctionOfFour>(now.function);
        const Four result =
            function(Four{{a.low[0], a.low[1], a.low[2], a.low[3]}},
                     Four{{b.low[0], b.low[1], b.low[2], b.low[3]}});
#pragma unroll
        for (u32 w = 0; w < W; ++w) last.low[w] = result.values[w];
        if (x.out != kLast) cells.write_words(x.out, last.low);
        return;
      }
    }
    const auto function = reinterpret_cast<Function>(now.function);
#pragma unroll
    for (u32 w = 0; w < W; ++w)
      last.set(w, function(a.bits(w, wide), b.bits(w, wide)));
    if (x.out != kLast) cells.write(x.out, x.form & kWideResult, last);
  }

  __device__ void run_other(const Resolved& now, const Cells<W>& cells,
                            const Place& place, const Run& run,
                            Values<W>& last) const {
    const Instruction& x = now.x;
    const u32 code = x.opcode >> kTypeBits;
    switch (x.form & kKindMask) {
      case kLoad:
        load_into(x, code, place, run.loaded, last);
        break;
      case kStore:
        store_from(x, code, place, run.stored, last);
        return;
      case kScalar: {
        const u64 bits = task_.scalars[x.index];
#pragma unroll
        for (u32 w = 0; w < W; ++w) last.set(w, bits);
        break;
      }
      case kSelect:
        select(x, last);
        break;
      case kStep:
        step(now, run.loaded, last);
        return;
      case kPlaceStep:
        step_place(now, place, run.loaded, last);
        return;
      default:
        begin(now);
        return;
    }
    if (x.out != kLast) cells.write(x.out, x.form & kWideResult, last);
  }

  __device__ void load_into(const Instruction& x, u32 code, const Place& place,
                            u32 valid, Values<W>& last) const {
    if constexpr (W == 4) {
      const uint4* four =
          code == static_cast<u32>(Code::Load32)
              ? four_at(task_, x.index, place, valid)
              : nullptr;
      if (four != nullptr) {
        const uint4 all = *four;
        last.low[0] = all.x;
        last.low[1] = all.y;
        last.low[2] = all.z;
        last.low[3] = all.w;
        return;
      }
    }
    last = load<W>(task_, code, x.index, place, valid);
  }

  __device__ void store_from(const Instruction& x, u32 code,
                             const Place& place, u32 valid,
                             const Values<W>& last) const {
    Values<W> values;
    read(x.a, x.form & kWideOperands, last, values);
    if constexpr (W == 4) {
      uint4* four = code == static_cast<u32>(Code::Store32)
                        ? four_at(task_, x.index, place, valid)
                        : nullptr;
      if (four != nullptr) {
        *four = make_uint4(values.low[0], values.low[1], values.low[2],
                           values.low[3]);
        return;
      }
    }
    store<W>(task_, code, x.index, place, valid, values);
  }

  __device__ void select(const Instruction& x, Values<W>& last) const {
    const bool wide = x.form & kWideOperands;
    Values<W> condition, b, c;
    read(x.a, false, last, condition);
    read(x.b, wide, last, b);
    cells_.read(x.c, wide, c);
#pragma unroll
    for (u32 w = 0; w < W; ++w) {
      const bool is = condition.low[w] != 0;
      last.low[w] = is ? b.low[w] : c.low[w];
      last.high[w] = is ? b.high[w] : c.high[w];
    }
  }

  __device__ void begin(const Resolved& now) const {
    const Instruction& x = now.x;
    const bool wide = x.form & kWideOperands;
    Values<W> values;
    const u64 first = reinterpret_cast<Function>(now.function)(0, 0);
#pragma unroll
    for (u32 w = 0; w < W; ++w) values.set(w, first);
    cells_.write(x.out, wide, values);
    if (kind_of(x) != kPlaceInit) return;
#pragma unroll
    for (u32 w = 0; w < W; ++w) values.set(w, ~0ull >> 1);
    cells_.write(x.out + (wide ? 2 : 1), true, values);
  }

  __device__ void step(const Resolved& now, u32 valid,
                       const Values<W>& last) const {
    const Instruction& x = now.x;
    const bool wide = x.form & kWideOperands;
    const auto function = reinterpret_cast<Function>(now.function);
    Values<W> a, sum;
    read(x.a, wide, last, a);
    cells_.read(x.out, wide, sum);
#pragma unroll
    for (u32 w = 0; w < W; ++w)
      if (w < valid)
        sum.set(w, function(sum.bits(w, wide), a.bits(w, wide)));
    cells_.write(x.out, wide, sum);
  }

  __device__ void step_place(const Resolved& now, const Place& place,
                             u32 valid, const Values<W>& last) const {
    const Instruction& x = now.x;
    const bool wide = x.form & kWideOperands;
    Reduction<W> reduction{cells_, reinterpret_cast<Function>(now.function),
                           x.out, wide, true};
    Values<W> a;
    read(x.a, wide, last, a);
#pragma unroll
    for (u32 w = 0; w < W; ++w) {
      if (w >= valid) continue;
      const Gathered mine{a.bits(w, wide), place.column + w};
      reduction.keep(w, reduction.both(reduction.of(threadIdx.x, w), mine));
    }
  }

  __device__ void join(const Resolved& now, Mode mode, const Place& place) {
    const Reduction<W> x = reduction_of(now.x);
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
  u32* kept_ = nullptr;  // what the slices of this lane's row gathered
  u32 kept_stride_ = 0;  // words from slice to slice
};

template <u32 W>
__device__ __noinline__ void interpret(const DeviceTask& task, u32 lanes,
                                       u32 tile, u32 tiles) {
  Interpreter<W> interpreter(task, lanes);
  if (task.shape.flags & kSliced)
    interpreter.run_slice(tile);
  else if (task.shape.flags & kRows)
    interpreter.run_rows(tile, tiles);
  else
    interpreter.run_elements(tile, tiles);
}

// Lanes whose cells all have room, a power of two.
__device__ u32 lanes_with_room(u32 cells) {
  u32 lanes = blockDim.x;
  while (lanes > 32 && cells * lanes * 4 > kCellBytes) lanes /= 2;
  return lanes;
}

}  // namespace
}  // namespace program
}  // namespace gpuos

GPUOS_OPERATOR(program) {
  const gpuos::program::DeviceTask what(task);
  const gpuos::u32 cells = what.header.cells;
  const gpuos::u32 lanes = gpuos::program::lanes_with_room(cells);
  const gpuos::u32 tile = lane.tile();
  const gpuos::u32 tiles = lane.tiles();
  // Four elements a lane if there are so many.
  const gpuos::u64 together =
      what.shape.flags & gpuos::program::kRows
          ? gpuos::u64{what.rows.row_lanes}
          : gpuos::u64{tiles} * lanes;
  const bool has_room = cells * lanes * 16 <= gpuos::program::kCellBytes;
  if (has_room && what.rows.columns > together)
    gpuos::program::interpret<4>(what, lanes, tile, tiles);
  else
    gpuos::program::interpret<1>(what, lanes, tile, tiles);
}
