// Every instruction for one element at a time: what the interpreter's loop does
// not do itself. One copy serves lanes of any width.
#pragma once

#include "memory.h"
#include "program_lanes.h"

namespace gpuos {
namespace program {

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

// Joins are put together from slices by Gathers.
enum class Mode : u32 { All, Inits, Joins, Gathers, Rest };

// What the lanes of a worker share with the loop that runs instructions.
struct Shared {
  const DeviceTask* task;
  u32 lanes;   // that work
  u32 width;   // elements of a lane
  u32 low[4];  // the result of the instruction before
  u32 high[4];
  u32* gathered;         // what slices kept of this lane's row
  u32 gathered_stride;   // from slice to slice
};

class Cold {
 public:
  __device__ explicit Cold(Shared& shared) : shared_(shared) {}

  __device__ void run(const Instruction& x, Code code, Mode mode,
                      const Place& place, u32 valid) {
    if (is_reduction(code) && stage_of(code) == Stage::Join) {
      join(x, mode, place);
      return;
    }
    for (u32 w = 0; w < shared_.width; ++w) run_slot(x, place, w, valid);
  }

 private:
  __device__ u32* at(u32 cell, u32 lane, u32 w) const {
    return cell_words() + (cell * shared_.lanes + lane) * shared_.width + w;
  }
  template <typename T>
  __device__ T load(u32 cell, u32 lane, u32 w) const {
    if constexpr (sizeof(T) == 8)
      return value_of<T>(*at(cell, lane, w), *at(cell + 1, lane, w));
    else
      return value_of<T>(*at(cell, lane, w), 0);
  }
  template <typename T>
  __device__ void keep(u32 cell, u32 w, T value) const {
    if constexpr (sizeof(T) == 8) {
      const u64 bits = bit_cast<u64>(value);
      *at(cell, threadIdx.x, w) = static_cast<u32>(bits);
      *at(cell + 1, threadIdx.x, w) = static_cast<u32>(bits >> 32);
    } else {
      *at(cell, threadIdx.x, w) = bit_cast<u32>(value);
    }
  }
  template <typename T>
  __device__ T operand(u8 cell, u32 w) const {
    if (cell == kLast) return value_of<T>(shared_.low[w], shared_.high[w]);
    return load<T>(cell, threadIdx.x, w);
  }
  template <typename T>
  __device__ void finish(const Instruction& x, u32 w, T value) const {
    if constexpr (sizeof(T) == 8) {
      const u64 bits = bit_cast<u64>(value);
      shared_.low[w] = static_cast<u32>(bits);
      shared_.high[w] = static_cast<u32>(bits >> 32);
    } else {
      shared_.low[w] = bit_cast<u32>(value);
    }
    if (x.out != kLast) keep(x.out, w, value);
  }

  template <typename F, typename R, typename T, bool kIs>
  __device__ void unary(const Instruction& x, u32 w) {
    if constexpr (kIs)
      finish<R>(x, w, static_cast<R>(F::of(operand<T>(x.a, w))));
  }
  template <typename F, typename R, typename T, bool kIs>
  __device__ void binary(const Instruction& x, u32 w) {
    if constexpr (kIs)
      finish<R>(x, w,
                static_cast<R>(
                    F::of(operand<T>(x.a, w), operand<T>(x.b, w))));
  }
  template <typename T>
  __device__ void select(const Instruction& x, u32 w) {
    const bool is = operand<u32>(x.a, w) != 0;
    finish<T>(x, w,
              is ? operand<T>(x.b, w) : load<T>(x.c, threadIdx.x, w));
  }
  template <typename F, typename T, bool kIs>
  __device__ void step(const Instruction& x, u32 w, u32 valid) {
    if constexpr (kIs) {
      if (w >= valid) return;
      const T sum = load<T>(x.out, threadIdx.x, w);
      keep(x.out, w, static_cast<T>(F::of(sum, operand<T>(x.a, w))));
    }
  }

  // ---- Argmax and argmin: the place lies behind the value.

