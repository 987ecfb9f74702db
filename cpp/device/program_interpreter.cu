// The interpreter of programs, an operator of the worker's own: each
// instruction is run by all lanes for one or four elements each, with its
// operands in shared memory.
#include "memory.h"
#include "program_lanes.h"
#include "vectors.h"

namespace gpuos {
namespace program {
namespace {

// Reductions have three codes each.
enum class Stage : u32 { Init, Step, Join };

__device__ constexpr bool is_reduction(Code code) {
  return code >= Code::SumInit;
}
__device__ constexpr Stage stage_of(Code code) {
  return static_cast<Stage>(
      (static_cast<u32>(code) - static_cast<u32>(Code::SumInit)) % 3);
}
__device__ constexpr bool is_place(Code code) {
  return code >= Code::ArgmaxInit;
}

// What of a part is run: all, or some of it while slices are put together.
enum class Mode : u32 { All, Inits, Joins, Gathers, Rest };

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
      : task_(task), cells_{threadIdx.x, lanes}, lanes_(lanes) {
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
    gathered_ = reinterpret_cast<u32*>(task_.rows.gathered) + groups;
    const u32 row_in_group = static_cast<u32>(place.row - u64{group} * in_group);
    gathered_ += (u64{group} * slices * in_group + row_in_group) * words;
    gathered_stride_ = in_group * words;
    if (place.is_on && place.sub == 0)
      keep_gathered(gathered_ + u64{slice} * gathered_stride_);
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
  __device__ void read(u8 cell, Values<W>& values) const {
    if (cell == kLast)
      values = last_;
    else
      cells_.template read<kWide>(cell, values);
  }
  template <bool kWide>
  __device__ void finish(const Instruction& x, const Values<W>& values) {
    last_ = values;
    if (x.out != kLast) cells_.template write<kWide>(x.out, values);
  }

  template <typename F, typename R, typename T, bool kInlined, bool kIs>
  __device__ void unary(const Instruction& x) {
    if constexpr (kIs) {
      Values<W> a, out;
      read<sizeof(T) == 8>(x.a, a);
#pragma unroll
      for (u32 w = 0; w < W; ++w) {
        if constexpr (kInlined)
          put<R>(out, w, static_cast<R>(F::of(get<T>(a, w))));
        else
          put<R>(out, w, call1<F, R, T>(get<T>(a, w)));
      }
      finish<sizeof(R) == 8>(x, out);
    }
  }

  template <typename F, typename R, typename T, bool kInlined, bool kIs>
  __device__ void binary(const Instruction& x) {
    if constexpr (kIs) {
      Values<W> a, b, out;
      read<sizeof(T) == 8>(x.a, a);
      read<sizeof(T) == 8>(x.b, b);
#pragma unroll
      for (u32 w = 0; w < W; ++w) {
        if constexpr (kInlined)
          put<R>(out, w,
                 static_cast<R>(F::of(get<T>(a, w), get<T>(b, w))));
        else
          put<R>(out, w, call2<F, R, T>(get<T>(a, w), get<T>(b, w)));
      }
      finish<sizeof(R) == 8>(x, out);
    }
  }

  template <bool kWide>
  __device__ void select(const Instruction& x) {
    Values<W> condition, b, c;
    read<false>(x.a, condition);
    read<kWide>(x.b, b);
    cells_.template read<kWide>(x.c, c);
#pragma unroll
    for (u32 w = 0; w < W; ++w) {
      const bool is = condition.low[w] != 0;
      b.low[w] = is ? b.low[w] : c.low[w];
      if constexpr (kWide) b.high[w] = is ? b.high[w] : c.high[w];
    }
    finish<kWide>(x, b);
  }

  template <bool kWide>
  __device__ void copy(const Instruction& x) {
    Values<W> a;
    read<kWide>(x.a, a);
    finish<kWide>(x, a);
  }

  template <bool kWide>
  __device__ void scalar(const Instruction& x) {
    const u64 bits = task_.scalars[x.index];
    Values<W> out;
#pragma unroll
    for (u32 w = 0; w < W; ++w) put<u64>(out, w, bits);
    finish<kWide>(x, out);
  }

  template <typename T>
  __device__ void init(const Instruction& x, T value) {
    Values<W> out;
#pragma unroll
    for (u32 w = 0; w < W; ++w) put<T>(out, w, value);
    cells_.template write<sizeof(T) == 8>(x.out, out);
  }

  template <typename F, typename T, bool kIs>
  __device__ void step(const Instruction& x, u32 valid) {
    if constexpr (kIs) {
      Values<W> a, out;
      read<sizeof(T) == 8>(x.a, a);
      cells_.template read<sizeof(T) == 8>(x.out, out);
#pragma unroll
      for (u32 w = 0; w < W; ++w)
        if (w < valid)
          put<T>(out, w,
                 static_cast<T>(F::of(get<T>(out, w), get<T>(a, w))));
      finish<sizeof(T) == 8>(x, out);
    }
  }

  // The row's lanes as a tree, in an order that depends on nothing else.
  template <typename F, typename T, bool kIs>
  __device__ void join(const Instruction& x, const Place& place) {
    if constexpr (kIs) {
      constexpr bool kWide = sizeof(T) == 8;
      Values<W> values;
      const bool works = threadIdx.x < lanes_;
      T sum{};
      if (works) {
        cells_.template read<kWide>(x.out, values);
        sum = get<T>(values, 0);
        for (u32 w = 1; w < W; ++w)
          sum = static_cast<T>(F::of(sum, get<T>(values, w)));
        keep(x.out, sum);
      }
      for (u32 half = task_.rows.row_lanes / 2; half > 0; half /= 2) {
        __syncthreads();
        if (works && place.sub < half) {
          const T other =
              first_of<T>(x.out, threadIdx.x + half * place.distance);
          sum = static_cast<T>(F::of(sum, other));
          keep(x.out, sum);
        }
      }
      spread<T>(x, place);
    }
  }

  template <typename T>
  __device__ void keep(u32 cell, T value) const {
    if constexpr (sizeof(T) == 8) {
      const u64 bits = bit_cast<u64>(value);
      *cells_.at(cell, threadIdx.x) = static_cast<u32>(bits);
      *cells_.at(cell + 1, threadIdx.x) = static_cast<u32>(bits >> 32);
    } else {
      *cells_.at(cell, threadIdx.x) = bit_cast<u32>(value);
    }
  }
  template <typename T>
  __device__ T first_of(u32 cell, u32 lane) const {
    if constexpr (sizeof(T) == 8)
      return value_of<T>(*cells_.at(cell, lane), *cells_.at(cell + 1, lane));
    else
      return value_of<T>(*cells_.at(cell, lane), 0);
  }

  // All threads: the row's value, which its first lane has, to all its lanes.
  template <typename T>
  __device__ void spread(const Instruction& x, const Place& place,
                         u32 behind = 0) {
    __syncthreads();
    T value{};
    const bool works = threadIdx.x < lanes_;
    if (works)
      value = first_of<T>(x.out + behind,
                          threadIdx.x - place.sub * place.distance);
    __syncthreads();
    if (!works) return;
    Values<W> out;
#pragma unroll
    for (u32 w = 0; w < W; ++w) put<T>(out, w, value);
    cells_.template write<sizeof(T) == 8>(x.out + behind, out);
  }

  // What another worker kept of this row, slice by slice.
  template <typename F, typename T, bool kIs>
  __device__ void gather(const Instruction& x, const Place& place) {
    if constexpr (kIs) {
      if (place.is_on) {
        T sum = first_of<T>(x.out, threadIdx.x);
        for (u32 slice = place.sub; slice < task_.rows.slices;
             slice += task_.rows.row_lanes)
          sum = static_cast<T>(F::of(sum, gathered<T>(slice)));
        keep(x.out, sum);
      }
      gathered_ += sizeof(T) / 4;
    }
  }
  template <typename T>
  __device__ T gathered(u32 slice, u32 behind = 0) const {
    const u32* from = gathered_ + u64{slice} * gathered_stride_ + behind;
    if constexpr (sizeof(T) == 8)
      return value_of<T>(__ldcg(from), __ldcg(from + 1));
    else
      return value_of<T>(__ldcg(from), 0);
  }

  template <bool kMax, typename T>
  __device__ static void take(T& value, u64& at, T other, u64 other_at) {
    if (!takes<kMax>(value, at, other, other_at)) return;
    value = other;
    at = other_at;
  }

  template <bool kMax, typename T>
  __device__ void place_step(const Instruction& x, const Place& place,
                             u32 valid) {
    constexpr bool kWide = sizeof(T) == 8;
    constexpr u32 kBehind = kWide ? 2 : 1;
    Values<W> a, values, places;
    read<kWide>(x.a, a);
    cells_.template read<kWide>(x.out, values);
    cells_.template read<true>(x.out + kBehind, places);
#pragma unroll
    for (u32 w = 0; w < W; ++w) {
      if (w >= valid) continue;
      T value = get<T>(values, w);
      u64 at = get<u64>(places, w);
      take<kMax>(value, at, get<T>(a, w), place.column + w);
      put<T>(values, w, value);
      put<u64>(places, w, at);
    }
    cells_.template write<kWide>(x.out, values);
    cells_.template write<true>(x.out + kBehind, places);
  }

  template <bool kMax, typename T>
  __device__ void place_join(const Instruction& x, const Place& place) {
    constexpr bool kWide = sizeof(T) == 8;
    constexpr u32 kBehind = kWide ? 2 : 1;
    const bool works = threadIdx.x < lanes_;
    T value{};
    u64 at = 0;
    if (works) {
      Values<W> values, places;
      cells_.template read<kWide>(x.out, values);
      cells_.template read<true>(x.out + kBehind, places);
      value = get<T>(values, 0);
      at = get<u64>(places, 0);
      for (u32 w = 1; w < W; ++w)
        take<kMax>(value, at, get<T>(values, w), get<u64>(places, w));
      keep(x.out, value);
      keep(x.out + kBehind, at);
    }
    for (u32 half = task_.rows.row_lanes / 2; half > 0; half /= 2) {
      __syncthreads();
      if (works && place.sub < half) {
        const u32 other = threadIdx.x + half * place.distance;
        take<kMax>(value, at, first_of<T>(x.out, other),
                   first_of<u64>(x.out + kBehind, other));
        keep(x.out, value);
        keep(x.out + kBehind, at);
      }
    }
    spread<T>(x, place);
    spread<u64>(x, place, kBehind);
  }

  template <bool kMax, typename T>
  __device__ void place_gather(const Instruction& x, const Place& place) {
    constexpr u32 kValue = sizeof(T) / 4;
    if (place.is_on) {
      T value = first_of<T>(x.out, threadIdx.x);
      u64 at = first_of<u64>(x.out + kValue, threadIdx.x);
      for (u32 slice = place.sub; slice < task_.rows.slices;
           slice += task_.rows.row_lanes)
        take<kMax>(value, at, gathered<T>(slice),
                   gathered<u64>(slice, kValue));
      keep(x.out, value);
      keep(x.out + kValue, at);
    }
    gathered_ += kValue + 2;
  }

  // One stage of an argmax or argmin.
  template <bool kMax, typename T, bool kIs>
  __device__ void place(const Instruction& x, Stage stage, Mode mode,
                        const Place& where, u32 valid) {
    if constexpr (kIs) {
      if (stage == Stage::Init) {
        init<T>(x, kMax ? lowest<T>() : highest<T>());
        Instruction places = x;
        places.out = static_cast<u8>(x.out + sizeof(T) / 4);
        init<u64>(places, ~0ull >> 1);
      } else if (stage == Stage::Step) {
        place_step<kMax, T>(x, where, valid);
      } else if (mode == Mode::Gathers) {
        place_gather<kMax, T>(x, where);
      } else {
        place_join<kMax, T>(x, where);
      }
    }
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
  __device__ void load(const Instruction& x, const Place& place, u32 valid) {
    Values<W> out;
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
  __device__ void store(const Instruction& x, const Place& place, u32 valid) {
    Values<W> values;
    read<sizeof(Cell) == 8>(x.a, values);
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
  // row do nothing else.
  __device__ void run_part(u32 part, Mode mode, const Place& place,
                           u32 valid) {
    const bool is_row = part % 2 == 0;
    const u32 end = task_.end(part);
    for (u32 i = task_.begin(part); i < end; ++i) {
      const Instruction x = fetch(i);
      const Code code = static_cast<Code>(x.opcode >> kTypeBits);
      if (!is_run(mode, code)) continue;
      const bool joins = is_reduction(code) && stage_of(code) == Stage::Join;
      if (is_row && !joins && threadIdx.x >= lanes_) continue;
      run_one(x, code, mode, place, is_row, valid);
    }
  }

  __device__ void run_one(const Instruction& x, Code code, Mode mode,
                          const Place& place, bool is_row, u32 valid) {
    const u32 loaded = is_row && !place.is_on ? 0 : valid;
    // A row has one result, which its first lane writes.
    const u32 stored = !is_row ? valid : place.is_on && place.sub == 0 ? 1 : 0;
    switch (x.opcode) {
#define GPUOS_FOR_TYPES(X, ...)  \
  X(kF32, float, __VA_ARGS__)    \
  X(kF64, double, __VA_ARGS__)   \
  X(kI32, i32, __VA_ARGS__)      \
  X(kU32, u32, __VA_ARGS__)      \
  X(kI64, i64, __VA_ARGS__)      \
  X(kU64, u64, __VA_ARGS__)      \
  X(kC64, C64, __VA_ARGS__)
#define GPUOS_CASE1(type, T, name, types)                             \
  case opcode_of(Code::name, type):                                   \
    unary<name##Function, T, T, is_inlined<T>(Code::name),            \
          has(types, type)>(x);                                       \
    break;
#define GPUOS_CASES(name, function, types) \
  GPUOS_FOR_TYPES(GPUOS_CASE1, name, types)
      GPUOS_UNARY_CODES(GPUOS_CASES)
#undef GPUOS_CASES
#undef GPUOS_CASE1
#define GPUOS_CASE2(type, T, name, types)                             \
  case opcode_of(Code::name, type):                                   \
    binary<name##Function, T, T, is_inlined<T>(Code::name),           \
           has(types, type)>(x);                                      \
    break;
#define GPUOS_CASES(name, function, types) \
  GPUOS_FOR_TYPES(GPUOS_CASE2, name, types)
      GPUOS_BINARY_CODES(GPUOS_CASES)
#undef GPUOS_CASES
#undef GPUOS_CASE2
#define GPUOS_CASE3(type, T, name, types)                             \
  case opcode_of(Code::name, type):                                   \
    binary<name##Function, i32, T, true, has(types, type)>(x);        \
    break;
#define GPUOS_CASES(name, function, types) \
  GPUOS_FOR_TYPES(GPUOS_CASE3, name, types)
      GPUOS_COMPARISON_CODES(GPUOS_CASES)
#undef GPUOS_CASES
#undef GPUOS_CASE3
#define GPUOS_CASE4(type, T, name, types)                             \
  case opcode_of(Code::name, type):                                   \
    unary<name##Function, i32, T, true, has(types, type)>(x);         \
    break;
#define GPUOS_CASES(name, function, types) \
  GPUOS_FOR_TYPES(GPUOS_CASE4, name, types)
      GPUOS_TEST_CODES(GPUOS_CASES)
#undef GPUOS_CASES
#undef GPUOS_CASE4
#define GPUOS_CASES(name, function)                                   \
  case opcode_of(Code::name, kC64):                                   \
    unary<name##Function, float, C64, false, true>(x);                \
    break;
      GPUOS_PART_CODES(GPUOS_CASES)
#undef GPUOS_CASES
#define GPUOS_CASE5(type, T, name, To)                                \
  case opcode_of(Code::name, type):                                   \
    unary<Conversion<To>, decltype(Conversion<To>::of(T{})), T, true, \
          true>(x);                                                   \
    break;
#define GPUOS_CASES(name, To) GPUOS_FOR_TYPES(GPUOS_CASE5, name, To)
      GPUOS_CONVERSION_CODES(GPUOS_CASES)
#undef GPUOS_CASES
#undef GPUOS_CASE5
#define GPUOS_CASE6(type, T, name, types)                             \
  case opcode_of(Code::name##Step, type):                             \
    step<name##Function, T, has(types, type)>(x, loaded);             \
    break;                                                            \
  case opcode_of(Code::name##Join, type):                             \
    if (mode == Mode::Gathers)                                        \
      gather<name##Function, T, has(types, type)>(x, place);          \
    else                                                              \
      join<name##Function, T, has(types, type)>(x, place);            \
    break;
#define GPUOS_CASES(name, function, types) \
  GPUOS_FOR_TYPES(GPUOS_CASE6, name, types)
      GPUOS_REDUCTION_CODES(GPUOS_CASES)
#undef GPUOS_CASES
#undef GPUOS_CASE6
#define GPUOS_CASE7(type, T, unused)                                  \
  case opcode_of(Code::SumInit, type):                                \
    init<T>(x, first_sum<T>());                                       \
    break;                                                            \
  case opcode_of(Code::ProdInit, type):                               \
    init<T>(x, first_product<T>());                                   \
    break;                                                            \
  case opcode_of(Code::Where, type):                                  \
    select<sizeof(T) == 8>(x);                                        \
    break;                                                            \
  case opcode_of(Code::Copy32, type):                                 \
    copy<false>(x);                                                   \
    break;                                                            \
  case opcode_of(Code::Copy64, type):                                 \
    copy<true>(x);                                                    \
    break;                                                            \
  case opcode_of(Code::Scalar32, type):                               \
    scalar<false>(x);                                                 \
    break;                                                            \
  case opcode_of(Code::Scalar64, type):                               \
    scalar<true>(x);                                                  \
    break;
      GPUOS_FOR_TYPES(GPUOS_CASE7, 0)
#undef GPUOS_CASE7
#define GPUOS_FOR_ORDERED(X)  \
  X(kF32, float)              \
  X(kF64, double)             \
  X(kI32, i32)                \
  X(kU32, u32)                \
  X(kI64, i64)                \
  X(kU64, u64)
#define GPUOS_CASE8(type, T)                                          \
  case opcode_of(Code::MaxInit, type):                                \
    init<T>(x, lowest<T>());                                          \
    break;                                                            \
  case opcode_of(Code::MinInit, type):                                \
    init<T>(x, highest<T>());                                         \
    break;                                                            \
  case opcode_of(Code::ArgmaxInit, type):                             \
  case opcode_of(Code::ArgmaxStep, type):                             \
  case opcode_of(Code::ArgmaxJoin, type):                             \
    this->place<true, T, true>(x, stage_of(code), mode, place, loaded); \
    break;                                                            \
  case opcode_of(Code::ArgminInit, type):                             \
  case opcode_of(Code::ArgminStep, type):                             \
  case opcode_of(Code::ArgminJoin, type):                             \
    this->place<false, T, true>(x, stage_of(code), mode, place, loaded); \
    break;
      GPUOS_FOR_ORDERED(GPUOS_CASE8)
#undef GPUOS_CASE8
#define GPUOS_CASE9(type, T)                                          \
  case opcode_of(Code::WrapI8, type):                                 \
    unary<WrapTo<signed char>, T, T, true, true>(x);                  \
    break;                                                            \
  case opcode_of(Code::WrapU8, type):                                 \
    unary<WrapTo<unsigned char>, T, T, true, true>(x);                \
    break;                                                            \
  case opcode_of(Code::WrapI16, type):                                \
    unary<WrapTo<short>, T, T, true, true>(x);                        \
    break;                                                            \
  case opcode_of(Code::WrapU16, type):                                \
    unary<WrapTo<u16>, T, T, true, true>(x);                          \
    break;                                                            \
  case opcode_of(Code::LogicalNot, type):                             \
    unary<NotFunction, T, T, true, true>(x);                          \
    break;
      GPUOS_CASE9(kI32, i32)
      GPUOS_CASE9(kU32, u32)
#undef GPUOS_CASE9
#define GPUOS_CASE10(type, T)                                         \
  case opcode_of(Code::RoundF16, type):                               \
    unary<RoundToF16, float, T, true, true>(x);                       \
    break;                                                            \
  case opcode_of(Code::RoundBf16, type):                              \
    unary<RoundToBf16, float, T, true, true>(x);                      \
    break;
      GPUOS_CASE10(kF32, float)
      GPUOS_CASE10(kF64, double)
#undef GPUOS_CASE10
      default:
        run_memory(x, code, place, loaded, stored);
    }
  }

  __device__ void run_memory(const Instruction& x, Code code,
                             const Place& place, u32 loaded, u32 stored) {
    switch (code) {
#define GPUOS_CASES(name, Stored)                                     \
  case Code::name:                                                    \
    load<typename CellOf<Stored>::type, Stored>(x, place, loaded);    \
    break;
      GPUOS_LOAD_CODES(GPUOS_CASES)
#undef GPUOS_CASES
#define GPUOS_CASES(name, Stored)                                     \
  case Code::name:                                                    \
    store<typename CellOf<Stored>::type, Stored>(x, place, stored);   \
    break;
      GPUOS_STORE_CODES(GPUOS_CASES)
#undef GPUOS_CASES
      default:
        break;
    }
  }

  const DeviceTask& task_;
  Cells<W> cells_;
  u32 lanes_;  // of the worker that work
  u32 instructions_;
  Values<W> last_;
  u32* gathered_ = nullptr;  // of this lane's row
  u32 gathered_stride_ = 0;        // from slice to slice
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
