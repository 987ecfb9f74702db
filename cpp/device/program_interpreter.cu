// The interpreter of programs, an operator of the worker's own: each
// instruction is run by all lanes for one or four elements each, with its
// operands in shared memory. What most programs of small operations are made of
// is in the loop itself, the rest in program_cold.h.
#include "program_cold.h"
#include "vectors.h"

namespace gpuos {
namespace program {
namespace {

__device__ bool is_run(Mode mode, Code code) {
  if (mode == Mode::All) return true;
  const bool joins = is_reduction(code) && stage_of(code) == Stage::Join;
  if (mode == Mode::Inits)
    return is_reduction(code) && stage_of(code) == Stage::Init;
  return joins == (mode != Mode::Rest);
}

template <u32 W>
class Interpreter {
 public:
  __device__ Interpreter(const DeviceTask& task, u32 lanes)
      : task_(task),
        cells_{threadIdx.x, lanes},
        lanes_(lanes),
        shared_{&task, lanes, W, {}, {}, nullptr, 0} {
    instructions_ =
        static_cast<u32>(part_ends(task.text)[task.header.parts - 1]);
    const u64* from = task.text + 1 + task.header.parts;
    constexpr u32 kKept = kTextBytes / sizeof(u64);
    u64* kept = reinterpret_cast<u64*>(scratch);
    for (u32 i = threadIdx.x; i < instructions_ && i < kKept; i += blockDim.x)
      kept[i] = from[i];
    __syncthreads();
  }

  // All workers share the columns.
  __device__ void run_elements(u32 tile, u32 tiles) {
    const bool works = threadIdx.x < lanes_;
    Place place{0, 0, 0, 0, works};
    run_part(0, Mode::All, place, W);
    if (!works) return;
    const u64 columns = task_.rows.columns;
    const u64 step = u64{tiles} * lanes_ * W;
    for (place.column = (u64{tile} * lanes_ + threadIdx.x) * W;
         place.column < columns; place.column += step)
      run_part(1, Mode::All, place, valid_at(place.column));
  }

  __device__ void run_rows(u32 tile, u32 tiles) {
    const u32 in_group = lanes_ / task_.rows.row_lanes;
    const u32 groups = (task_.rows.rows + in_group - 1) / in_group;
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
    const u32 in_group = lanes_ / task_.rows.row_lanes;
    const u32 groups = (task_.rows.rows + in_group - 1) / in_group;
    const u32 words = gathered_words();
    u32* kept = reinterpret_cast<u32*>(task_.rows.gathered) + groups;
    const u32 row_in_group = static_cast<u32>(place.row - u64{group} * in_group);
    kept += (u64{group} * slices * in_group + row_in_group) * words;
    shared_.gathered = kept;
    shared_.gathered_stride = in_group * words;
    if (place.is_on && place.sub == 0)
      keep_gathered(kept + u64{slice} * shared_.gathered_stride);
    if (!is_last_slice(group)) return;
    run_row_part(0, Mode::Inits, place);
    run_row_part(2, Mode::Gathers, place);
    run_row_part(2, Mode::Joins, place);
    run_row_part(2, Mode::Rest, place);
  }

 private:
  __device__ u32 valid_at(u64 column) const {
    const u64 left = task_.rows.columns - column;
    return left < W ? static_cast<u32>(left) : W;
  }

  __device__ Place place_in(u32 group) const {
    const u32 row_lanes = task_.rows.row_lanes;
    const u32 in_group = lanes_ / row_lanes;
    const u32 lane = threadIdx.x;
    const bool transposed = task_.shape.flags & kTransposed;
    const u32 row = transposed ? lane % in_group : lane / row_lanes;
    Place place;
    place.sub = transposed ? lane / in_group : lane % row_lanes;
    place.distance = transposed ? in_group : 1;
    place.row = u64{group} * in_group + row;
    place.column = 0;
    place.is_on = lane < lanes_ && place.row < task_.rows.rows;
    return place;
  }

  __device__ void run_row_part(u32 part, Mode mode, Place& place) {
    place.column = 0;
    run_part(part, mode, place, W);
  }

  __device__ void run_columns(u32 part, Place& place, u64 begin, u64 end) {
    if (!place.is_on) return;
    const u64 step = u64{task_.rows.row_lanes} * W;
    for (place.column = begin + u64{place.sub} * W; place.column < end;
         place.column += step) {
      const u64 left = end - place.column;
      run_part(part, Mode::All, place, left < W ? static_cast<u32>(left) : W);
    }
  }

