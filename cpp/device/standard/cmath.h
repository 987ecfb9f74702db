// NVRTC reads this for <cmath> and <math.h>. It has the functions themselves,
// each for float and for double, and lacks namespace std.
#pragma once

#if defined(__CUDACC_RTC__)

#include "standard/constants.h"

#define HUGE_VALF INFINITY
#define HUGE_VAL (::gpuos::Limits<double>::infinity())

namespace gpuos {

template <typename T, bool = Limits<T>::is_integer()>
struct OnlyInteger {
  using type = T;
};
template <typename T>
struct OnlyInteger<T, false> {};
template <>
struct OnlyInteger<bool, true> {
  using type = bool;
};

}  // namespace gpuos

using float_t = float;
using double_t = double;

namespace std {
using ::double_t;
using ::float_t;

using ::abs;
using ::acos;
using ::acosf;
using ::acosh;
using ::acoshf;
using ::asin;
using ::asinf;
using ::asinh;
using ::asinhf;
using ::atan;
using ::atan2;
using ::atan2f;
using ::atanf;
using ::atanh;
using ::atanhf;
using ::cbrt;
using ::cbrtf;
using ::ceil;
using ::ceilf;
using ::copysign;
using ::copysignf;
using ::cos;
using ::cosf;
using ::cosh;
using ::coshf;
using ::erf;
using ::erfc;
using ::erfcf;
using ::erff;
using ::exp;
using ::exp2;
using ::exp2f;
using ::expf;
using ::expm1;
using ::expm1f;
using ::fabs;
using ::fabsf;
using ::fdim;
using ::fdimf;
using ::floor;
using ::floorf;
using ::fma;
using ::fmaf;
using ::fmax;
using ::fmaxf;
using ::fmin;
using ::fminf;
using ::fmod;
using ::fmodf;
using ::frexp;
using ::frexpf;
using ::hypot;
using ::hypotf;
using ::ilogb;
using ::ilogbf;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::ldexp;
using ::ldexpf;
using ::lgamma;
using ::lgammaf;
using ::llrint;
using ::llrintf;
using ::llround;
using ::llroundf;
using ::log;
using ::log10;
using ::log10f;
using ::log1p;
using ::log1pf;
using ::log2;
using ::log2f;
using ::logb;
using ::logbf;
using ::logf;
using ::lrint;
using ::lrintf;
using ::lround;
using ::lroundf;
using ::modf;
using ::modff;
using ::nearbyint;
using ::nearbyintf;
using ::nextafter;
using ::nextafterf;
using ::pow;
using ::powf;
using ::remainder;
using ::remainderf;
using ::remquo;
using ::remquof;
using ::rint;
using ::rintf;
using ::round;
using ::roundf;
using ::scalbln;
using ::scalblnf;
using ::scalbn;
using ::scalbnf;
using ::signbit;
using ::sin;
using ::sinf;
using ::sinh;
using ::sinhf;
using ::sqrt;
using ::sqrtf;
using ::tan;
using ::tanf;
using ::tanh;
using ::tanhf;
using ::tgamma;
using ::tgammaf;
using ::trunc;
using ::truncf;

// Takes an integer as double.
#define GPUOS_OF_INTEGER(name)                                             \
  template <typename T, typename = typename ::gpuos::OnlyInteger<T>::type> \
  GPUOS_DEVICE inline double name(T x) {                                   \
    return ::name(static_cast<double>(x));                                 \
  }
GPUOS_OF_INTEGER(acos)
GPUOS_OF_INTEGER(acosh)
GPUOS_OF_INTEGER(asin)
GPUOS_OF_INTEGER(asinh)
GPUOS_OF_INTEGER(atan)
GPUOS_OF_INTEGER(atanh)
GPUOS_OF_INTEGER(cbrt)
GPUOS_OF_INTEGER(ceil)
GPUOS_OF_INTEGER(cos)
GPUOS_OF_INTEGER(cosh)
GPUOS_OF_INTEGER(erf)
GPUOS_OF_INTEGER(erfc)
GPUOS_OF_INTEGER(exp)
GPUOS_OF_INTEGER(exp2)
GPUOS_OF_INTEGER(expm1)
GPUOS_OF_INTEGER(fabs)
GPUOS_OF_INTEGER(floor)
GPUOS_OF_INTEGER(lgamma)
GPUOS_OF_INTEGER(log)
GPUOS_OF_INTEGER(log10)
GPUOS_OF_INTEGER(log1p)
GPUOS_OF_INTEGER(log2)
GPUOS_OF_INTEGER(logb)
GPUOS_OF_INTEGER(nearbyint)
GPUOS_OF_INTEGER(rint)
GPUOS_OF_INTEGER(round)
GPUOS_OF_INTEGER(sin)
GPUOS_OF_INTEGER(sinh)
GPUOS_OF_INTEGER(sqrt)
GPUOS_OF_INTEGER(tan)
GPUOS_OF_INTEGER(tanh)
GPUOS_OF_INTEGER(tgamma)
GPUOS_OF_INTEGER(trunc)
#undef GPUOS_OF_INTEGER
}  // namespace std

#endif
