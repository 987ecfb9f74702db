// NVRTC reads this for <limits>, <cfloat> and <float.h>.
#pragma once

#if defined(__CUDACC_RTC__)

#include "number_limits.h"

namespace std {

enum float_round_style {
  round_indeterminate = -1,
  round_toward_zero = 0,
  round_to_nearest = 1,
  round_toward_infinity = 2,
  round_toward_neg_infinity = 3
};

}  // namespace std

namespace gpuos {

template <typename T>
struct StandardLimits {
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = Limits<T>::is_signed();
  static constexpr bool is_integer = Limits<T>::is_integer();
  static constexpr bool is_exact = is_integer;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = is_integer && !is_signed;
  static constexpr bool is_iec559 = !is_integer;
  static constexpr bool has_infinity = !is_integer;
  static constexpr bool has_quiet_NaN = !is_integer;
  static constexpr bool has_signaling_NaN = !is_integer;
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;
  static constexpr int radix = 2;
  static constexpr int digits = Limits<T>::digits();
  // A binary digit is 0.30103 decimal digits.
  static constexpr int digits10 =
      static_cast<int>((digits - !is_integer) * 30103ll / 100000);
  static constexpr int max_digits10 =
      is_integer ? 0 : static_cast<int>(digits * 30103ll / 100000) + 2;
  static constexpr ::std::float_round_style round_style =
      is_integer ? ::std::round_toward_zero : ::std::round_to_nearest;

  static constexpr GPUOS_DEVICE T lowest() { return Limits<T>::lowest(); }
  static constexpr GPUOS_DEVICE T max() { return Limits<T>::highest(); }
};

template <typename T>
struct StandardIntegerLimits : StandardLimits<T> {
  static constexpr int min_exponent = 0;
  static constexpr int max_exponent = 0;
  static constexpr int min_exponent10 = 0;
  static constexpr int max_exponent10 = 0;

  static constexpr GPUOS_DEVICE T min() { return Limits<T>::lowest(); }
  static constexpr GPUOS_DEVICE T epsilon() { return T(); }
  static constexpr GPUOS_DEVICE T round_error() { return T(); }
  static constexpr GPUOS_DEVICE T infinity() { return T(); }
  static constexpr GPUOS_DEVICE T quiet_NaN() { return T(); }
  static constexpr GPUOS_DEVICE T signaling_NaN() { return T(); }
  static constexpr GPUOS_DEVICE T denorm_min() { return T(); }
};

// Numbers are below 2 to `kExponent`, and below 10 to `kDecimal`.
template <typename T, int kExponent, int kDecimal>
struct StandardRealLimits : StandardLimits<T> {
  static constexpr int min_exponent = 3 - kExponent;
  static constexpr int max_exponent = kExponent;
  static constexpr int min_exponent10 = 1 - kDecimal;
  static constexpr int max_exponent10 = kDecimal;

  static constexpr GPUOS_DEVICE T min() { return Limits<T>::smallest(); }
  static constexpr GPUOS_DEVICE T epsilon() { return Limits<T>::epsilon(); }
  static constexpr GPUOS_DEVICE T round_error() { return T(0.5); }
  static constexpr GPUOS_DEVICE T infinity() { return Limits<T>::infinity(); }
  static constexpr GPUOS_DEVICE T quiet_NaN() { return Limits<T>::nan(); }
  static constexpr GPUOS_DEVICE T denorm_min() {
    return Limits<T>::smallest_subnormal();
  }
};

template <typename T, typename Narrow = unsigned char>
struct StandardBoolLimits : StandardIntegerLimits<Narrow> {
  static constexpr bool is_modulo = false;
  static constexpr int digits = 1;
  static constexpr int digits10 = 0;

  static constexpr GPUOS_DEVICE T min() { return false; }
  static constexpr GPUOS_DEVICE T lowest() { return false; }
  static constexpr GPUOS_DEVICE T max() { return true; }
};

template <typename T>
struct NoLimits {
  static constexpr bool is_specialized = false;
};

// These are only declared, because each used constant is a variable in the
// image.
template <typename T>
struct LimitsOf {
  using type = NoLimits<T>;
};
#define GPUOS_LIMITS(T, ...)  \
  template <>                 \
  struct LimitsOf<T> {        \
    using type = __VA_ARGS__; \
  };
#define GPUOS_INTEGER_LIMITS(T) GPUOS_LIMITS(T, StandardIntegerLimits<T>)
GPUOS_INTEGER_LIMITS(char)
GPUOS_INTEGER_LIMITS(signed char)
GPUOS_INTEGER_LIMITS(unsigned char)
GPUOS_INTEGER_LIMITS(wchar_t)
GPUOS_INTEGER_LIMITS(char16_t)
GPUOS_INTEGER_LIMITS(char32_t)
GPUOS_INTEGER_LIMITS(short)
GPUOS_INTEGER_LIMITS(unsigned short)
GPUOS_INTEGER_LIMITS(int)
GPUOS_INTEGER_LIMITS(unsigned int)
GPUOS_INTEGER_LIMITS(long)
GPUOS_INTEGER_LIMITS(unsigned long)
GPUOS_INTEGER_LIMITS(long long)
GPUOS_INTEGER_LIMITS(unsigned long long)
GPUOS_LIMITS(bool, StandardBoolLimits<bool>)
GPUOS_LIMITS(float, StandardRealLimits<float, 128, 38>)
GPUOS_LIMITS(double, StandardRealLimits<double, 1024, 308>)
#undef GPUOS_INTEGER_LIMITS
#undef GPUOS_LIMITS

}  // namespace gpuos

namespace std {

template <typename T>
struct numeric_limits : ::gpuos::LimitsOf<T>::type {};
template <typename T>
struct numeric_limits<const T> : numeric_limits<T> {};
template <typename T>
struct numeric_limits<volatile T> : numeric_limits<T> {};
template <typename T>
struct numeric_limits<const volatile T> : numeric_limits<T> {};

}  // namespace std

// Spelled as CCCL spells them, so that its header too may be included.
#if !defined(FLT_MAX)
#define FLT_RADIX 2
#define FLT_MIN 1.17549435082228750796873653722224568e-38f
#define FLT_TRUE_MIN 1.40129846432481707092372958328991613e-45f
#define FLT_MAX 3.40282346638528859811704183484516925e+38f
#define FLT_EPSILON 1.19209289550781250000000000000000000e-7f
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MIN_EXP (-125)
#define FLT_MIN_10_EXP (-37)
#define FLT_MAX_EXP 128
#define FLT_MAX_10_EXP 38
#define DBL_MIN 2.22507385850720138309023271733240406e-308
#define DBL_TRUE_MIN 4.94065645841246544176568792868221372e-324
#define DBL_MAX 1.79769313486231570814527423731704357e+308
#define DBL_EPSILON 2.22044604925031308084726333618164062e-16
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define DBL_MIN_EXP (-1021)
#define DBL_MIN_10_EXP (-307)
#define DBL_MAX_EXP 1024
#define DBL_MAX_10_EXP 308
#endif

#endif