  __device__ Instruction fetch(u32 i) const {
    constexpr u32 kKept = kTextBytes / sizeof(u64);
    if (i < kKept)
      return bit_cast<Instruction>(reinterpret_cast<const u64*>(scratch)[i]);
    return instructions_of(task_.text)[i];
  }

  __device__ u32 gathered_words() const {
    u32 words = 0;
    for (u32 i = task_.begin(2); i < task_.end(2); ++i) {
      const Instruction x = fetch(i);
      const Code code = static_cast<Code>(x.opcode >> kTypeBits);
      if (is_run(Mode::Joins, code)) words += words_of(x, code);
    }
    return words;
  }
  __device__ static u32 value_words(const Instruction& x) {
    const u32 type = x.opcode & ((1u << kTypeBits) - 1);
    return type == kF64 || type >= kI64 ? 2 : 1;
  }
  __device__ static u32 words_of(const Instruction& x, Code code) {
    return value_words(x) + (is_place(code) ? 2 : 0);
  }

  __device__ void keep_gathered(u32* to) const {
    for (u32 i = task_.begin(2); i < task_.end(2); ++i) {
      const Instruction x = fetch(i);
      const Code code = static_cast<Code>(x.opcode >> kTypeBits);
      if (!is_run(Mode::Joins, code)) continue;
      const u32 words = words_of(x, code);
      for (u32 k = 0; k < words; ++k)
        *to++ = *cells_.at(x.out + k, threadIdx.x);
    }
  }

  // All threads. Counts the slice; the last worker sees what all have kept.
  __device__ bool is_last_slice(u32 group) const {
    u32* counter = reinterpret_cast<u32*>(task_.rows.gathered) + group;
    // Pairs with the same fence of the worker that comes last.
    fence_gpu();
    __syncthreads();
    u32* told = cell_words();
    if (threadIdx.x == 0)
      *told = atomicInc(counter, task_.rows.slices - 1) ==
              task_.rows.slices - 1;
    __syncthreads();
    const bool is_last = *told != 0;
    __syncthreads();
    fence_gpu();
    return is_last;
  }

  template <bool kWide>
  __device__ void read(u8 cell, const Values<W>& last,
                       Values<W>& values) const {
    if (cell == kLast)
      values = last;
    else
      cells_.template read<kWide>(cell, values);
  }
  template <bool kWide>
  __device__ void finish(const Instruction& x, const Values<W>& values) const {
    if (x.out != kLast) cells_.template write<kWide>(x.out, values);
  }

  template <typename F, typename R, typename T>
  __device__ void unary(const Instruction& x, Values<W>& last) const {
    Values<W> a;
    read<false>(x.a, last, a);
#pragma unroll
    for (u32 w = 0; w < W; ++w)
      put<R>(last, w, static_cast<R>(F::of(get<T>(a, w))));
    finish<false>(x, last);
  }

  template <typename F, typename R, typename T>
  __device__ void binary(const Instruction& x, Values<W>& last) const {
    Values<W> a, b;
    read<false>(x.a, last, a);
    read<false>(x.b, last, b);
#pragma unroll
    for (u32 w = 0; w < W; ++w)
      put<R>(last, w, static_cast<R>(F::of(get<T>(a, w), get<T>(b, w))));
    finish<false>(x, last);
  }

  __device__ void select(const Instruction& x, Values<W>& last) const {
    Values<W> condition, b, c;
    read<false>(x.a, last, condition);
    read<false>(x.b, last, b);
    cells_.template read<false>(x.c, c);
#pragma unroll
    for (u32 w = 0; w < W; ++w)
      last.low[w] = condition.low[w] != 0 ? b.low[w] : c.low[w];
    finish<false>(x, last);
  }

  template <bool kWide>
  __device__ void scalar(const Instruction& x, Values<W>& last) const {
    const u64 bits = task_.scalars[x.index];
#pragma unroll
    for (u32 w = 0; w < W; ++w) put<u64>(last, w, bits);
    finish<kWide>(x, last);
  }

  template <typename F>
  __device__ void step(const Instruction& x, const Values<W>& last,
                       u32 valid) const {
    Values<W> a, sum;
    read<false>(x.a, last, a);
    cells_.template read<false>(x.out, sum);
#pragma unroll
    for (u32 w = 0; w < W; ++w)
      if (w < valid)
        put<float>(sum, w, F::of(get<float>(sum, w), get<float>(a, w)));
    cells_.template write<false>(x.out, sum);
  }

  // ---- Memory.

