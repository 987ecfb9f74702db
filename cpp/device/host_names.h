// The names that CUDA C++ has without a header and a host compiler does not.
// The host compiler reads this before every operator, so that one text serves
// both. nvcc also has the names of integers.h and standard/constants.h. NVRTC
// gets those when a source misses one (usual_names.h).
#pragma once

#include "asserts.h"
#include "integers.h"
#include "operator.h"
#include "standard/constants.h"

#if !defined(__CUDACC__)

// The C library may declare the functions below again, with its own specifiers.
#pragma GCC system_header

// __noinline__ is missing: the standard library uses that word.
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))

#define GPUOS_DECLARE1(name)     \
  float name##f(float) noexcept; \
  double name(double) noexcept;
#define GPUOS_DECLARE2(name)            \
  float name##f(float, float) noexcept; \
  double name(double, double) noexcept;

extern "C" {
GPUOS_DECLARE1(acos)
GPUOS_DECLARE1(asin)
GPUOS_DECLARE1(atan)
GPUOS_DECLARE1(cbrt)
GPUOS_DECLARE1(ceil)
GPUOS_DECLARE1(cos)
GPUOS_DECLARE1(cosh)
GPUOS_DECLARE1(erf)
GPUOS_DECLARE1(erfc)
GPUOS_DECLARE1(exp)
GPUOS_DECLARE1(exp2)
GPUOS_DECLARE1(expm1)
GPUOS_DECLARE1(fabs)
GPUOS_DECLARE1(floor)
GPUOS_DECLARE1(log)
GPUOS_DECLARE1(log10)
GPUOS_DECLARE1(log1p)
GPUOS_DECLARE1(log2)
GPUOS_DECLARE1(rint)
GPUOS_DECLARE1(round)
GPUOS_DECLARE1(sin)
GPUOS_DECLARE1(sinh)
GPUOS_DECLARE1(sqrt)
GPUOS_DECLARE1(tan)
GPUOS_DECLARE1(tanh)
GPUOS_DECLARE1(tgamma)
GPUOS_DECLARE1(trunc)
GPUOS_DECLARE2(atan2)
GPUOS_DECLARE2(copysign)
GPUOS_DECLARE2(fmax)
GPUOS_DECLARE2(fmin)
GPUOS_DECLARE2(fmod)
GPUOS_DECLARE2(hypot)
GPUOS_DECLARE2(pow)
// The brackets keep linters from taking this for a call.
int(printf)(const char*, ...);
float fmaf(float, float, float) noexcept;
double fma(double, double, double) noexcept;
}

#undef GPUOS_DECLARE1
#undef GPUOS_DECLARE2

#endif
