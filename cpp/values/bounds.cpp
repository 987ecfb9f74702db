#include "values/bounds.h"

#include <algorithm>

// submit_many() reads every address once before the first is queued, and
// submit() compares its ranges with all pending ones. Wider registers make that
// a third of a nanosecond each. The sanitizers' run-time support is not ready
// when the choice is made at load time.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GPUOS_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define GPUOS_WIDE
#endif

namespace gpuos {
namespace {

// The compiler exports these choices unless their names are local.
GPUOS_WIDE Bounds wide_bounds_of(const std::uint64_t* addresses,
                                 std::size_t count) noexcept {
  // Signed, because x86 has no comparison of unsigned vectors before AVX-512.
  auto low = static_cast<std::int64_t>(addresses[0]);
  std::int64_t high = low;
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto address = static_cast<std::int64_t>(addresses[i]);
    low = std::min(low, address);
    high = std::max(high, address);
    bits |= addresses[i];
  }
  return {static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high),
          bits};
}

GPUOS_WIDE bool wide_any_overlaps(const std::int64_t* lows,
                                  const std::int64_t* highs, std::size_t count,
                                  std::int64_t low,
                                  std::int64_t high) noexcept {
  // The loop has no early end, so it can compare several at a time.
  std::int64_t found = 0;
  for (std::size_t i = 0; i < count; ++i)
    found |= static_cast<std::int64_t>(lows[i] < high) &
             static_cast<std::int64_t>(low < highs[i]);
  return found != 0;
}

}  // namespace

Bounds bounds_of(const std::uint64_t* addresses, std::size_t count) noexcept {
  return wide_bounds_of(addresses, count);
}

bool any_overlaps(const std::int64_t* lows, const std::int64_t* highs,
                  std::size_t count, std::int64_t low,
                  std::int64_t high) noexcept {
  return wide_any_overlaps(lows, highs, count, low, high);
}

}  // namespace gpuos
