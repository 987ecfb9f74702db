// The costs of operations, deferred and in PyTorch. They decide which ones are
// left to PyTorch, and what deferring saved.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "flush/cost_table.h"
#include "pytorch/functions.h"
#include "pytorch/keys.h"

namespace gpuos::bridge {

/// The way by which an operation came to us. Each skips another part of
/// PyTorch's work.
enum class EntryPoint : std::uint8_t {
  Override,  // a method or function of Python
  Kernel,    // a kernel of the dispatcher
  Boxed,     // one that has its arguments on a stack
  Below      // autograd
};

/// Estimates for the tensors of one kind of device. Units: nanoseconds.
struct Prices {
  std::int64_t
      saved[4];        // by an operation that is deferred, of each entry point
  std::int64_t into;   // less by one whose result was there before
  std::int64_t flush;  // costs
};
/// The cost of passing an operator through to PyTorch.
inline constexpr std::int64_t kPassedNs = 400;

// Processors: two cores of an AMD EPYC. Eager a + b took 1,250, deferring and
// running it 350. Calls through the dispatcher took 300 less than in eager, in
// the middle of other work. lerp_ and addcmul_, boxed, took 1,550 compared with
// 1,260, and 2,300 with a flush for each two of them. Below autograd the time
// equals eager. a.add_(b) took 1,340 and 920, because it allocates nothing. A
// flush of one addition took 800, and 200 for the addition. GPU: an H200, where
// eager took 6,100. A burst takes 8,000 to group and launch. A reader of the
// result waits for all work that eager would have begun long ago
// (docs/lab/torch_even.md).
inline constexpr Prices kCpuPrices{{900, 300, -600, 0}, 500, 900};
inline constexpr Prices kGpuPrices{{5'500, 5'000, 4'000, 2'500}, 0, 30'000};

constexpr const Prices& prices_of(bool is_cpu) {
  return is_cpu ? kCpuPrices : kGpuPrices;
}
/// Returns the time that each deferred operation saves if an override takes it.
constexpr std::int64_t saved_by_each(bool is_cpu, bool is_fresh) {
  return prices_of(is_cpu).saved[0] - (is_fresh ? 0 : prices_of(is_cpu).into);
}
/// Returns the correction of that time for another entry point.
constexpr std::int64_t saved_correction(EntryPoint entry, bool is_cpu) {
  return prices_of(is_cpu).saved[static_cast<int>(entry)] -
         prices_of(is_cpu).saved[0];
}
inline constexpr auto kMaxProfitableElems = [] {
  std::array<std::int64_t, 256> elems{};
  for (std::int64_t& most : elems) most = INT64_MAX;
  for (const Loss& loss : kElementLosses) {
    const std::int64_t most = std::max({loss.single, loss.twice, loss.half});
    if (most > 0)
      elems[static_cast<std::size_t>(loss.function)] =
          1000 * kCpuPrices.saved[0] / most;
  }
  return elems;
}();

/// An operation whose cost is asked for.
struct Priced {
  Function function{};
  at::ScalarType type{};  // of the first operand
  std::int64_t elems = 0;
  bool is_cpu = false;
  bool reads_pending = false;
  bool has_strided_rows = false;  // a row's elements do not follow each other
  std::int64_t rows = 0;          // of a reduction and its kin
  std::int64_t runs = 0;          // of any other walk; 0: one alone
};

/// Returns the extra time compared with PyTorch, without the call. Units:
/// nanoseconds.
std::int64_t loss_of(const Priced& call);
/// Returns whether that is more than deferring it saves.
bool is_too_costly(const Priced& call);
/// Returns the most elements for which an elementwise operation is cheap on any
/// device.
constexpr std::int64_t max_profitable_elems(Function function) {
  return kMaxProfitableElems[static_cast<std::size_t>(function)];
}

/// Sets whether the cost decides which operations are left to PyTorch. If not,
/// only their size decides, as tests need it.
void weigh_costs(bool weighs);
bool weighs_costs() noexcept;

/// Set when an operation is refused for its size or its cost, until it is read.
/// PyTorch then runs the operation at once, and other entry points skip it.
extern constinit thread_local bool is_passed_to_pytorch GPUOS_NEAR_TLS;

}  // namespace gpuos::bridge
