#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "base/concat.h"

namespace gpuos {

using Wide = long double;

/// X(function, the same of `Wide x`, and how many units in the last place it
/// may be off the reference when that is rounded: float on the host, float on
/// the device, double, where 1 may be that the reference is rounded twice).
/// docs/functions.md repeats it.
#define GPUOS_EXACTNESS_OF_ONE(X)                                       \
  X(exp, std::exp(x), 1, 2, 1)                                          \
  X(exp2, std::exp2(x), 1, 2, 1)                                        \
  X(expm1, std::expm1(x), 1, 1, 1)                                      \
  X(log, std::log(x), 1, 1, 1)                                          \
  X(log2, std::log2(x), 1, 1, 1)                                        \
  X(log10, std::log10(x), 1, 2, 2)                                      \
  X(log1p, std::log1p(x), 1, 1, 1)                                      \
  X(sqrt, std::sqrt(x), 0, 0, 1)                                        \
  X(rsqrt, 1 / std::sqrt(x), 1, 2, 1)                                   \
  X(cbrt, std::cbrt(x), 1, 1, 4)                                        \
  X(sin, std::sin(x), 1, 2, 2)                                          \
  X(cos, std::cos(x), 1, 2, 2)                                          \
  X(tan, std::tan(x), 1, 1, 2)                                          \
  X(asin, std::asin(x), 1, 2, 2)                                        \
  X(acos, std::acos(x), 1, 2, 2)                                        \
  X(atan, std::atan(x), 1, 2, 2)                                        \
  X(sinh, std::sinh(x), 1, 1, 2)                                        \
  X(cosh, std::cosh(x), 1, 2, 2)                                        \
  X(tanh, std::tanh(x), 2, 2, 2)                                        \
  X(asinh, std::asinh(x), 1, 1, 3)                                      \
  X(acosh, std::acosh(x), 1, 1, 3)                                      \
  X(atanh, std::atanh(x), 1, 1, 2)                                      \
  X(erf, std::erf(x), 1, 2, 2)                                          \
  X(erfc, std::erfc(x), 1, 1, 5)                                        \
  X(lgamma, std::lgamma(x), 1, 1, 6)                                    \
  X(sinc, sinc_reference(x), 1, 1, 4)                                   \
  X(tgamma, std::tgamma(x), 1, 1, 10)                                   \
  X(sigmoid, 1 / (1 + std::exp(-x)), 2, 2, 4)                           \
  X(silu, limited(x) / (1 + std::exp(-limited(x))), 1, 2, 5)            \
  X(gelu, limited(x) / 2 * std::erfc(limited(x) * -kRootHalf), 1, 6, 8) \
  X(gelu_tanh, gelu_tanh_reference(limited(x)), 1, 3, 1500)             \
  X(floor, std::floor(x), 0, 0, 0)                                      \
  X(ceil, std::ceil(x), 0, 0, 0)                                        \
  X(trunc, std::trunc(x), 0, 0, 0)                                      \
  X(round, std::nearbyint(x), 0, 0, 0)                                  \
  X(abs, std::fabs(x), 0, 0, 0)                                         \
  X(neg, -x, 0, 0, 0)                                                   \
  X(square, x* x, 0, 0, 1)                                              \
  X(reciprocal, 1 / x, 0, 0, 1)

/// Lists the functions of `Wide a` and `Wide b` in the same way.
#define GPUOS_EXACTNESS_OF_TWO(X)                     \
  X(pow, std::pow(a, b), 1, 1, 2)                     \
  X(atan2, std::atan2(a, b), 1, 1, 2)                 \
  X(hypot, std::hypot(a, b), 1, 1, 2)                 \
  X(logaddexp, logaddexp_reference(a, b), 1, 1, 4)    \
  X(logaddexp2, logaddexp2_reference(a, b), 1, 1, 4)  \
  X(fmod, std::fmod(a, b), 0, 0, 0)                   \
  X(copysign, std::copysign(a, b), 0, 0, 0)           \
  X(fmax, (a >= b || std::isnan(b)) ? a : b, 0, 0, 0) \
  X(fmin, (a <= b || std::isnan(b)) ? a : b, 0, 0, 0) \
  X(add, a + b, 0, 0, 1)                              \
  X(sub, a - b, 0, 0, 1)                              \
  X(mul, a* b, 0, 0, 1)                               \
  X(div, a / b, 0, 0, 1)

inline constexpr Wide kRootHalf = 0.70710678118654752440084436210485L;

/// So that -infinity gives the limit.
inline Wide limited(Wide x) { return x < -1000 ? -1000 : x; }
inline Wide gelu_tanh_reference(Wide x) {
  constexpr Wide kTwice = 1.5957691216057307117597842397376L;
  return x / (1 + std::exp(-kTwice * (x + 0.044715L * x * x * x)));
}
inline Wide logaddexp_reference(Wide a, Wide b) {
  if (a == b) return a + std::log(Wide{2});
  return std::fmax(a, b) == a || std::isnan(b)
             ? a + std::log1p(std::exp(b - a))
             : b + std::log1p(std::exp(a - b));
}

inline Wide logaddexp2_reference(Wide a, Wide b) {
  constexpr Wide kLog2OfE = 1.4426950408889634073599246810019L;
  if (a == b) return a + 1;
  return std::fmax(a, b) == a || std::isnan(b)
             ? a + std::log1p(std::exp2(b - a)) * kLog2OfE
             : b + std::log1p(std::exp2(a - b)) * kLog2OfE;
}
inline Wide sinc_reference(Wide x) {
  constexpr Wide kPi = 3.1415926535897932384626433832795L;
  if (x == 0) return 1;
  Wide turn = std::remainder(x, Wide{2});
  if (std::fabs(turn) > 0.5L) turn = std::copysign(Wide{1}, turn) - turn;
  return std::sin(kPi * turn) / (kPi * x);
}

/// Returns the distance of two numbers in numbers of the type, and 0 for two
/// NaNs.
template <typename T>
double ulps_between(T a, T b) {
  using Int = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b)
               ? 0
               : std::numeric_limits<double>::infinity();
  const auto place = [](T x) {
    const Int bits = std::bit_cast<Int>(x);
    return bits < 0 ? std::numeric_limits<Int>::min() - bits : bits;
  };
  return std::fabs(static_cast<double>(static_cast<Wide>(place(a)) -
                                       static_cast<Wide>(place(b))));
}

