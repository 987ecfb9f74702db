// The functions of fn:: for float on the host. They consist of + - * /,
// comparisons and bit patterns without branches, so that a loop over any of
// them vectorises. The interpreter and compiled operators both use them, so
// they agree bit for bit. Most compute in double to about 2^-31. One rounding
// at the end gives the errors that docs/functions.md states, and subnormals
// need no care. The functions that neural networks use most compute in float,
// which is twice as fast.
#pragma once

#if !defined(__CUDACC__)

#include "functions/exp.h"

namespace gpuos::fn::wide {

// Adding this number rounds a double below 2^51 to a whole number. The low bits
// of the sum are that number.
inline constexpr double kWhole = 0x1.8p52;

struct Exponential {
  double scale;  // exp(x) = scale * (1 + part)
  double part;
};

// For |x| < 700. The coefficients are minimax for (exp(r) - 1) / r. All
// coefficients below are minimax for the function that is named.
inline Exponential exponential(double x) {
  const double shifted = x * 0x1.71547652b82fep+0 + kWhole;
  const double r = x - (shifted - kWhole) * 0x1.62e42fefa39efp-1;
  const double part =
      r * polynomial(r, 1.0000000000319234, 0.5000000047463558,
                     0.166666662423531, 0.04166635083577333, 0.0083334037051691,
                     0.0013941306007927475, 0.00019841250880299856);
  const u64 bits = (bit_cast<u64>(shifted) << 52) + bit_cast<u64>(1.0);
  return {bit_cast<double>(bits), part};
}
inline double exp(double x) {
  const Exponential e = exponential(x);
  return e.scale + e.scale * e.part;
}
inline double expm1(double x) {
  const Exponential e = exponential(x);
  return e.scale * e.part + (e.scale - 1);
}

// x = 2^exponent * m, m between sqrt(1/2) and sqrt(2), log(m) = `log`.
struct Logarithm {
  double exponent;
  double log;
};

// For positive normal x.
inline Logarithm logarithm(double x) {
  constexpr u64 kRootHalf = 0x3fe6a09e00000000;
  constexpr u64 kFraction = (1ull << 52) - 1;
  const u64 bits = bit_cast<u64>(x) + (bit_cast<u64>(1.0) - kRootHalf);
  const u64 whole = (bits >> 52) | bit_cast<u64>(0x1p52);
  const double m = bit_cast<double>((bits & kFraction) + kRootHalf);
  const double s = (m - 1) / (m + 1);
  const double log = s * polynomial(s * s, 2.000000000008467,
                                    0.6666666523463914, 0.40000387053048003,
                                    0.2853491090143507, 0.2361892124164887);
  return {bit_cast<double>(whole) - (0x1p52 + 1023), log};
}
// Returns `value`, the logarithm of x, if that logarithm is finite. Otherwise
// returns the special value.
inline double logarithm_or_special(double x, double value) {
  constexpr double kInfinity = Limits<double>::infinity();
  const double finite = x < kInfinity ? value : x;
  const double none = x == 0 ? -kInfinity : Limits<double>::nan();
  return x > 0 ? finite : none;
}
inline double log(double x) {
  const Logarithm l = logarithm(x);
  return logarithm_or_special(x, l.exponent * 0x1.62e42fefa39efp-1 + l.log);
}

// The quarter turns in x, and the remainder, between -pi/4 and pi/4.
struct Turn {
  u64 quarters;
  double rest;
};

// For |x| < 2^20, where the product with the first 33 bits of pi/2 is exact.
inline Turn turn(double x) {
  const double shifted = x * 0x1.45f306dc9c883p-1 + kWhole;
  const double k = shifted - kWhole;
  return {bit_cast<u64>(shifted),
          (x - k * 0x1.921fb544p+0) - k * 0x1.0b4611a626331p-34};
}
inline double sine(double r) {
  return r * polynomial(r * r, 0.9999999999954458, -0.1666666663041706,
                        0.008333328687357184, -0.00019839177518646923,
                        2.717145114413523e-06);
}
inline double cosine(double r) {
  return polynomial(r * r, 0.9999999999438792, -0.499999995712049,
                    0.041666613200730444, -0.0013886528187676188,
                    2.4372592436748784e-05);
}
// sin(rest + quarters * pi / 2).
inline double sine_of(const Turn& turn) {
  const u64 odd = 0 - (turn.quarters & 1);
  const u64 bits = (bit_cast<u64>(sine(turn.rest)) & ~odd) |
                   (bit_cast<u64>(cosine(turn.rest)) & odd);
  return bit_cast<double>(bits ^ (turn.quarters & 2) << 62);
}

// 1 - erf(x) for x >= 0: exp(-x * x) times a polynomial in 1 / (1 + 0.3 x).
inline double erfc(double x) {
  const double capped = x > 12 ? 12 : x;
  const double q = 1 / (1 + 0.3 * capped);
  const double scaled =
      q *
      polynomial(q, 0.1692797465953048, 0.16872007888964036, 0.1672339917695812,
                 0.11227857111838443, 0.2598376296237784, -0.26625796618708875,
                 0.7478526911490733, -0.8149934280106075, 0.7281726107716605,
                 -0.32687556378618204, 0.05475163758867295);
  return scaled * exp(-capped * capped);
}
// For |x| <= 1.
inline double erf(double x) {
  return x * polynomial(x * x, 1.1283791657267088, -0.37612625824223955,
                        0.1128358514851334, -0.02685381193108727,
                        0.005188327677710245, -0.0008010193554367831,
                        7.853861118066414e-05);
}

inline double abs(double x) {
  return bit_cast<double>(bit_cast<u64>(x) & ~(1ull << 63));
}
// Returns the value of an odd function at x, given its value at abs(x).
inline double odd(double value, double x) {
  return bit_cast<double>(bit_cast<u64>(value) |
                          (bit_cast<u64>(x) & 1ull << 63));
}

}  // namespace gpuos::fn::wide

