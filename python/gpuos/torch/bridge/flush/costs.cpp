#include "flush/costs.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <span>

#include "flush/backoff.h"
#include "flush/cost_table.h"

namespace gpuos::bridge {
namespace {

std::atomic<bool> weighs{true};

std::int32_t loss_in(std::span<const Loss> table, Function function,
                     at::ScalarType type) {
  const auto loss = std::ranges::find(table, function, &Loss::function);
  if (loss == table.end()) return 0;
  if (type == at::kDouble) return loss->twice;
  return type == at::kHalf || type == at::kBFloat16 ? loss->half : loss->single;
}

std::span<const Loss> table_of(Function function, bool has_strided_rows) {
  if (!is_row_function(function)) return kElementLosses;
  return has_strided_rows ? std::span<const Loss>(kAcrossLosses) : kAlongLosses;
}

std::int64_t row_loss(Function function) {
  const auto loss = std::ranges::find(kRowLosses, function, &RowLoss::function);
  return loss == std::end(kRowLosses) ? 0 : loss->each;
}

}  // namespace

constinit thread_local bool is_passed_to_pytorch = false;

std::int64_t loss_of(const Priced& call) {
  // On a GPU an operation of this size costs only its launch.
  if (!call.is_cpu) return 0;
  // PyTorch takes longer for rows of few columns.
  if (call.rows >= kManyRows && call.elems <= kFewColumns * call.rows) return 0;
  const auto table = table_of(call.function, call.has_strided_rows);
  // Rows across memory run side by side.
  const std::int64_t rows =
      call.has_strided_rows ? 0 : row_loss(call.function) * call.rows;
  std::int64_t each = loss_in(table, call.function, call.type);
  if (call.runs != 0 && call.elems > kShortRun * call.runs) each += kRunLoss;
  return each * call.elems / 1000 + rows;
}

bool is_too_costly(const Priced& call) {
  if (!call.is_cpu || !weighs_costs()) return false;
  // PyTorch would flush its operands first, which depends on the moment.
  const bool needs_flush = call.reads_pending && !is_fixed();
  return loss_of(call) >
         kCpuPrices.saved[0] + (needs_flush ? kCpuPrices.flush : 0);
}

void weigh_costs(bool does) { weighs.store(does, std::memory_order_relaxed); }
bool weighs_costs() noexcept { return weighs.load(std::memory_order_relaxed); }

}  // namespace gpuos::bridge
