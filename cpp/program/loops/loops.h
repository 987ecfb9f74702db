// The loops of the host's interpreter, one for each opcode. Included once for
// each kind of processor, with `gpuos` defined as another name.
#pragma once

#include "device/compiled/reductions.h"
#include "device/functions.h"
#include "device/interpreter/text.h"
#include "device/interpreter/values.h"

// Element i of every operand belongs to element i of the result, so loops may
// be vectorised although cells may be the same.
#if defined(__clang__)
#define GPUOS_INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define GPUOS_INDEPENDENT_LOOP _Pragma("GCC ivdep")
#endif

namespace gpuos::program {
namespace {

using ::gpuos::program::Code;
using Operands = ::GPUOS_LOOP_NAMESPACE::program::LoopOperands;
using MemoryOperand = ::GPUOS_LOOP_NAMESPACE::program::LoopMemory;
using ::GPUOS_LOOP_NAMESPACE::program::Loop;
using ::GPUOS_LOOP_NAMESPACE::program::LoopSums;
using ::GPUOS_LOOP_NAMESPACE::program::MemoryLoop;

template <typename R, typename A, typename F>
void loop1(const Operands& x, F f) {
  auto* out = static_cast<R*>(x.out);
  const auto* a = static_cast<const A*>(x.a);
  GPUOS_INDEPENDENT_LOOP
  for (std::size_t i = 0; i < x.count; ++i) out[i] = f(a[i]);
}

template <typename R, typename A, typename F>
void loop2(const Operands& x, F f) {
  auto* out = static_cast<R*>(x.out);
  const auto* a = static_cast<const A*>(x.a);
  const auto* b = static_cast<const A*>(x.b);
  GPUOS_INDEPENDENT_LOOP
  for (std::size_t i = 0; i < x.count; ++i) out[i] = f(a[i], b[i]);
}

// f has no captures, so a default-constructed object is the same function.
// `kIs`: the code accepts the type.
template <bool kIs, typename R, typename A, typename F>
constexpr Loop make1(F) {
  if constexpr (kIs)
    return [](const Operands& x) { loop1<R, A>(x, F{}); };
  else
    return nullptr;
}

template <bool kIs, typename R, typename A, typename F>
constexpr Loop make2(F) {
  if constexpr (kIs)
    return [](const Operands& x) { loop2<R, A>(x, F{}); };
  else
    return nullptr;
}

template <typename T>
void select(const Operands& x) {
  auto* out = static_cast<T*>(x.out);
  const auto* condition = static_cast<const i32*>(x.a);
  const auto* b = static_cast<const T*>(x.b);
  const auto* c = static_cast<const T*>(x.c);
  GPUOS_INDEPENDENT_LOOP
  for (std::size_t i = 0; i < x.count; ++i)
    out[i] = condition[i] != 0 ? b[i] : c[i];
}

template <typename T>
void fill(const Operands& x, T value) {
  auto* out = static_cast<T*>(x.out);
  for (std::size_t i = 0; i < x.count; ++i) out[i] = value;
}

template <bool kIs, typename F>
constexpr Loop make_step() {
  if constexpr (kIs) {
    return [](const Operands& x) {
      using T = typename F::Type;
      auto* out = static_cast<T*>(x.out);
      const auto* a = static_cast<const T*>(x.a);
      GPUOS_INDEPENDENT_LOOP
      for (std::size_t i = 0; i < x.count; ++i) out[i] = F::both(out[i], a[i]);
    };
  } else {
    return nullptr;
  }
}

template <bool kIs, typename F>
constexpr LoopSums make_sums() {
  using Row = Sums<F, 1>;
  if constexpr (kIs) {
    return {.take =
                [](void* sums, const void* values, std::size_t count,
                   std::uint64_t at, std::uint64_t columns) {
                  static_cast<Row*>(sums)->take(
                      static_cast<const typename F::Type*>(values),
                      static_cast<u32>(count), at, columns, 0);
                },
            .finish =
                [](void* sums, std::uint64_t columns) {
                  static_cast<Row*>(sums)->finish(columns, 1);
                },
            .push =
                [](void* sums, std::uint64_t number) {
                  static_cast<Row*>(sums)->push(number, 1);
                },
            .finish_tree =
                [](void* sums, std::uint64_t count) {
                  static_cast<Row*>(sums)->finish_tree(count, 1);
                }};
  } else {
    return {};
  }
}

template <bool kIs, typename F>
constexpr Loop make_first() {
  if constexpr (kIs) {
    return [](const Operands& x) {
      using T = typename F::Type;
      auto* out = static_cast<T*>(x.out);
      const auto* a = static_cast<const T*>(x.a);
      if (a == nullptr) {
        fill<T>(x, F::first());
        return;
      }
      GPUOS_INDEPENDENT_LOOP
      for (std::size_t i = 0; i < x.count; ++i)
        out[i] = F::both(F::first(), a[i]);
    };
  } else {
    return nullptr;
  }
}

// An argmax accumulates values in `out` and their places in `c`.
template <bool kMax, typename T>
struct ArgExtreme {
  static void first(const Operands& x) {
    fill<T>(x, kMax ? lowest<T>() : highest<T>());
    auto* places = static_cast<u64*>(const_cast<void*>(x.c));
    for (std::size_t i = 0; i < x.count; ++i) places[i] = ~0ull >> 1;
  }
  static void take(T& value, u64& place, T other, u64 other_place) {
    const bool is_taken = takes<kMax>(value, place, other, other_place);
    value = is_taken ? other : value;
    place = is_taken ? other_place : place;
  }
  // `b` is not null where all elements have one place.
  static void step(const Operands& x) {
    auto* values = static_cast<T*>(x.out);
    auto* places = static_cast<u64*>(const_cast<void*>(x.c));
    const auto* a = static_cast<const T*>(x.a);
    const u64 stride = x.b == nullptr ? 1 : 0;
    for (std::size_t i = 0; i < x.count; ++i)
      take(values[i], places[i], a[i], x.place + i * stride);
  }
  static void join(const Operands& x) {
    auto* values = static_cast<T*>(x.out);
    auto* places = static_cast<u64*>(const_cast<void*>(x.c));
    for (std::size_t i = 1; i < x.count; ++i)
      take(values[0], places[0], values[i], places[i]);
    for (std::size_t i = 1; i < x.count; ++i) {
      values[i] = values[0];
      places[i] = places[0];
    }
  }
};

// In vectors, a shorter run takes longer.
inline constexpr std::size_t kLeastVector = 16;

// Calls `f(i, address)` for the elements of all runs. Points have two to four
// coordinates. A loop of so many elements takes half the time if the compiler
// knows their number.
template <std::size_t kCount, typename F>
void each_of_short_runs(const MemoryOperand& x, F f) {
  char* run = x.memory;
  for (std::size_t r = 0; r < x.runs; ++r, run += x.between)
    for (std::size_t i = 0; i < kCount; ++i)
      f(r * kCount + i, run + static_cast<std::int64_t>(i) * x.stride);
}
template <typename F>
void each_element(const MemoryOperand& x, F f) {
  if (x.runs > 1 && x.count == 2) return each_of_short_runs<2>(x, f);
  if (x.runs > 1 && x.count == 3) return each_of_short_runs<3>(x, f);
  if (x.runs > 1 && x.count == 4) return each_of_short_runs<4>(x, f);
  char* run = x.memory;
  std::size_t done = 0;
  for (std::size_t r = 0; r < x.runs; ++r, run += x.between) {
    char* at = run;
#pragma GCC unroll 4
    for (std::size_t i = 0; i < x.count; ++i, at += x.stride) f(done + i, at);
    done += x.count;
  }
}
// Calls `f(done, address)` for the runs, if vectors pay. Returns whether it
// did.
template <typename Stored, typename F>
bool each_vector(const MemoryOperand& x, F f) {
  if (x.stride != sizeof(Stored) || x.count < kLeastVector) return false;
  char* run = x.memory;
  for (std::size_t r = 0; r < x.runs; ++r, run += x.between)
    f(r * x.count, reinterpret_cast<Stored*>(run));
  return true;
}

// NOLINTBEGIN(bugprone-signed-char-misuse): an int8 is a number.
template <typename Cell, typename Stored>
void load(const MemoryOperand& x) {
  auto* out = static_cast<Cell*>(x.cells);
  const auto load_run = [&](std::size_t done, const Stored* in) {
    Cell* const to = out + done;
    GPUOS_INDEPENDENT_LOOP
    for (std::size_t i = 0; i < x.count; ++i) to[i] = static_cast<Cell>(in[i]);
  };
  if (each_vector<Stored>(x, load_run)) return;
  if (x.stride == 0 && x.count >= kLeastVector) {
    const char* in = x.memory;
    for (std::size_t r = 0; r < x.runs; ++r, in += x.between) {
      const auto value =
          static_cast<Cell>(*reinterpret_cast<const Stored*>(in));
      for (std::size_t i = 0; i < x.count; ++i) out[i] = value;
      out += x.count;
    }
    return;
  }
  each_element(x, [out](std::size_t i, const char* in) {
    out[i] = static_cast<Cell>(*reinterpret_cast<const Stored*>(in));
  });
}

// NOLINTEND(bugprone-signed-char-misuse)

template <typename Cell, typename Stored>
void store(const MemoryOperand& x) {
  const auto* in = static_cast<const Cell*>(x.cells);
  const auto store_run = [&](std::size_t done, Stored* out) {
    const Cell* const from = in + done;
    GPUOS_INDEPENDENT_LOOP
    for (std::size_t i = 0; i < x.count; ++i)
      out[i] = static_cast<Stored>(from[i]);
  };
  if (each_vector<Stored>(x, store_run)) return;
  each_element(x, [in](std::size_t i, char* out) {
    *reinterpret_cast<Stored*>(out) = static_cast<Stored>(in[i]);
  });
}

struct Loops {
  Loop loops[static_cast<u32>(Code::Count) << kTypeBits]{};
  LoopSums sums[static_cast<u32>(Code::Count) << kTypeBits]{};

