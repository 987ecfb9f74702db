#include "base/watchdog_thread.h"

#include <pthread.h>

#include <algorithm>

#include "base/quiet_thread.h"

namespace gpuos {
namespace {

using std::chrono::milliseconds;

/// Returns a tenth of the limit, which is early enough. It never exceeds 100
/// ms.
milliseconds period_of(milliseconds limit) {
  return std::clamp(limit / 10, milliseconds(1), milliseconds(100));
}

}  // namespace

WatchdogThread::WatchdogThread(milliseconds limit, Look look)
    : period_(period_of(limit)),
      look_(std::move(look)),
      thread_(quiet_thread([this] { loop(); })) {}

WatchdogThread::~WatchdogThread() { stop(); }

void WatchdogThread::notify() noexcept {
  // Either the thread sees the flag, or this one sees that it sleeps.
  // ControlThread does the same.
  is_notified_.store(true);
  if (!is_asleep_.load()) return;
  const std::lock_guard lock(mutex_);
  wake_.notify_one();
}

void WatchdogThread::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void WatchdogThread::loop() {
  pthread_setname_np(pthread_self(), "gpuos-watchdog");
  for (;;) {
    is_notified_.store(false);
    bool goes_on = true;
    try {
      goes_on = look_();
    } catch (...) {  // NOLINT(bugprone-empty-catch)
      // No memory: the next look may have some.
    }
    std::unique_lock lock(mutex_);
    if (goes_on) {
      wake_.wait_for(lock, period_, [&] { return stops_; });
    } else {
      is_asleep_.store(true);
      wake_.wait(lock, [&] { return stops_ || is_notified_.load(); });
      is_asleep_.store(false);
    }
    if (stops_) return;
  }
}

}  // namespace gpuos
