#include <gtest/gtest.h>

#include <complex>

#include "device/functions.h"
#include "functions_support.h"

namespace gpuos {
namespace {

using WideComplex = std::complex<Wide>;

std::vector<C64> many_complex() {
  std::vector<C64> all;
  std::mt19937_64 random(5);
  for (const double size : {1e-30, 1e-3, 1.0, 1.0, 1.0, 80.0, 1e19, 1e30}) {
    std::uniform_real_distribution<double> some(-size, size);
    for (int k = 0; k < 5000; ++k)
      all.push_back(
          {static_cast<float>(some(random)), static_cast<float>(some(random))});
  }
  for (int k = 0; k < 5000; ++k) {  // close to the circle where log is 0
    const double angle = 6.3 * k / 5000;
    all.push_back({static_cast<float>(std::cos(angle)),
                   static_cast<float>(std::sin(angle))});
  }
  return all;
}

void expect_parts(const char* name, C64 z, C64 got, WideComplex want) {
  ASSERT_LE(ulps_between(got.re, static_cast<float>(want.real())), 1)
      << name << " of " << z.re << ", " << z.im << ": " << got.re;
  ASSERT_LE(ulps_between(got.im, static_cast<float>(want.imag())), 1)
      << name << " of " << z.re << ", " << z.im << ": " << got.im;
}

/// log of z; the real part without the digits that abs(z) close to 1 loses.
WideComplex wide_log(WideComplex z) {
  const Wide x = std::fmax(std::fabs(z.real()), std::fabs(z.imag()));
  const Wide y = std::fmin(std::fabs(z.real()), std::fabs(z.imag()));
  return {std::log1p((x - 1) * (x + 1) + y * y) / 2, std::arg(z)};
}

TEST(ComplexFunctions, AreAsCloseAsTheTableSays) {
  for (const C64 z : many_complex()) {
    const WideComplex wide{z.re, z.im};
    ASSERT_NO_FATAL_FAILURE(expect_parts("exp", z, fn::exp(z), std::exp(wide)));
    ASSERT_NO_FATAL_FAILURE(expect_parts(
        "log", z, fn::log(z),
        std::abs(wide) > 0.5L && std::abs(wide) < 2 ? wide_log(wide)
                                                    : std::log(wide)));
    ASSERT_NO_FATAL_FAILURE(
        expect_parts("sqrt", z, fn::sqrt(z), std::sqrt(wide)));
    EXPECT_LE(ulps_between(fn::abs(z), static_cast<float>(std::abs(wide))), 1);
    EXPECT_LE(ulps_between(fn::angle(z), static_cast<float>(std::arg(wide))),
              1);
  }
}

TEST(ComplexFunctions, QuotientsAreCloseToTheExactOnes) {
  const std::vector<C64> all = many_complex();
  for (std::size_t i = 1; i < all.size(); ++i) {
    const WideComplex a{all[i - 1].re, all[i - 1].im};
    const WideComplex b{all[i].re, all[i].im};
    const WideComplex want = a / b;
    if (std::abs(want) > 1e37L || std::abs(want) < 1e-30L) continue;
    if (std::abs(b) < 1e-20L || std::abs(a) < 1e-20L) continue;
    const C64 got = fn::div(all[i - 1], all[i]);
    EXPECT_LE(std::abs(WideComplex{got.re, got.im} - want),
              4 * 0x1p-24L * std::abs(want));
    const C64 back = fn::mul(got, all[i]);
    EXPECT_LE(std::abs(WideComplex{back.re, back.im} - a),
              8 * 0x1p-24L * std::abs(a));
  }
}

bool same(float got, float want) {
  return std::isnan(want)
             ? std::isnan(got)
             : got == want && std::signbit(got) == std::signbit(want);
}

TEST(ComplexFunctions, OfInfinityAndNaNAreThoseOfC) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float re : {0.0f, -0.0f, 2.0f, -2.0f, inf, -inf, nan})
    for (const float im : {0.0f, -0.0f, 2.0f, -2.0f, inf, -inf, nan}) {
      const std::complex<float> z{re, im};
      for (const auto& [name, got, want] :
           {std::tuple{"exp", fn::exp(C64{re, im}), std::exp(z)},
            std::tuple{"log", fn::log(C64{re, im}), std::log(z)},
            std::tuple{"sqrt", fn::sqrt(C64{re, im}), std::sqrt(z)}}) {
        // C leaves some signs to the implementation.
        const bool free_sign = std::isinf(re) && !std::isfinite(im);
        const auto close = [&](float a, float b) {
          return same(a, b) || std::fabs(a - b) < 1e-6f ||
                 (free_sign && std::fabs(a) == std::fabs(b));
        };
        EXPECT_TRUE(close(got.re, want.real()) && close(got.im, want.imag()))
            << name << "(" << re << ", " << im << ") is " << got.re << ", "
            << got.im << ", not " << want;
      }
      EXPECT_TRUE(same(fn::abs(C64{re, im}), std::abs(z))) << re << " " << im;
      EXPECT_EQ(fn::isnan(C64{re, im}), std::isnan(re) || std::isnan(im));
      EXPECT_EQ(fn::isinf(C64{re, im}), std::isinf(re) || std::isinf(im));
    }
}

TEST(ComplexFunctions, AZeroDivisorGivesInfinityOrNaN) {
  // As NumPy's and PyTorch's, whatever the signs of the zeros.
  for (const C64 zero :
       {C64{0, 0}, C64{-0.0f, 0}, C64{0, -0.0f}, C64{-0.0f, -0.0f}}) {
    const C64 some = fn::div(C64{1, -2}, zero);
    EXPECT_EQ(some.re, std::numeric_limits<float>::infinity());
    EXPECT_EQ(some.im, -std::numeric_limits<float>::infinity());
  }
  EXPECT_TRUE(fn::isnan(fn::div(C64{0, 0}, C64{0, 0})));
  EXPECT_TRUE(fn::equal(fn::reciprocal(C64{0, 2}), C64{0, -0.5f}));
  EXPECT_TRUE(fn::not_equal(fn::conj(C64{1, 2}), C64{1, 2}));
}

}  // namespace
}  // namespace gpuos
