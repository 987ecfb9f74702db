#include "starter.h"

#include <utility>

namespace gpuos::bridge {

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
  // Pairs with the release in loop(): what the job wrote is seen.
  while (state_.load(std::memory_order_acquire) == kBusy) state_.wait(kBusy);
}

void Starter::loop() {
  for (;;) {
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
