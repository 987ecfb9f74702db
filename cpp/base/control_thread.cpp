#include "base/control_thread.h"

#include <pthread.h>

#include <algorithm>

#include "base/quiet_thread.h"
#include "gpuos/error.h"

namespace gpuos {

namespace {

/// The longest delay until a waiter learns that the backend died.
constexpr std::chrono::milliseconds kCheckPeriod{10};

/// A failure may be found late by a tenth of the limit, at most by 100 ms.
std::chrono::milliseconds period_of(std::chrono::milliseconds limit) {
  using std::chrono::milliseconds;
  return std::clamp(limit / 10, milliseconds(1), milliseconds(100));
}

ControlThread::Tick tick_of(std::chrono::milliseconds limit,
                            WatchdogThread::Look look) {
  return
      [period = period_of(limit),
       look = std::move(look)]() -> std::optional<std::chrono::microseconds> {
        try {
          if (!look()) return std::nullopt;
        } catch (...) {  // NOLINT(bugprone-empty-catch)
          // No memory: the next look may have some.
        }
        return period;
      };
}

}  // namespace

ControlThread::ControlThread(Job setup, Tick tick, const char* name)
    : name_(name), tick_(std::move(tick)) {
  // Before the thread begins, so that no tick comes first.
  std::future<void> is_ready = enqueue(std::move(setup));
  thread_ = quiet_thread([this] { loop(); });
  try {
    is_ready.get();
  } catch (...) {
    stop(std::chrono::milliseconds::max());
    throw;
  }
}

ControlThread::~ControlThread() { stop(std::chrono::milliseconds::max()); }

std::future<void> ControlThread::enqueue(Job job) {
  std::packaged_task<void()> task(std::move(job));
  auto result = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (stops_) throw QueueClosed("the runtime is closed");
    jobs_.push_back(std::move(task));
  }
  wake_.notify_one();
  return result;
}

void ControlThread::run(Job job, const std::function<void()>& check) {
  std::future<void> result = enqueue(std::move(job));
  while (result.wait_for(kCheckPeriod) != std::future_status::ready) check();
  result.get();
}

void ControlThread::notify() noexcept {
  // Pairs with the stores and loads in sleep(): either the thread sees the flag
  // or this thread sees that it sleeps. Both sides are sequentially consistent.
  is_notified_.store(true);
  if (!is_asleep_.load()) return;
  const std::lock_guard lock(mutex_);
  wake_.notify_one();
}

bool ControlThread::stop(std::chrono::milliseconds grace) noexcept {
  if (!thread_.joinable()) return true;
  {
    std::unique_lock lock(mutex_);
    stops_ = true;
    wake_.notify_one();
    const auto has_ended = [this] { return has_ended_; };
    if (grace == std::chrono::milliseconds::max()) {
      end_.wait(lock, has_ended);
    } else if (!end_.wait_for(lock, grace, has_ended)) {
      thread_.detach();
      return false;
    }
  }
  thread_.join();
  return true;
}

void ControlThread::loop() {
  pthread_setname_np(pthread_self(), name_);
  for (;;) {
    run_job();
    // Runs the tick after each job. A steady flow of jobs must not delay it.
    const auto time = tick_();
    {
      const std::lock_guard lock(mutex_);
      if (stops_ && jobs_.empty()) {
        has_ended_ = true;
        end_.notify_one();
        return;
      }
    }
    sleep(time);
  }
}

void ControlThread::run_job() {
  std::packaged_task<void()> job;
  {
    const std::lock_guard lock(mutex_);
    if (jobs_.empty()) return;
    job = std::move(jobs_.front());
    jobs_.pop_front();
  }
  job();
}

void ControlThread::sleep(std::optional<std::chrono::microseconds> time) {
  std::unique_lock lock(mutex_);
  if (time) {
    wake_.wait_for(lock, *time, [&] { return stops_ || !jobs_.empty(); });
  } else {
    is_asleep_.store(true);
    wake_.wait(lock,
               [&] { return stops_ || !jobs_.empty() || is_notified_.load(); });
    is_asleep_.store(false);
  }
  // The exchange also reads it: the next tick sees all stores before notify().
  is_notified_.exchange(false);
}

WatchdogThread::WatchdogThread(std::chrono::milliseconds limit, Look look)
    : thread_([] {}, tick_of(limit, std::move(look)), "gpuos-watchdog") {}

}  // namespace gpuos