  constexpr void set(Code code, u32 type, Loop loop) {
    loops[opcode_of(code, type)] = loop;
  }

  template <bool kIs, u32 kType, typename F>
  constexpr void add_reduction(Code init, Code step) {
    set(init, kType, make_first<kIs, F>());
    set(step, kType, make_step<kIs, F>());
    sums[opcode_of(step, kType)] = make_sums<kIs, F>();
  }

  template <u32 kType>
  constexpr void add() {
    using T = typename ValueOf<kType>::type;
#define GPUOS_ADD(name, function, numpy, rule, types, ...)                \
  set(Code::name, kType, make1<has(types, kType), T, T>([](auto x) -> T { \
        return fn::function(x);                                           \
      }));
    GPUOS_UNARY_FUNCTIONS(GPUOS_ADD)
#undef GPUOS_ADD
#define GPUOS_ADD(name, function, numpy, rule, types, ...) \
  set(Code::name, kType,                                   \
      make2<has(types, kType), T, T>(                      \
          [](auto x, auto y) -> T { return fn::function(x, y); }));
    GPUOS_BINARY_FUNCTIONS(GPUOS_ADD)
#undef GPUOS_ADD
#define GPUOS_ADD(name, function, numpy, rule, types, ...) \
  set(Code::name, kType,                                   \
      make2<has(types, kType), i32, T>(                    \
          [](auto x, auto y) -> i32 { return fn::function(x, y); }));
    GPUOS_COMPARISONS(GPUOS_ADD)
#undef GPUOS_ADD
#define GPUOS_ADD(name, function, numpy, rule, types, ...)                    \
  set(Code::name, kType, make1<has(types, kType), i32, T>([](auto x) -> i32 { \
        return fn::function(x);                                               \
      }));
    GPUOS_TESTS(GPUOS_ADD)
#undef GPUOS_ADD
#define GPUOS_ADD(name, To)                              \
  set(Code::name, kType,                                 \
      make1<true, decltype(Conversion<To>::of(T{})), T>( \
          [](auto x) { return Conversion<To>::of(x); }));
    GPUOS_CONVERSION_CODES(GPUOS_ADD)
#undef GPUOS_ADD
#define GPUOS_ADD(name, Narrow, types)              \
  if constexpr (has(types, kType)) {                \
    set(Code::name, kType,                          \
        make1<true, decltype(Narrow::of(T{})), T>(  \
            [](auto x) { return Narrow::of(x); })); \
  }
    GPUOS_NARROWING_CODES(GPUOS_ADD)
    GPUOS_ADD(LogicalNot, NotFunction, kShortIntegers)
#undef GPUOS_ADD
    constexpr bool kIsOrdered = has(kOrdered, kType);
#define GPUOS_ADD(name, function, numpy, types)                          \
  add_reduction<has(types, kType), kType, name##Of<T>>(Code::name##Init, \
                                                       Code::name##Step);
    GPUOS_SUMS(GPUOS_ADD)
#undef GPUOS_ADD
    if constexpr (kIsOrdered) {
      set(Code::ArgmaxInit, kType, ArgExtreme<true, T>::first);
      set(Code::ArgmaxStep, kType, ArgExtreme<true, T>::step);
      set(Code::ArgmaxJoin, kType, ArgExtreme<true, T>::join);
      set(Code::ArgminInit, kType, ArgExtreme<false, T>::first);
      set(Code::ArgminStep, kType, ArgExtreme<false, T>::step);
      set(Code::ArgminJoin, kType, ArgExtreme<false, T>::join);
    }
    using Bits = typename ValueOf<sizeof(T) == 16  ? kC128
                                  : sizeof(T) == 8 ? kU64
                                                   : kU32>::type;
    set(Code::Where, kType, select<Bits>);
    set(Code::Copy32, kType,
        [](const Operands& x) { loop1<u32, u32>(x, [](u32 y) { return y; }); });
    set(Code::Copy64, kType,
        [](const Operands& x) { loop1<u64, u64>(x, [](u64 y) { return y; }); });
  }

