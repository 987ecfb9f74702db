// assert() of operators: the task fails, and its TaskError has the text. The
// host's compiler takes this for <cassert> and <assert.h>, too.
#include "fault.h"

#if !defined(__CUDACC__)
#undef assert
#if defined(NDEBUG)
#define assert(...) static_cast<void>(0)
#else
#define assert(...)                     \
  ((__VA_ARGS__) ? static_cast<void>(0) \
                 : throw gpuos::AssertFailure{#__VA_ARGS__, __LINE__})
#endif
#elif defined(GPUOS_CHECKED)
// The lane continues after the failed assertion.
#undef assert
#define assert(...)           \
  ((__VA_ARGS__)              \
       ? static_cast<void>(0) \
       : gpuos::checked::fail_assert(gpuos_notes, #__VA_ARGS__, __LINE__))
#endif