  template <typename T>
  __device__ static constexpr u32 behind() {
    return sizeof(T) / 4;
  }
  template <bool kMax, typename T>
  __device__ static void take(T& value, u64& at, T other, u64 other_at) {
    if (!takes<kMax>(value, at, other, other_at)) return;
    value = other;
    at = other_at;
  }
  template <typename T>
  __device__ void begin_place(const Instruction& x, u32 w, T value) {
    keep(x.out, w, value);
    keep(x.out + behind<T>(), w, ~0ull >> 1);
  }
  template <bool kMax, typename T>
  __device__ void step_place(const Instruction& x, const Place& place, u32 w,
                             u32 valid) {
    if (w >= valid) return;
    T value = load<T>(x.out, threadIdx.x, w);
    u64 at = load<u64>(x.out + behind<T>(), threadIdx.x, w);
    take<kMax>(value, at, operand<T>(x.a, w), place.column + w);
    keep(x.out, w, value);
    keep(x.out + behind<T>(), w, at);
  }

  // ---- Joins. All threads of the worker.

  template <typename T>
  __device__ T gathered(u32 slice, u32 offset = 0) const {
    const u32* from =
        shared_.gathered + u64{slice} * shared_.gathered_stride + offset;
    if constexpr (sizeof(T) == 8)
      return value_of<T>(__ldcg(from), __ldcg(from + 1));
    else
      return value_of<T>(__ldcg(from), 0);
  }

  // Calls `f` for half of the row's lanes, a quarter, and so on: an order that
  // depends on nothing else.
  template <typename F>
  __device__ void halve(const Place& place, F f) const {
    const bool works = threadIdx.x < shared_.lanes;
    for (u32 half = shared_.task->rows.row_lanes / 2; half > 0; half /= 2) {
      __syncthreads();
      if (works && place.sub < half) f(threadIdx.x + half * place.distance);
    }
  }

  // The row's value, which its first lane has, to all its lanes.
  template <typename T>
  __device__ void spread(u32 cell, const Place& place) {
    const bool works = threadIdx.x < shared_.lanes;
    __syncthreads();
    T value{};
    if (works)
      value = load<T>(cell, threadIdx.x - place.sub * place.distance, 0);
    __syncthreads();
    if (!works) return;
    for (u32 w = 0; w < shared_.width; ++w) keep(cell, w, value);
  }

  template <typename F, typename T, bool kIs>
  __device__ void join_values(const Instruction& x, Mode mode,
                              const Place& place) {
    if constexpr (kIs) {
      const auto both = [](T a, T b) { return static_cast<T>(F::of(a, b)); };
      const bool works = threadIdx.x < shared_.lanes;
      T sum{};
      if (works) sum = load<T>(x.out, threadIdx.x, 0);
      if (mode == Mode::Gathers) {
        const DeviceTask& task = *shared_.task;
        if (place.is_on)
          for (u32 slice = place.sub; slice < task.rows.slices;
               slice += task.rows.row_lanes)
            sum = both(sum, gathered<T>(slice));
        if (works) keep(x.out, 0, sum);
        shared_.gathered += sizeof(T) / 4;
        return;
      }
      if (works) {
        for (u32 w = 1; w < shared_.width; ++w)
          sum = both(sum, load<T>(x.out, threadIdx.x, w));
        keep(x.out, 0, sum);
      }
      halve(place, [&](u32 other) {
        sum = both(sum, load<T>(x.out, other, 0));
        keep(x.out, 0, sum);
      });
      spread<T>(x.out, place);
    }
  }

  template <bool kMax, typename T>
  __device__ void join_places(const Instruction& x, Mode mode,
                              const Place& place) {
    const u32 places = x.out + behind<T>();
    const bool works = threadIdx.x < shared_.lanes;
    T value{};
    u64 at = 0;
    const auto take_cell = [&](u32 lane, u32 w) {
      take<kMax>(value, at, load<T>(x.out, lane, w),
                 load<u64>(places, lane, w));
    };
    const auto keep_both = [&] {
      keep(x.out, 0, value);
      keep(places, 0, at);
    };
    if (works) {
      value = load<T>(x.out, threadIdx.x, 0);
      at = load<u64>(places, threadIdx.x, 0);
    }
    if (mode == Mode::Gathers) {
      const DeviceTask& task = *shared_.task;
      if (place.is_on)
        for (u32 slice = place.sub; slice < task.rows.slices;
             slice += task.rows.row_lanes)
          take<kMax>(value, at, gathered<T>(slice),
                     gathered<u64>(slice, behind<T>()));
      if (works) keep_both();
      shared_.gathered += behind<T>() + 2;
      return;
    }
    if (works) {
      for (u32 w = 1; w < shared_.width; ++w) take_cell(threadIdx.x, w);
      keep_both();
    }
    halve(place, [&](u32 other) {
      take_cell(other, 0);
      keep_both();
    });
    spread<T>(x.out, place);
    spread<u64>(places, place);
  }

#define GPUOS_FOR_TYPES(X, ...)  \
  X(kF32, float, __VA_ARGS__)    \
  X(kF64, double, __VA_ARGS__)   \
  X(kI32, i32, __VA_ARGS__)      \
  X(kU32, u32, __VA_ARGS__)      \
  X(kI64, i64, __VA_ARGS__)      \
  X(kU64, u64, __VA_ARGS__)      \
  X(kC64, C64, __VA_ARGS__)
#define GPUOS_FOR_ORDERED(X, ...) \
  X(kF32, float, __VA_ARGS__)     \
  X(kF64, double, __VA_ARGS__)    \
  X(kI32, i32, __VA_ARGS__)       \
  X(kU32, u32, __VA_ARGS__)       \
  X(kI64, i64, __VA_ARGS__)       \
  X(kU64, u64, __VA_ARGS__)

