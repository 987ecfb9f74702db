#include <cstdlib>

namespace {

// Before main(), and so before gpuos reads it: no test writes to the cache of
// whoever runs it.
[[maybe_unused]] const int is_set =
    setenv("GPUOS_CACHE_DIR", GPUOS_TEST_CACHE_DIR, 0);

}  // namespace
