#include <cstdlib>

namespace {

// Before main(), and so before gpuos reads it: no test writes to the cache of
// whoever runs it. A test that must do without the variable says so.
[[maybe_unused]] const bool is_set =
    getenv("GPUOS_TEST_NO_CACHE_DIR") != nullptr ||
    setenv("GPUOS_CACHE_DIR", GPUOS_TEST_CACHE_DIR, 0) == 0;

}  // namespace
