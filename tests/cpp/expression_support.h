#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

#include "expression/interpreter.h"

namespace gpuos {

template <typename T>
constexpr DType kDTypeOf = std::is_same_v<T, float>    ? DType::Float32
                           : std::is_same_v<T, double> ? DType::Float64
                           : std::is_same_v<T, int>    ? DType::Int32
                                                       : DType::Int64;

/// Expressions of every dtype that are one instruction or a few, so that a
/// device computes them bit by bit as the interpreter does. `k` and `n` are
/// parameters.
inline constexpr const char* kPlainExpressions[] = {"o = a + b",
                                                    "o = a - b",
                                                    "o = a * b",
                                                    "o = -a",
                                                    "o = abs(a)",
                                                    "o = floor(a)",
                                                    "o = ceil(a)",
                                                    "o = round(a)",
                                                    "o = a < b",
                                                    "o = a <= b",
                                                    "o = a > b",
                                                    "o = a >= b",
                                                    "o = a == b",
                                                    "o = a != b",
                                                    "o = minimum(a, b)",
                                                    "o = maximum(a, b)",
                                                    "o = clip(a, b, c)",
                                                    "o = relu(a)",
                                                    "o = square(a)",
                                                    "o = sign(a)",
                                                    "o = where(a, b, c)",
                                                    "o = fma(a, b, c)",
                                                    "o = a",
                                                    "o = -3",
                                                    "o = k",
                                                    "o = k * a + n * b"};

/// A parameter and its value, as bits.
struct BoundParam {
  Parameter param;
  std::uint64_t bits = 0;

  template <typename P>
  static BoundParam make(std::string name, P value) {
    BoundParam bound{{std::move(name), kDTypeOf<P>}, 0};
    std::memcpy(&bound.bits, &value, sizeof(P));
    return bound;
  }
};

/// Calls an operator the way a worker does.
template <typename T>
std::vector<T> call(OpFn entry, const void* state,
                    const std::vector<std::vector<T>>& inputs, std::size_t n,
                    const std::vector<BoundParam>& params = {}) {
  std::vector<T> out(n, T{77});
  std::vector<u64> args{reinterpret_cast<u64>(out.data())};
  for (const auto& input : inputs) {
    args.push_back(reinterpret_cast<u64>(input.data()));
  }
  for (const BoundParam& param : params) args.push_back(param.bits);
  entry(Task{args.data(), state, static_cast<u32>(n)}, Lane{});
  return out;
}

template <typename T>
std::vector<T> interpret_text(std::string_view text,
                              const std::vector<std::vector<T>>& inputs,
                              std::size_t n,
                              const std::vector<BoundParam>& params = {}) {
  std::vector<Parameter> declared;
  for (const BoundParam& param : params) declared.push_back(param.param);
  const auto program =
      make_interpreter_program(parse_expression(text, declared), kDTypeOf<T>);
  return call<T>(interpret, program.get(), inputs, n, params);
}

/// Equal bits; any NaN equals any other, as devices make their own.
template <typename T>
bool is_same(T a, T b) {
  if (a != a && b != b) return true;
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// Units in the last place between two numbers of one sign; huge otherwise.
template <typename T>
double ulps_between(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if ((a != a && b != b) || a == b) return 0;
    if (!std::isfinite(a) || !std::isfinite(b)) return 1e300;
    const T size = std::max(std::abs(a), std::abs(b));
    const T ulp = std::max(
        std::nextafter(size, std::numeric_limits<T>::infinity()) - size,
        std::numeric_limits<T>::denorm_min());
    return std::abs(static_cast<double>(a) - static_cast<double>(b)) / ulp;
  } else {
    return a == b ? 0 : 1e300;
  }
}

}  // namespace gpuos
