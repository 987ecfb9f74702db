#pragma once

#include <cstddef>
#include <type_traits>

#include "device/math.h"
#include "expression/opcodes.h"

// Element i of every operand belongs to element i of the result, so loops may
// be vectorised although buffers may be the same.
#if defined(__clang__)
#define GPUOS_INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define GPUOS_INDEPENDENT_LOOP _Pragma("GCC ivdep")
#endif

namespace gpuos::expression {

/// Runs one opcode over `count` elements; operands that it lacks are ignored.
template <typename T>
using StepFn = void (*)(T* out, const T* a, const T* b, const T* c,
                        std::size_t count);

template <typename T, typename F>
inline void loop1(T* out, const T* a, std::size_t count, F f) {
  GPUOS_INDEPENDENT_LOOP
  for (std::size_t i = 0; i < count; ++i) out[i] = f(a[i]);
}

template <typename T, typename F>
inline void loop2(T* out, const T* a, const T* b, std::size_t count, F f) {
  GPUOS_INDEPENDENT_LOOP
  for (std::size_t i = 0; i < count; ++i) out[i] = f(a[i], b[i]);
}

template <typename T, typename F>
inline void loop3(T* out, const T* a, const T* b, const T* c, std::size_t count,
                  F f) {
  GPUOS_INDEPENDENT_LOOP
  for (std::size_t i = 0; i < count; ++i) out[i] = f(a[i], b[i], c[i]);
}

template <typename T>
void copy_chunk(T* out, const T* a, const T*, const T*, std::size_t count) {
  loop1(out, a, count, [](T x) { return x; });
}

template <typename T, int kOperands, typename F>
StepFn<T> make_step(F) {
  // F has no captures, so a default-made one is the same function.
  return [](T* out, const T* a, [[maybe_unused]] const T* b,
            [[maybe_unused]] const T* c, std::size_t count) {
    if constexpr (kOperands == 1) {
      loop1(out, a, count, F{});
    } else if constexpr (kOperands == 2) {
      loop2(out, a, b, count, F{});
    } else {
      loop3(out, a, b, c, count, F{});
    }
  };
}

template <typename T>
StepFn<T> find_step(Opcode opcode) {
  switch (opcode) {
#define GPUOS_STEP(name, function, operands, floating)           \
  case Opcode::name:                                             \
    if constexpr (!(floating) || std::is_floating_point_v<T>) {  \
      return make_step<T, operands>(                             \
          [](auto... x) -> T { return gpuos::function(x...); }); \
    }                                                            \
    break;
    GPUOS_OPCODES(GPUOS_STEP)
#undef GPUOS_STEP
  }
  return nullptr;
}

}  // namespace gpuos::expression