namespace gpuos::fn::narrow {

inline constexpr u32 kSign = 0x80000000;

inline float minus_abs(float x) {
  return bit_cast<float>(bit_cast<u32>(x) | kSign);
}

struct Exponential {
  float scale;  // exp(x) = scale * 2^-kRaised * (1 + part)
  float part;
};

// For -110 <= x <= 0. `kRaised` keeps the scale from being subnormal. The
// polynomial is that of close_exp(), in pairs, so that the next number waits
// less.
template <int kRaised>
inline Exponential exponential(float x) {
  // Leaves the scale's exponent in the low bits of the sum.
  constexpr float kShift = 0x1.8p23f + 127 + kRaised;
  const float shifted = x * 0x1.715476p+0f + kShift;
  const float k = shifted - kShift;
  const float r = (x - k * 0x1.62e4p-1f) - k * 0x1.7f7d1cp-20f;
  const float square = r * r;
  const float low = 0.49999999537f + r * 0.16666575241f;
  const float high =
      (0.04166685770f + r * 0.00836348559f) + square * 0.00139014282f;
  return {bit_cast<float>(bit_cast<u32>(shifted) << 23),
          r + square * (low + square * high)};
}

}  // namespace gpuos::fn::narrow

namespace gpuos::fn {

// Beyond +-110 every exponential is zero or infinite as a float.

inline float exp(float x) { return close_exp(x); }
inline float exp2(float x) {
  const float y = wide::clamp(x, -160.0f, 160.0f);
  const float shifted = y + wide::whole();
  const float rest = y - (shifted - wide::whole());
  return wide::exp_of_rest(rest * 0x1.62e43p-1f, shifted);
}
inline float expm1(float x) {
  return static_cast<float>(
      wide::odd(wide::expm1(wide::clamp(x, -110.0f, 110.0f)), x));
}
inline float log(float x) { return static_cast<float>(wide::log(x)); }
inline float log2(float x) {
  const wide::Logarithm l = wide::logarithm(x);
  return static_cast<float>(
      wide::logarithm_or_special(x, l.exponent + l.log * 0x1.71547652b82fep+0));
}
inline float log10(float x) {
  return static_cast<float>(wide::log(x) * 0x1.bcb7b1526e50ep-2);
}
inline float log1p(float x) {
  const double y = x;
  // 1 + y would lose the digits of a tiny y.
  const double tiny = y - 0.5 * y * y;
  return static_cast<float>(wide::abs(y) < 0x1p-20 ? tiny : wide::log(1 + y));
}
inline float sinh(float x) {
  const double y = wide::clamp(x, -110.0f, 110.0f);
  const double e = wide::expm1(wide::abs(y));
  return static_cast<float>(wide::odd(0.5 * (e + e / (e + 1)), y));
}
inline float cosh(float x) {
  const double e = wide::exp(wide::clamp(x, -110.0f, 110.0f));
  return static_cast<float>(0.5 * (e + 1 / e));
}
// With e = exp(-2 |x|) = scale + rest, (1 - e) / (1 + e): neither sum loses
// digits, because `scale` is a power of two. From 9.1 on it is 1.
inline float tanh(float x) {
  const float size = narrow::minus_abs(x);
  const float capped = size < -10 ? -10 : size;
  const auto [scale, part] = narrow::exponential<0>(capped + capped);
  const float rest = scale * part;
  const float value = ((1 - scale) - rest) / ((1 + scale) + rest);
  return bit_cast<float>(bit_cast<u32>(value) |
                         (bit_cast<u32>(x) & narrow::kSign));
}
// Uses exp(-|x|), which never overflows.
inline float sigmoid(float x) {
  const float size = narrow::minus_abs(x);
  const auto [scale, part] = narrow::exponential<64>(size < -110 ? -110 : size);
  const float e = (1 + part) * scale * 0x1p-64f;
  return (x < 0 ? e : 1) / (1 + e);
}

// Below this limit the functions named _near are exact enough. Above it only
// the whole functions are.
inline constexpr float kNear = 0x1p20f;
inline bool is_near(float x) { return (x < kNear) & (x > -kNear); }

// A loop over these functions vectorises. It runs first, then the caller
// repairs the results that are not near.
inline float sin_near(float x) {
  return static_cast<float>(wide::sine_of(wide::turn(x)));
}
inline float cos_near(float x) {
  wide::Turn turn = wide::turn(x);
  ++turn.quarters;
  return static_cast<float>(wide::sine_of(turn));
}
inline float tan_near(float x) {
  wide::Turn turn = wide::turn(x);
  const double sine = wide::sine_of(turn);
  ++turn.quarters;
  return static_cast<float>(sine / wide::sine_of(turn));
}
inline double sin(double x);  // C's own
inline double cos(double x);
inline double tan(double x);
inline float sin(float x) {
  return is_near(x) ? sin_near(x)
                    : static_cast<float>(sin(static_cast<double>(x)));
}
inline float cos(float x) {
  return is_near(x) ? cos_near(x)
                    : static_cast<float>(cos(static_cast<double>(x)));
}
inline float tan(float x) {
  return is_near(x) ? tan_near(x)
                    : static_cast<float>(tan(static_cast<double>(x)));
}

inline float erf(float x) {
  const double size = wide::abs(x);
  const double value = size < 1 ? wide::erf(size) : 1 - wide::erfc(size);
  return static_cast<float>(wide::odd(value, x));
}
inline float erfc(float x) {
  const double tail = wide::erfc(wide::abs(x));
  return static_cast<float>(x < 0 ? 2 - tail : tail);
}

// The limit at -infinity is -0, so a number of that size is enough.
inline float silu(float x) {
  const double size = x < -200 ? -200.0f : x;
  return static_cast<float>(size /
                            (1 + wide::exp(wide::clamp(-size, -210.0, 210.0))));
}
inline float gelu(float x) {
  const double size = x < -200 ? -200.0f : x;
  const double tail = wide::erfc(wide::abs(size) * 0x1.6a09e667f3bcdp-1);
  return static_cast<float>(0.5 * size * (size > 0 ? 2 - tail : tail));
}
inline float gelu_tanh(float x) {
  const double size = x < -200 ? -200.0f : x;
  // 2 sqrt(2 / pi) (x + 0.044715 x^3)
  const double twice =
      size * (0x1.9884533d43651p+0 + 0.07135481627260025 * size * size);
  return static_cast<float>(
      size / (1 + wide::exp(wide::clamp(-twice, -210.0, 210.0))));
}

}  // namespace gpuos::fn

#endif