  __device__ void join(const Instruction& x, Mode mode, const Place& place) {
    switch (x.opcode) {
#define GPUOS_CASE(type, T, name, types)                              \
  case opcode_of(Code::name##Join, type):                             \
    join_values<name##Function, T, has(types, type)>(x, mode, place); \
    break;
#define GPUOS_CASES(name, function, types) \
  GPUOS_FOR_TYPES(GPUOS_CASE, name, types)
      GPUOS_REDUCTION_CODES(GPUOS_CASES)
#undef GPUOS_CASES
#undef GPUOS_CASE
#define GPUOS_CASE(type, T, unused)          \
  case opcode_of(Code::ArgmaxJoin, type):    \
    join_places<true, T>(x, mode, place);    \
    break;                                   \
  case opcode_of(Code::ArgminJoin, type):    \
    join_places<false, T>(x, mode, place);   \
    break;
      GPUOS_FOR_ORDERED(GPUOS_CASE, 0)
#undef GPUOS_CASE
      default:
        break;
    }
  }

  __device__ void run_slot(const Instruction& x, const Place& place, u32 w,
                           u32 valid) {
    switch (x.opcode) {
#define GPUOS_CASE(type, T, name, types)                     \
  case opcode_of(Code::name, type):                          \
    unary<name##Function, T, T, has(types, type)>(x, w);     \
    break;
#define GPUOS_CASES(name, function, types) \
  GPUOS_FOR_TYPES(GPUOS_CASE, name, types)
      GPUOS_UNARY_CODES(GPUOS_CASES)
#undef GPUOS_CASES
#undef GPUOS_CASE
#define GPUOS_CASE(type, T, name, types)                     \
  case opcode_of(Code::name, type):                          \
    binary<name##Function, T, T, has(types, type)>(x, w);    \
    break;
#define GPUOS_CASES(name, function, types) \
  GPUOS_FOR_TYPES(GPUOS_CASE, name, types)
      GPUOS_BINARY_CODES(GPUOS_CASES)
#undef GPUOS_CASES
#undef GPUOS_CASE
#define GPUOS_CASE(type, T, name, types)                     \
  case opcode_of(Code::name, type):                          \
    binary<name##Function, i32, T, has(types, type)>(x, w);  \
    break;
#define GPUOS_CASES(name, function, types) \
  GPUOS_FOR_TYPES(GPUOS_CASE, name, types)
      GPUOS_COMPARISON_CODES(GPUOS_CASES)
#undef GPUOS_CASES
#undef GPUOS_CASE
#define GPUOS_CASE(type, T, name, types)                     \
  case opcode_of(Code::name, type):                          \
    unary<name##Function, i32, T, has(types, type)>(x, w);   \
    break;
#define GPUOS_CASES(name, function, types) \
  GPUOS_FOR_TYPES(GPUOS_CASE, name, types)
      GPUOS_TEST_CODES(GPUOS_CASES)
#undef GPUOS_CASES
#undef GPUOS_CASE
#define GPUOS_CASES(name, function)                \
  case opcode_of(Code::name, kC64):                \
    unary<name##Function, float, C64, true>(x, w); \
    break;
      GPUOS_PART_CODES(GPUOS_CASES)
#undef GPUOS_CASES
#define GPUOS_CASE(type, T, name, To)                                    \
  case opcode_of(Code::name, type):                                      \
    unary<Conversion<To>, decltype(Conversion<To>::of(T{})), T, true>(x, \
                                                                      w); \
    break;
#define GPUOS_CASES(name, To) GPUOS_FOR_TYPES(GPUOS_CASE, name, To)
      GPUOS_CONVERSION_CODES(GPUOS_CASES)
#undef GPUOS_CASES
#undef GPUOS_CASE
#define GPUOS_CASE(type, T, name, types)                          \
  case opcode_of(Code::name##Step, type):                         \
    step<name##Function, T, has(types, type)>(x, w, valid);       \
    break;
#define GPUOS_CASES(name, function, types) \
  GPUOS_FOR_TYPES(GPUOS_CASE, name, types)
      GPUOS_REDUCTION_CODES(GPUOS_CASES)
#undef GPUOS_CASES
#undef GPUOS_CASE
#define GPUOS_CASE(kind, T, unused)              \
  case opcode_of(Code::SumInit, kind):           \
    keep(x.out, w, first_sum<T>());              \
    break;                                       \
  case opcode_of(Code::ProdInit, kind):          \
    keep(x.out, w, first_product<T>());          \
    break;                                       \
  case opcode_of(Code::Where, kind):             \
    select<ValueOf<sizeof(T) == 8 ? kU64 : kU32>::type>(x, w); \
    break;                                       \
  case opcode_of(Code::Copy32, kind):            \
    finish(x, w, operand<u32>(x.a, w));          \
    break;                                       \
  case opcode_of(Code::Copy64, kind):            \
    finish(x, w, operand<u64>(x.a, w));          \
    break;
      GPUOS_FOR_TYPES(GPUOS_CASE, 0)
#undef GPUOS_CASE
#define GPUOS_CASE(type, T, unused)                \
  case opcode_of(Code::MaxInit, type):             \
    keep(x.out, w, lowest<T>());                   \
    break;                                         \
  case opcode_of(Code::MinInit, type):             \
    keep(x.out, w, highest<T>());                  \
    break;                                         \
  case opcode_of(Code::ArgmaxInit, type):          \
    begin_place<T>(x, w, lowest<T>());             \
    break;                                         \
  case opcode_of(Code::ArgmaxStep, type):          \
    step_place<true, T>(x, place, w, valid);       \
    break;                                         \
  case opcode_of(Code::ArgminInit, type):          \
    begin_place<T>(x, w, highest<T>());            \
    break;                                         \
  case opcode_of(Code::ArgminStep, type):          \
    step_place<false, T>(x, place, w, valid);      \
    break;
      GPUOS_FOR_ORDERED(GPUOS_CASE, 0)
#undef GPUOS_CASE
#define GPUOS_CASE(type, T)                                      \
  case opcode_of(Code::WrapI8, type):                            \
    unary<WrapTo<signed char>, T, T, true>(x, w);                \
    break;                                                       \
  case opcode_of(Code::WrapU8, type):                            \
    unary<WrapTo<unsigned char>, T, T, true>(x, w);              \
    break;                                                       \
  case opcode_of(Code::WrapI16, type):                           \
    unary<WrapTo<short>, T, T, true>(x, w);                      \
    break;                                                       \
  case opcode_of(Code::WrapU16, type):                           \
    unary<WrapTo<u16>, T, T, true>(x, w);                        \
    break;                                                       \
  case opcode_of(Code::LogicalNot, type):                        \
    unary<NotFunction, T, T, true>(x, w);                        \
    break;
      GPUOS_CASE(kI32, i32)
      GPUOS_CASE(kU32, u32)
#undef GPUOS_CASE
#define GPUOS_CASE(type, T)                                      \
  case opcode_of(Code::RoundF16, type):                          \
    unary<RoundToF16, float, T, true>(x, w);                     \
    break;                                                       \
  case opcode_of(Code::RoundBf16, type):                         \
    unary<RoundToBf16, float, T, true>(x, w);                    \
    break;
      GPUOS_CASE(kF32, float)
      GPUOS_CASE(kF64, double)
#undef GPUOS_CASE
      default:
        break;
    }
  }
#undef GPUOS_FOR_TYPES
#undef GPUOS_FOR_ORDERED

  Shared& shared_;
};

// Kept out of the loop, whose registers it would take.
__device__ __noinline__ void run_cold(Shared& shared, const Instruction& x,
                                      Code code, Mode mode, const Place& place,
                                      u32 valid) {
  Cold(shared).run(x, code, mode, place, valid);
}

}  // namespace program
}  // namespace gpuos
