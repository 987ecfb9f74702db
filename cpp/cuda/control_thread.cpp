#include "cuda/control_thread.h"

#include <pthread.h>

#include "gpuos/error.h"

namespace gpuos::cu {

ControlThread::ControlThread(Job setup, Tick tick)
    : tick_(std::move(tick)),
      thread_([this, setup = std::move(setup)] { loop(setup); }) {}

ControlThread::~ControlThread() { stop(); }

void ControlThread::run(Job job) {
  std::packaged_task<void()> task(std::move(job));
  auto result = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (stops_) throw QueueClosed("the runtime is closed");
    jobs_.push_back(std::move(task));
  }
  wake_.notify_one();
  result.get();
}

void ControlThread::notify() noexcept {
  // With the stores and loads in sleep(): either the thread sees the flag or
  // we see that it sleeps. Both sides are sequentially consistent.
  is_notified_.store(true);
  if (!is_asleep_.load()) return;
  const std::lock_guard lock(mutex_);
  wake_.notify_one();
}

void ControlThread::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void ControlThread::loop(const Job& setup) {
  pthread_setname_np(pthread_self(), "gpuos-control");
  setup();
  for (;;) {
    run_jobs();
    const auto time = tick_();
    {
      const std::lock_guard lock(mutex_);
      if (stops_ && jobs_.empty()) return;
    }
    sleep(time);
  }
}

void ControlThread::run_jobs() {
  for (;;) {
    std::packaged_task<void()> job;
    {
      const std::lock_guard lock(mutex_);
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
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
  is_notified_.store(false);
}

}  // namespace gpuos::cu
