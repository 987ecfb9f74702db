#include "timer.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "pending.h"

namespace gpuos::bridge {
namespace {

struct Timer {
  explicit Timer(std::chrono::microseconds interval)
      : half(interval / 2), thread([this] { look(); }) {}

  void look() {
    std::unique_lock lock(mutex);
    std::uint64_t seen = 0;
    bool had_some = false;
    while (!stops.wait_for(lock, half, [this] { return is_stopping; })) {
      const std::uint64_t now = pending.generation();
      if (had_some && now == seen && !pending.is_empty())
        pending.flush_behind();
      seen = pending.generation();
      had_some = !pending.is_empty();
    }
  }
  void stop() {
    {
      const std::lock_guard lock(mutex);
      is_stopping = true;
    }
    stops.notify_one();
    thread.join();
  }

  std::mutex mutex;
  std::condition_variable stops;
  bool is_stopping = false;  // under mutex
  const std::chrono::microseconds half;
  std::thread thread;  // last: it uses the others
};

std::mutex mutex;
std::unique_ptr<Timer> timer;  // under mutex

}  // namespace

void stop_timer() {
  const std::lock_guard lock(mutex);
  if (timer == nullptr) return;
  timer->stop();
  timer.reset();
}

void start_timer(std::chrono::microseconds interval) {
  stop_timer();
  const std::lock_guard lock(mutex);
  timer = std::make_unique<Timer>(interval);
}

void forget_timer() { static_cast<void>(timer.release()); }

}  // namespace gpuos::bridge
