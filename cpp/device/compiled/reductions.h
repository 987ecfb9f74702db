// The reductions of compiled programs: an initial value, and a function of two
// values.
#pragma once

#include "compiled/source.h"
#include "interpreter/order.h"

namespace gpuos {
namespace program {

// True if the result depends on the order in which values are combined.
template <typename T>
struct HasOrder {
  enum : bool { kHas = IsReal<T>::kIs };
};
template <typename Part>
struct HasOrder<Complex<Part>> {
  enum : bool { kHas = true };
};

// NOLINTBEGIN(bugprone-macro-parentheses): names
#define GPUOS_DEFINE_REDUCTION(name, function, begin)        \
  template <typename T>                                      \
  struct name {                                              \
    using Type = T;                                          \
    enum : bool { kHasOrder = HasOrder<T>::kHas };           \
    static GPUOS_DEVICE T first() { return begin<T>(); }     \
    static GPUOS_DEVICE T of(T value, u64) { return value; } \
    static GPUOS_DEVICE T both(T a, T b) {                   \
      return static_cast<T>(fn::function(a, b));             \
    }                                                        \
    template <typename Pack>                                 \
    static GPUOS_DEVICE Pack both(Pack a, Pack b) {          \
      return fn::function(a, b);                             \
    }                                                        \
    static GPUOS_DEVICE T result(T value) { return value; }  \
  };
GPUOS_DEFINE_REDUCTION(SumOf, add, first_sum)
GPUOS_DEFINE_REDUCTION(ProdOf, mul, first_product)
GPUOS_DEFINE_REDUCTION(MaxOf, maximum, lowest)
GPUOS_DEFINE_REDUCTION(MinOf, minimum, highest)
#undef GPUOS_DEFINE_REDUCTION
// NOLINTEND(bugprone-macro-parentheses)

// A value and its place, in as many words as the interpreter uses.
template <typename T>
struct Placed {
  T value;
  u32 low;
  u32 high;

  GPUOS_DEVICE u64 place() const { return low | u64{high} << 32; }
};

template <bool kMax, typename T>
struct PlaceOf {
  using Type = Placed<T>;
  enum : bool { kHasOrder = false };
  static GPUOS_DEVICE Type of(T value, u64 place) {
    return {value, static_cast<u32>(place), static_cast<u32>(place >> 32)};
  }
  static GPUOS_DEVICE Type first() {
    if constexpr (kMax)
      return of(lowest<T>(), ~0ull >> 1);
    else
      return of(highest<T>(), ~0ull >> 1);
  }
  static GPUOS_DEVICE Type both(const Type& a, const Type& b) {
    return takes<kMax>(a.value, a.place(), b.value, b.place()) ? b : a;
  }
  static GPUOS_DEVICE u64 result(const Type& value) { return value.place(); }
};
template <typename T>
using ArgmaxOf = PlaceOf<true, T>;
template <typename T>
using ArgminOf = PlaceOf<false, T>;

#if defined(__CUDACC__)
// A lane gathers one value.
template <typename F, u32 R>
struct Sums {
  using Function = F;
  using Type = typename F::Type;
  Type values[1];
  __device__ void begin() { values[0] = F::first(); }
  __device__ auto result(u32) const { return F::result(values[0]); }
};
#else
// Not unrolled for all R rows, which would be much code.
#if defined(__clang__)
#define GPUOS_EACH_ROW(w, rows) GPUOS_EACH(w, rows)
#else
#define GPUOS_EACH_ROW(w, rows) _Pragma("GCC unroll 1") GPUOS_EACH(w, rows)
#endif

// Reduces one row, or R rows side by side. Partial value k of row w is
// values[k * R + w]. The results of earlier blocks wait in `levels`.
// interpreter/order.h describes the order.
template <typename F, u32 R>
struct Sums {
  using Function = F;
  using Type = typename F::Type;
  enum : u32 {
    // If the order does not matter, one value per row is enough.
    kParts = R == 1 || F::kHasOrder ? u32{kPartials} : 1u,
    kMostLevels = R == 1 ? u32{kLevels} : u32{kRowLevels}
  };
  Type values[kParts * R];
  Type levels[kMostLevels][R];

  // Takes `count` values of a row from column `at` of `columns` on, which is
  // number `first + at` of the row. `at` and all counts except the last are
  // multiples of 16.
  template <typename T>
  void take(const T* from, u32 count, u64 at, u64 columns, u64 first) {
    while (count > 0) {
      const u64 left = kOrderedBlock - at % kOrderedBlock;
      const u32 some = count < left ? count : static_cast<u32>(left);
      take_chunk(from, some, at, columns, first);
      from += some;
      at += some;
      count -= some;
    }
  }
  // Takes values of one block.
  template <typename T>
  void take_chunk(const T* from, u32 count, u64 at, u64 columns, u64 first) {
    const u64 size = block_columns(at, columns);
    if (size == count) {
      take_block(from, count, at, columns, first);
      return;
    }
    if (at % kOrderedBlock == 0)
      for (u32 k = 0; k < kPartials; ++k) values[k] = F::first();
    add_wide(from, count, at, first);
    if (at % kOrderedBlock + count == size)
      close(at / kOrderedBlock, size, columns, 1);
  }
  // Takes a whole block at once.
  template <typename T>
  void take_block(const T* from, u32 count, u64 at, u64 columns, u64 first) {
    if (count <= kPartials) {
      Type sum = F::first();
      for (u32 w = 0; w < count; ++w)
        sum = F::both(sum, F::of(from[w], first + at + w));
      values[0] = sum;
    } else {
      for (u32 k = 0; k < kPartials; ++k) values[k] = F::first();
      add_wide(from, count, at, first);
    }
    close(at / kOrderedBlock, count, columns, 1);
  }