template <typename T>
std::vector<T> special_numbers() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> all;
  for (const T x : {T{0},
                    Limits::infinity(),
                    Limits::quiet_NaN(),
                    Limits::max(),
                    Limits::min(),
                    Limits::denorm_min(),
                    Limits::epsilon(),
                    T(0.5),
                    T(1),
                    T(1.5),
                    T(2),
                    T(2.5),
                    T(3),
                    T(10),
                    T(88.7),
                    T(89),
                    T(104),
                    T(710),
                    T(0x1p20),
                    T(0x1p24),
                    T(16367173) * T(0x1p72)}) {
    for (const T near :
         {std::nextafter(x, T{0}), x, std::nextafter(x, Limits::infinity())}) {
      all.push_back(near);
      all.push_back(-near);
    }
  }
  return all;
}

/// Special numbers, some of every exponent, and many of common size.
template <typename T>
std::vector<T> many_numbers() {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr int kFraction = std::numeric_limits<T>::digits - 1;
  std::vector<T> all = special_numbers<T>();
  std::mt19937_64 random(7);
  constexpr Bits kExponents = Bits{1} << (8 * sizeof(T) - kFraction);
  for (Bits exponent = 0; exponent < kExponents; ++exponent)
    for (int k = 0; k < 32; ++k)
      all.push_back(std::bit_cast<T>(static_cast<Bits>(
          exponent << kFraction | (random() >> (64 - kFraction)))));
  for (const double size : {1.0, 16.0, 120.0})
    for (int k = 0; k < 8000; ++k)
      all.push_back(static_cast<T>(
          std::uniform_real_distribution<double>(-size, size)(random)));
  return all;
}

/// For functions of two: each pair of special numbers, and many others.
template <typename T>
void many_pairs(std::vector<T>& a, std::vector<T>& b) {
  for (const T x : special_numbers<T>())
    for (const T y : special_numbers<T>()) {
      a.push_back(x);
      b.push_back(y);
    }
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> some(-20, 20);
  for (int k = 0; k < 20000; ++k) {
    a.push_back(static_cast<T>(std::exp2(some(random))));
    b.push_back(static_cast<T>(some(random)));
  }
}

/// Where no bound holds: near the zeros of two functions of double, whose
/// terms cancel, and where gelu is a product of subnormal numbers.
template <typename T>
bool is_bounded(const std::string& name, Wide reference, T x) {
  if (name == "gelu")
    return reference == 0 ||
           std::fabs(reference) > 64 * Wide{std::numeric_limits<T>::min()};
  if (sizeof(T) == 4) return true;
  if (name == "lgamma") return !(x < 0);
  return !name.starts_with("logaddexp") || !(std::fabs(reference) < 0.5L);
}

/// Returns whether `got` is within `bound` units in the last place of
/// `reference`, and its zero has the sign that a zero of `x` gives it.
template <typename T>
bool is_close(const std::string& name, T got, Wide reference, double bound,
              T x) {
  if (!is_bounded(name, reference, x)) return true;
  const T want = static_cast<T>(reference);
  if (x == 0 && want == 0 && std::signbit(got) != std::signbit(want))
    return false;
  return ulps_between(got, want) <= bound;
}

/// Text of an operator that runs case `which` of the functions on its inputs.
inline std::string functions_source(const std::string& name,
                                    const std::string& type,
                                    const std::vector<std::string>& names,
                                    int inputs) {
  std::string cases;
  for (std::size_t k = 0; k < names.size(); ++k)
    cases += concat("      case ", k, ": out[i] = fn::", names[k],
                    inputs == 1 ? "(a[i])" : "(a[i], b[i])", "; break;\n");
  return concat(
      "#include \"gpuos/functions.h\"\n"
      "using namespace gpuos;\nGPUOS_OPERATOR(",
      name, ") {\n  ", type, "* out = task.pointer<", type, ">(0);\n  const ",
      type, "* a = task.pointer<const ", type, ">(1);\n  const ", type,
      "* b = task.pointer<const ", type, ">(", inputs,
      ");\n  const int which = task.scalar<int>(", inputs + 1,
      ");\n  for (u32 i = lane.index(); i < task.count; i += "
      "lane.count())\n    switch (which) {\n",
      cases, "    }\n}\n");
}

inline std::vector<std::string> unary_names() {
#define GPUOS_NAME(name, reference, host, device, of_double) #name,
  return {GPUOS_EXACTNESS_OF_ONE(GPUOS_NAME)};
}
inline std::vector<std::string> binary_names() {
  return {GPUOS_EXACTNESS_OF_TWO(GPUOS_NAME)};
#undef GPUOS_NAME
}

}  // namespace gpuos
