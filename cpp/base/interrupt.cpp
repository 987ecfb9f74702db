#include "gpuos/interrupt.h"

#include "base/concat.h"
#include "base/interruptible.h"
#include "gpuos/error.h"

namespace gpuos {
namespace {

thread_local Interrupt* current = nullptr;

}  // namespace

Interrupt::Interrupt(Ask ask, void* context) noexcept
    : ask_(ask), context_(context), before_(current) {
  current = this;
}

Interrupt::~Interrupt() { current = before_; }

bool Interrupt::ask_now_and_then() noexcept {
  const Clock::time_point now = Clock::now();
  if (stops_ || now < next_) return stops_;
  const bool is_first = next_ == Clock::time_point();
  next_ = now + kPeriod;
  // Most waits are shorter than a question.
  return stops_ = !is_first && ask_(context_);
}

bool is_interruptible() noexcept { return current != nullptr; }

bool Interrupt::is_asked_for() noexcept {
  return current != nullptr && current->ask_now_and_then();
}

void Interrupt::check(const char* what) {
  if (is_asked_for())
    throw Cancelled(concat(what, ": the caller stopped waiting"));
}

}  // namespace gpuos
