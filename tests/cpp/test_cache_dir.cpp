#include <cstdlib>

namespace {

// Runs before main(), and so before gpuos reads it: no test writes to the
// user's cache. A test that must not have the variable sets another one.
[[maybe_unused]] const bool is_set =
    getenv("GPUOS_TEST_NO_CACHE_DIR") != nullptr ||
    setenv("GPUOS_CACHE_DIR", GPUOS_TEST_CACHE_DIR, 0) == 0;

}  // namespace
