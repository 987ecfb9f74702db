#include "flush/timer.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "flush/pending.h"

namespace gpuos::bridge {
namespace {

using std::chrono::microseconds;

class Timer {
 public:
  void set(microseconds interval) {
    bool begins = false;
    bool hurries = false;
    {
      const std::lock_guard lock(mutex_);
      begins = third_ == kOff && interval != kOff;
      hurries = interval != kOff && interval < 3 * third_;
      third_ = interval / 3;
    }
    // Otherwise it sees that by itself: a thread that is woken for nothing
    // takes a processor from the program.
    if (hurries || (begins && !pending.lets_timer_sleep())) wake();
  }
  void wake() {
    {
      const std::lock_guard lock(mutex_);
      is_woken_ = true;
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
  static constexpr microseconds kOff{0};
  static constexpr int kFlushes = 3;  // the look that flushes
  static constexpr int kSleeps = 3;   // looks at nothing before it sleeps

  void run() {
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
      changed_.wait(lock, [this] { return is_stopping_ || is_woken_; });
      is_woken_ = false;
      while (!is_stopping_ && third_ != kOff && look(lock)) {
      }
    }
  }
  /// Returns false if nothing is pending any more. It releases `lock` around
  /// each call that takes the lock of `pending`, because wake() is called under
  /// that.
  bool look(std::unique_lock<std::mutex>& lock) {
    std::uint64_t seen = 0;
    int looks = 0;  // that found the same requests waiting
    int empty = 0;  // that found none
    is_woken_ = false;
    // Then the interval is another one, perhaps.
    const auto is_over = [this] { return is_stopping_ || is_woken_; };
    while (third_ != kOff && !changed_.wait_for(lock, third_, is_over)) {
      const std::uint64_t now = pending.generation();
      empty = pending.size() == 0 ? empty + 1 : 0;
      looks = empty != 0 ? 0 : now == seen ? looks + 1 : 1;
      seen = now;
      if (looks == 2) pending.want_start();
      if (looks < kFlushes && empty < kSleeps) continue;
      lock.unlock();
      if (empty == 0) pending.flush_behind();
      const bool sleeps = empty != 0 && pending.lets_timer_sleep();
      lock.lock();
      if (sleeps) return false;
    }
    return true;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stopping_ = false;               // under mutex_
  bool is_woken_ = false;                  // under mutex_
  microseconds third_{0};                  // of the interval; 0: off
  std::thread thread_{[this] { run(); }};  // last: it uses the others
};

std::mutex timer_mutex;  // held to start and stop it
// Never freed: who adds requests may be waking it.
std::atomic<Timer*> timer = nullptr;  // changes under timer_mutex

}  // namespace

void start_timer(microseconds interval) {
  const std::lock_guard lock(timer_mutex);
  if (timer == nullptr) timer = new Timer();
  timer.load()->set(interval);
}

void pause_timer() {
  const std::lock_guard lock(timer_mutex);
  if (timer != nullptr) timer.load()->set(microseconds(0));
}

void stop_timer() {
  const std::lock_guard lock(timer_mutex);
  if (Timer* last = timer.exchange(nullptr)) last->stop();
}

void forget_timer() { timer = nullptr; }

void wake_timer() {
  if (Timer* now = timer) now->wake();
}

}  // namespace gpuos::bridge
