#include "flush/starter.h"

#include <chrono>
#include <utility>

#include "memory/patient_mutex.h"

namespace gpuos::bridge {
namespace {

using Clock = std::chrono::steady_clock;

// A thread that sleeps comes back tens of microseconds late, on a virtual
// processor more. The next job of a busy program is not much further away, and
// neither is the end of one.
constexpr auto kPatience = std::chrono::microseconds(200);

/// Until `state` is no longer `old`, or for so long.
void watch_for_change(const std::atomic<int>& state, int old) {
  constexpr int kLooks = 64;  // a clock takes longer than a look
  const auto end = Clock::now() + kPatience;
  do {
    for (int look = 0; look < kLooks; ++look) {
      // A thread that waits for the change looks again and acquires it.
      if (state.load(std::memory_order_relaxed) != old) return;
      cpu_relax();
    }
  } while (Clock::now() < end);
}

}  // namespace

Starter::Starter() : thread_([this] { loop(); }) {}

Starter::~Starter() {
  wait();
  state_.store(kStopping, std::memory_order_release);
  state_.notify_all();
  thread_.join();
}

void Starter::start(std::function<void()> job) {
  job_ = std::move(job);
  // Pairs with the acquire in loop().
  state_.store(kBusy, std::memory_order_release);
  state_.notify_all();
}

void Starter::wait() noexcept {
  if (is_busy()) watch_for_change(state_, kBusy);
  // Pairs with the release in loop(), so the job's writes are visible.
  while (state_.load(std::memory_order_acquire) == kBusy) state_.wait(kBusy);
}

void Starter::loop() {
  for (;;) {
    watch_for_change(state_, kIdle);
    state_.wait(kIdle, std::memory_order_acquire);
    const int state = state_.load(std::memory_order_acquire);
    if (state == kStopping) return;
    if (state != kBusy) continue;
    job_();
    state_.store(kIdle, std::memory_order_release);
    state_.notify_all();
  }
}

}  // namespace gpuos::bridge