  __device__ char* address(u32 access, const Place& place) const {
    char* base = reinterpret_cast<char*>(task_.addresses[access]);
    const u32 outer = task_.shape.outer_dims;
    return base + task_.offset(access, 0, outer, place.row) +
           task_.offset(access, outer, task_.dims(), place.column);
  }

  template <typename Stored, typename F>
  __device__ void walk(u32 access, const Place& place, u32 valid, F f) const {
    if (task_.shape.flags & kFlat) {
      auto* base = reinterpret_cast<Stored*>(task_.addresses[access]);
      const bool is_flat = task_.shape.flat >> access & 1;
      Stored* at = is_flat ? base + place.column : base;
      const u32 step = is_flat;
      for (u32 w = 0; w < W; ++w)
        if (w < valid) f(w, at + w * step);
      return;
    }
    const u32 inner = task_.shape.inner_dims;
    if (inner <= 1) {
      char* at = address(access, place);
      const i64 stride =
          inner == 0 ? 0
                     : task_.strides[access * task_.dims() +
                                     task_.shape.outer_dims];
      for (u32 w = 0; w < W; ++w)
        if (w < valid) f(w, reinterpret_cast<Stored*>(at + w * stride));
      return;
    }
    Place next = place;
    for (u32 w = 0; w < W; ++w, ++next.column)
      if (w < valid) f(w, reinterpret_cast<Stored*>(address(access, next)));
  }

  // Four elements in a row, if they are aligned.
  template <typename Stored>
  __device__ const Vector<Stored, W>* vector_at(u32 access, const Place& place,
                                                u32 valid) const {
    if constexpr (W == 1 || sizeof(Stored) > 4) {
      return nullptr;
    } else {
      const bool is_flat = (task_.shape.flags & kFlat) &&
                           (task_.shape.flat >> access & 1) && valid == W;
      const auto* at =
          reinterpret_cast<const Stored*>(task_.addresses[access]) +
          place.column;
      return is_flat && is_aligned<W>(at)
                 ? reinterpret_cast<const Vector<Stored, W>*>(at)
                 : nullptr;
    }
  }

  template <typename Cell, typename Stored>
  __device__ void load(const Instruction& x, const Place& place, u32 valid,
                       Values<W>& out) const {
    if (const auto* vector = vector_at<Stored>(x.index, place, valid)) {
      const Vector<Stored, W> loaded = *vector;
#pragma unroll
      for (u32 w = 0; w < W; ++w)
        put<Cell>(out, w, static_cast<Cell>(loaded.values[w]));
    } else {
#pragma unroll
      for (u32 w = 0; w < W; ++w) put<Cell>(out, w, Cell{});
      walk<Stored>(x.index, place, valid, [&](u32 w, const Stored* from) {
        put<Cell>(out, w, static_cast<Cell>(*from));
      });
    }
    finish<sizeof(Cell) == 8>(x, out);
  }

  template <typename Cell, typename Stored>
  __device__ void store(const Instruction& x, const Place& place, u32 valid,
                        const Values<W>& last) const {
    Values<W> values;
    read<sizeof(Cell) == 8>(x.a, last, values);
    if (const auto* vector = vector_at<Stored>(x.index, place, valid)) {
      Vector<Stored, W> stored;
#pragma unroll
      for (u32 w = 0; w < W; ++w)
        stored.values[w] = static_cast<Stored>(get<Cell>(values, w));
      *const_cast<Vector<Stored, W>*>(vector) = stored;
      return;
    }
    walk<Stored>(x.index, place, valid, [&](u32 w, Stored* to) {
      *to = static_cast<Stored>(get<Cell>(values, w));
    });
  }

  // ---- The instructions.

  // All threads run row parts, because joins have barriers; those without a
  // row do nothing else. One copy: it is long, and called once for some
  // elements of a part.
  __device__ __noinline__ void run_part(u32 part, Mode mode, const Place& place,
                           u32 valid) {
    const bool is_row = part % 2 == 0;
    const u32 loaded = is_row && !place.is_on ? 0 : valid;
    // A row has one result, which its first lane writes.
    const u32 stored = !is_row ? valid : place.is_on && place.sub == 0 ? 1 : 0;
    Values<W> last{};
    const u32 end = task_.end(part);
    for (u32 i = task_.begin(part); i < end; ++i) {
      const Instruction x = fetch(i);
      const Code code = static_cast<Code>(x.opcode >> kTypeBits);
      if (!is_run(mode, code)) continue;
      const bool joins = is_reduction(code) && stage_of(code) == Stage::Join;
      if (is_row && !joins && threadIdx.x >= lanes_) continue;
      run_one(x, code, mode, place, loaded, stored, last);
    }
  }