  constexpr Loops() {
    add<kF32>();
    add<kF64>();
    add<kI32>();
    add<kU32>();
    add<kI64>();
    add<kU64>();
    add<kC64>();
    add<kC128>();
#define GPUOS_ADD(name, function, ...)                                    \
  set(Code::name, kC64, make1<true, float, C64>([](auto x) -> float {     \
        return fn::function(x);                                           \
      }));                                                                \
  set(Code::name, kC128, make1<true, double, C128>([](auto x) -> double { \
        return fn::function(x);                                           \
      }));
    GPUOS_PARTS(GPUOS_ADD)
    GPUOS_ADD(ComplexAbs, abs)
#undef GPUOS_ADD
  }
};

struct MemoryLoops {
  MemoryLoop loops[static_cast<u32>(Code::Count)]{};

  constexpr MemoryLoops() {
#define GPUOS_ADD(name, Stored) \
  loops[static_cast<u32>(Code::name)] = load<CellOf<Stored>::type, Stored>;
    GPUOS_LOAD_CODES(GPUOS_ADD)
    GPUOS_ADD(Load128, C128)
#undef GPUOS_ADD
#define GPUOS_ADD(name, Stored) \
  loops[static_cast<u32>(Code::name)] = store<CellOf<Stored>::type, Stored>;
    GPUOS_STORE_CODES(GPUOS_ADD)
    GPUOS_ADD(Store128, C128)
#undef GPUOS_ADD
  }
};

constexpr Loops kLoops;
constexpr MemoryLoops kMemoryLoops;

}  // namespace
}  // namespace gpuos::program