  // Takes column `at` of `columns` for each of the rows.
  template <typename T>
  void take_rows(const T* from, u32 rows, u64 at, u64 columns) {
    const u64 size = F::kHasOrder ? block_columns(at, columns) : columns;
    const u64 column = F::kHasOrder ? at % kOrderedBlock : at;
    const u64 parts = F::kHasOrder && size > kPartials ? u64{kPartials} : 1;
    Type* const sums = values + (column & (parts - 1)) * R;
    if (column < parts) {
      GPUOS_EACH_ROW(w, rows) sums[w] = F::both(F::first(), F::of(from[w], at));
    } else {
      GPUOS_EACH(w, rows) sums[w] = F::both(sums[w], F::of(from[w], at));
    }
    if (F::kHasOrder && column + 1 == size)
      close(at / kOrderedBlock, size, columns, rows);
  }

  // Called after all columns are taken.
  __attribute__((noinline)) void finish(u64 columns, u32 rows) {
    if (columns == 0) {
      for (u32 w = 0; w < rows; ++w) values[w] = F::first();
    } else if (R == 1 || F::kHasOrder) {
      finish_tree(blocks_of(columns), rows);
    }
  }

  // values[0, rows) become value `number` of a tree.
  void push(u64 number, u32 rows) {
    const u32 level = climb(number, [&](u32 l) { join_level(l, rows); });
    GPUOS_EACH_ROW(w, rows) levels[level][w] = values[w];
  }
  void finish_tree(u64 count, u32 rows) {
    climb_down(count, [&](u32 l) { join_level(l, rows); });
  }

  auto result(u32 w) const { return F::result(values[R == 1 ? 0 : w]); }

 private:
  template <typename T>
  void add_wide(const T* from, u32 count, u64 at, u64 first) {
    u32 w = 0;
    if constexpr (IsReal<Type>::kIs) {
      w = take_packs(from, count);
    } else {
      for (; w + kPartials <= count; w += kPartials) GPUOS_EACH(k, kPartials)
      values[k] = F::both(values[k], F::of(from[w + k], first + at + w + k));
    }
    for (u32 k = 0; w < count; ++w, ++k)
      values[k] = F::both(values[k], F::of(from[w], first + at + w));
  }

  // Takes values as vectors and returns how many it took. The compiler does not
  // find these vectors in the loop above. All partial values stay in registers.
  u32 take_packs(const Type* from, u32 count) {
#if defined(__AVX__)
    enum : u32 { kBytes = 32 };
#else
    enum : u32 { kBytes = 16 };
#endif
    // The values may be anywhere in memory.
    typedef Type Pack
        __attribute__((vector_size(kBytes), aligned(sizeof(Type)), may_alias));
    enum : u32 { kWidth = kBytes / sizeof(Type), kPacks = kPartials / kWidth };
    Pack sums[kPacks];
    for (u32 p = 0; p < kPacks; ++p)
      sums[p] = *reinterpret_cast<const Pack*>(values + p * kWidth);
    u32 w = 0;
#pragma GCC unroll 4
    for (; w + kPartials <= count; w += kPartials)
      for (u32 p = 0; p < kPacks; ++p)
        sums[p] = F::both(
            sums[p], *reinterpret_cast<const Pack*>(from + w + p * kWidth));
    for (u32 p = 0; p < kPacks; ++p)
      *reinterpret_cast<Pack*>(values + p * kWidth) = sums[p];
    return w;
  }

  // Runs once per block. It is a separate function, which is compiled and
  // fetched once.
  __attribute__((noinline)) void close(u64 block, u64 size, u64 columns,
                                       u32 rows) {
    if (size > kPartials) {
      halve<8>(rows);
      halve<4>(rows);
      halve<2>(rows);
      halve<1>(rows);
    }
    if (columns > kOrderedBlock) push(block, rows);
  }
  template <u32 kHalf>
  void halve(u32 rows) {
    if constexpr (R == 1) {
      GPUOS_EACH(k, kHalf) values[k] = F::both(values[k], values[kHalf + k]);
    } else {
      for (u32 k = 0; k < kHalf; ++k) {
        Type* const to = values + k * R;
        const Type* const from = to + kHalf * R;
        GPUOS_EACH_ROW(w, rows) to[w] = F::both(to[w], from[w]);
      }
    }
  }
  void join_level(u32 level, u32 rows) {
    GPUOS_EACH_ROW(w, rows) values[w] = F::both(levels[level][w], values[w]);
  }
};
#endif

}  // namespace program
}  // namespace gpuos
