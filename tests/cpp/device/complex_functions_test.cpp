#include <gtest/gtest.h>

#include <array>
#include <complex>

#include "device/functions.h"
#include "functions_support.h"

namespace gpuos {
namespace {

using WideComplex = std::complex<Wide>;

template <typename Part>
class ComplexFunctions : public testing::Test {};
using Parts = testing::Types<float, double>;
TYPED_TEST_SUITE(ComplexFunctions, Parts);

/// Sizes up to 10 to the power of `most`.
template <typename Part>
std::vector<Complex<Part>> many_complex(int most) {
  std::vector<Complex<Part>> all;
  std::mt19937_64 random(5);
  for (const double size :
       {std::pow(10, -most), std::pow(10, -most / 2), 1e-3, 1.0, 1.0, 1.0, 80.0,
        std::pow(10, most / 2), std::pow(10, most)}) {
    std::uniform_real_distribution<double> some(-size, size);
    for (int k = 0; k < 5000; ++k)
      all.push_back(
          {static_cast<Part>(some(random)), static_cast<Part>(some(random))});
  }
  for (int k = 0; k < 5000; ++k) {  // close to the circle where log is 0
    const double angle = 6.3 * k / 5000;
    all.push_back({static_cast<Part>(std::cos(angle)),
                   static_cast<Part>(std::sin(angle))});
  }
  return all;
}
template <typename Part>
constexpr bool kIsFloat = sizeof(Part) == sizeof(float);
template <typename Part>
constexpr Wide kEpsilon = std::numeric_limits<Part>::epsilon() / 2;

template <typename Part>
void expect_parts(const char* name, Complex<Part> z, Complex<Part> got,
                  WideComplex want) {
  const int ulps = kIsFloat<Part> ? 1 : 3;
  // The reference for the square of a size close to 1 has this accuracy.
  if (std::fabs(got.re - want.real()) > 0x1p-104L) {
    ASSERT_LE(ulps_between(got.re, static_cast<Part>(want.real())), ulps)
        << name << " of " << z.re << ", " << z.im << ": " << got.re;
  }
  ASSERT_LE(ulps_between(got.im, static_cast<Part>(want.imag())), ulps)
      << name << " of " << z.re << ", " << z.im << ": " << got.im;
}

/// log of z, with the real part without the digits that abs(z) close to 1
/// loses.
WideComplex wide_log(WideComplex z) {
  if (std::abs(z) < 0.5L || std::abs(z) > 2) return std::log(z);
  const auto x = static_cast<__float128>(z.real());
  const auto y = static_cast<__float128>(z.imag());
  return {std::log1p(static_cast<Wide>(x * x + y * y - 1)) / 2, std::arg(z)};
}

TYPED_TEST(ComplexFunctions, AreAsCloseAsTheTableSays) {
  using Part = TypeParam;
  const int ulps = kIsFloat<Part> ? 1 : 3;
  for (const Complex<Part> z : many_complex<Part>(kIsFloat<Part> ? 30 : 300)) {
    const WideComplex wide{z.re, z.im};
    ASSERT_NO_FATAL_FAILURE(expect_parts("exp", z, fn::exp(z), std::exp(wide)));
    ASSERT_NO_FATAL_FAILURE(expect_parts("log", z, fn::log(z), wide_log(wide)));
    ASSERT_NO_FATAL_FAILURE(
        expect_parts("sqrt", z, fn::sqrt(z), std::sqrt(wide)));
    EXPECT_LE(ulps_between(fn::abs(z), static_cast<Part>(std::abs(wide))),
              ulps);
    EXPECT_LE(ulps_between(fn::angle(z), static_cast<Part>(std::arg(wide))),
              ulps);
  }
}

// The sizes, squares and halves of these numbers exceed the range of double.
TEST(ComplexFunctionsOfDouble, ReachTheEndsOfTheRange) {
  const double most = std::numeric_limits<double>::max();
  const double least = std::numeric_limits<double>::denorm_min();
  for (const double re : {most, -most, 0x1p1000, 1e-300, 7 * least, -least})
    for (const double im : {most, -0x1p1022, 1e-307, 3 * least}) {
      const WideComplex wide{re, im};
      expect_parts("log", {re, im}, fn::log(C128{re, im}), std::log(wide));
      const C128 root = fn::sqrt(C128{re, im});
      const WideComplex want = std::sqrt(wide);
      EXPECT_LE(std::abs(WideComplex{root.re, root.im} - want),
                4 * kEpsilon<double> * std::abs(want));
    }
  for (const double re : {709.5, 710.2, 1400.0})
    for (const double im : {1e-3, 1.57, 3.0})
      expect_parts("exp", {re, im}, fn::exp(C128{re, im}),
                   std::exp(WideComplex{re, im}));
}

TYPED_TEST(ComplexFunctions, QuotientsAreCloseToTheExactOnes) {
  using Part = TypeParam;
  const auto all = many_complex<Part>(30);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const WideComplex a{all[i - 1].re, all[i - 1].im};
    const WideComplex b{all[i].re, all[i].im};
    const WideComplex want = a / b;
    if (std::abs(want) > 1e37L || std::abs(want) < 1e-30L) continue;
    if (std::abs(b) < 1e-20L || std::abs(a) < 1e-20L) continue;
    const Complex<Part> got = fn::div(all[i - 1], all[i]);
    EXPECT_LE(std::abs(WideComplex{got.re, got.im} - want),
              4 * kEpsilon<Part> * std::abs(want));
    const Complex<Part> back = fn::mul(got, all[i]);
    EXPECT_LE(std::abs(WideComplex{back.re, back.im} - a),
              8 * kEpsilon<Part> * std::abs(a));
  }
}

template <typename Part>
bool same(Part got, Part want) {
  return std::isnan(want)
             ? std::isnan(got)
             : got == want && std::signbit(got) == std::signbit(want);
}

TYPED_TEST(ComplexFunctions, OfInfinityAndNaNAreThoseOfC) {
  using Part = TypeParam;
  using Number = Complex<Part>;
  const Part inf = std::numeric_limits<Part>::infinity();
  const Part nan = std::numeric_limits<Part>::quiet_NaN();
  const std::array<Part, 7> all{0, -Part{0}, 2, -2, inf, -inf, nan};
  for (const Part re : all)
    for (const Part im : all) {
      const std::complex<Part> z{re, im};
      for (const auto& [name, got, want] :
           {std::tuple{"exp", fn::exp(Number{re, im}), std::exp(z)},
            std::tuple{"log", fn::log(Number{re, im}), std::log(z)},
            std::tuple{"sqrt", fn::sqrt(Number{re, im}), std::sqrt(z)}}) {
        // C leaves some signs to the implementation.
        const bool free_sign = std::isinf(re) && !std::isfinite(im);
        const auto close = [&](Part a, Part b) {
          return same(a, b) || std::fabs(a - b) < 1e-6f ||
                 (free_sign && std::fabs(a) == std::fabs(b));
        };
        EXPECT_TRUE(close(got.re, want.real()) && close(got.im, want.imag()))
            << name << "(" << re << ", " << im << ") is " << got.re << ", "
            << got.im << ", not " << want;
      }
      EXPECT_TRUE(same(fn::abs(Number{re, im}), std::abs(z)))
          << re << " " << im;
      EXPECT_EQ(fn::isnan(Number{re, im}), std::isnan(re) || std::isnan(im));
      EXPECT_EQ(fn::isinf(Number{re, im}), std::isinf(re) || std::isinf(im));
    }
}

TYPED_TEST(ComplexFunctions, AZeroDivisorGivesInfinityOrNaN) {
  using Number = Complex<TypeParam>;
  // The results equal those of NumPy and PyTorch for all signs of the zeros.
  for (const Number zero :
       {Number{0, 0}, Number{-TypeParam{0}, 0}, Number{0, -TypeParam{0}},
        Number{-TypeParam{0}, -TypeParam{0}}}) {
    const Number some = fn::div(Number{1, -2}, zero);
    EXPECT_EQ(some.re, std::numeric_limits<TypeParam>::infinity());
    EXPECT_EQ(some.im, -std::numeric_limits<TypeParam>::infinity());
  }
  EXPECT_TRUE(fn::isnan(fn::div(Number{0, 0}, Number{0, 0})));
  EXPECT_TRUE(fn::equal(fn::reciprocal(Number{0, 2}), Number{0, -0.5}));
  EXPECT_TRUE(fn::not_equal(fn::conj(Number{1, 2}), Number{1, 2}));
}

}  // namespace
}  // namespace gpuos