  __device__ void run_one(const Instruction& x, Code code, Mode mode,
                          const Place& place, u32 loaded, u32 stored,
                          Values<W>& last) {
    switch (x.opcode) {
#define GPUOS_CASE(name)                                \
  case opcode_of(Code::name, kF32):                     \
    unary<name##Function, float, float>(x, last);       \
    break;
      GPUOS_CASE(Negative)
      GPUOS_CASE(Square)
      GPUOS_CASE(Reciprocal)
      GPUOS_CASE(Absolute)
      GPUOS_CASE(Exp)
      GPUOS_CASE(Log)
      GPUOS_CASE(Sqrt)
      GPUOS_CASE(Rsqrt)
      GPUOS_CASE(Tanh)
      GPUOS_CASE(Sigmoid)
#undef GPUOS_CASE
#define GPUOS_CASE(name)                                \
  case opcode_of(Code::name, kF32):                     \
    binary<name##Function, float, float>(x, last);      \
    break;
      GPUOS_CASE(Add)
      GPUOS_CASE(Subtract)
      GPUOS_CASE(Multiply)
      GPUOS_CASE(Divide)
      GPUOS_CASE(Maximum)
      GPUOS_CASE(Minimum)
#undef GPUOS_CASE
#define GPUOS_CASE(name)                                \
  case opcode_of(Code::name, kF32):                     \
    binary<name##Function, i32, float>(x, last);        \
    break;                                              \
  case opcode_of(Code::name, kI32):                     \
    binary<name##Function, i32, i32>(x, last);          \
    break;
      GPUOS_CASE(Less)
      GPUOS_CASE(LessEqual)
      GPUOS_CASE(Equal)
      GPUOS_CASE(NotEqual)
#undef GPUOS_CASE
#define GPUOS_CASE(name)                                \
  case opcode_of(Code::name, kI32):                     \
    binary<name##Function, i32, i32>(x, last);          \
    break;
      GPUOS_CASE(Add)
      GPUOS_CASE(Subtract)
      GPUOS_CASE(Multiply)
      GPUOS_CASE(BitwiseAnd)
      GPUOS_CASE(BitwiseOr)
#undef GPUOS_CASE
      case opcode_of(Code::Where, kF32):
      case opcode_of(Code::Where, kI32):
      case opcode_of(Code::Where, kU32):
        select(x, last);
        break;
      case opcode_of(Code::RoundF16, kF32):
        unary<RoundToF16, float, float>(x, last);
        break;
      case opcode_of(Code::RoundBf16, kF32):
        unary<RoundToBf16, float, float>(x, last);
        break;
      case opcode_of(Code::SumStep, kF32):
        step<SumFunction>(x, last, loaded);
        break;
      case opcode_of(Code::MaxStep, kF32):
        step<MaxFunction>(x, last, loaded);
        break;
      default:
        if (code <= Code::Scalar64) {
          run_memory(x, code, place, loaded, stored, last);
        } else {
#pragma unroll
          for (u32 w = 0; w < W; ++w) {
            shared_.low[w] = last.low[w];
            shared_.high[w] = last.high[w];
          }
          run_cold(shared_, x, code, mode, place, loaded);
#pragma unroll
          for (u32 w = 0; w < W; ++w) {
            last.low[w] = shared_.low[w];
            last.high[w] = shared_.high[w];
          }
        }
    }
  }

  __device__ void run_memory(const Instruction& x, Code code,
                             const Place& place, u32 loaded, u32 stored,
                             Values<W>& last) const {
    switch (code) {
#define GPUOS_CASES(name, Stored)                                        \
  case Code::name:                                                       \
    load<typename CellOf<Stored>::type, Stored>(x, place, loaded, last); \
    break;
      GPUOS_LOAD_CODES(GPUOS_CASES)
#undef GPUOS_CASES
#define GPUOS_CASES(name, Stored)                                         \
  case Code::name:                                                        \
    store<typename CellOf<Stored>::type, Stored>(x, place, stored, last); \
    break;
      GPUOS_STORE_CODES(GPUOS_CASES)
#undef GPUOS_CASES
      case Code::Scalar32:
        scalar<false>(x, last);
        break;
      default:
        scalar<true>(x, last);
    }
  }

  const DeviceTask& task_;
  Cells<W> cells_;
  u32 lanes_;  // of the worker that work
  u32 instructions_;
  Shared shared_;
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
