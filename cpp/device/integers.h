// The names of <cstdint> without a file, and short ones for all of them.
#pragma once

#include "task_abi.h"

// Each type is the one that the header of the same compiler declares, so
// including that header too declares nothing new. The header is that of CUDA's
// C++ library for NVRTC, and the system's otherwise.
#if defined(__CUDACC_RTC__)
using int8_t = signed char;
using int16_t = signed short;
using int32_t = signed int;
using int64_t = signed long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using intptr_t = signed long long;
using uintptr_t = unsigned long long;
#else
using int8_t = __INT8_TYPE__;
using int16_t = __INT16_TYPE__;
using int32_t = __INT32_TYPE__;
using int64_t = __INT64_TYPE__;
using uint8_t = __UINT8_TYPE__;
using uint16_t = __UINT16_TYPE__;
using uint32_t = __UINT32_TYPE__;
using uint64_t = __UINT64_TYPE__;
using intptr_t = __INTPTR_TYPE__;
using uintptr_t = __UINTPTR_TYPE__;
using size_t = __SIZE_TYPE__;
using ptrdiff_t = __PTRDIFF_TYPE__;
#endif

namespace gpuos {

// i64 and u64 are the same types everywhere. int64_t is `long` for some
// compilers, which overloads for `long long` do not take.
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using u8 = unsigned char;

static_assert(sizeof(i8) == 1 && sizeof(i16) == 2 && sizeof(i32) == 4 &&
                  sizeof(i64) == 8,
              "the names tell the bits");
static_assert(sizeof(int8_t) == 1 && sizeof(int16_t) == 2 &&
                  sizeof(int32_t) == 4 && sizeof(int64_t) == 8,
              "the names tell the bits");
static_assert(sizeof(uint8_t) == 1 && sizeof(uint16_t) == 2 &&
                  sizeof(uint32_t) == 4 && sizeof(uint64_t) == 8,
              "the names tell the bits");
static_assert(sizeof(size_t) == sizeof(void*) &&
                  sizeof(uintptr_t) == sizeof(void*),
              "an address fits");

}  // namespace gpuos
