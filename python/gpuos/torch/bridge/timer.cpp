#include "timer.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "pending.h"

namespace gpuos::bridge {
namespace {

class Timer {
 public:
  void set(std::chrono::microseconds interval) {
    {
      const std::lock_guard lock(mutex_);
      third_ = interval / 3;
      looks_again_ = true;
    }
    changed_.notify_one();
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
      // Woken by set() and stop().
      changed_.wait(lock, [this] {
        return is_stopping_ || third_ != std::chrono::microseconds(0);
      });
      look(lock);
    }
  }
  void look(std::unique_lock<std::mutex>& lock) {
    std::uint64_t seen = 0;
    int looks = 0;  // that found the same requests waiting
    looks_again_ = false;
    const auto is_over = [this] { return is_stopping_ || looks_again_; };
    while (!is_over() && third_ != std::chrono::microseconds(0) &&
           !changed_.wait_for(lock, third_, is_over)) {
      const std::uint64_t now = pending.generation();
      looks = pending.size() == 0 ? 0 : now == seen ? looks + 1 : 1;
      seen = now;
      if (looks == 2) pending.want_start();
      if (looks != 3) continue;
      lock.unlock();
      pending.flush_behind();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stopping_ = false;               // under mutex_
  bool looks_again_ = false;               // under mutex_
  std::chrono::microseconds third_{0};     // of the interval; 0: pauses
  std::thread thread_{[this] { run(); }};  // last: it uses the others
};

std::mutex mutex;
std::unique_ptr<Timer> timer;  // under mutex

}  // namespace

void start_timer(std::chrono::microseconds interval) {
  const std::lock_guard lock(mutex);
  if (timer == nullptr) timer = std::make_unique<Timer>();
  timer->set(interval);
}

void pause_timer() {
  const std::lock_guard lock(mutex);
  if (timer != nullptr) timer->set(std::chrono::microseconds(0));
}

void stop_timer() {
  const std::lock_guard lock(mutex);
  if (timer == nullptr) return;
  timer->stop();
  timer.reset();
}

void forget_timer() { static_cast<void>(timer.release()); }

}  // namespace gpuos::bridge
