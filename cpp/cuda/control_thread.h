#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

namespace gpuos::cu {

/// The one thread that loads modules and changes residencies, so that no
/// caller's thread meets a driver call that may block.
class ControlThread {
 public:
  using Job = std::function<void()>;
  /// Looks after things; says when it wants to be called again. Empty: when
  /// somebody calls notify().
  using Tick = std::function<std::optional<std::chrono::microseconds>()>;

  ControlThread(Job setup, Tick tick);
  ~ControlThread();
  ControlThread(const ControlThread&) = delete;
  ControlThread& operator=(const ControlThread&) = delete;

  /// Runs `job` on the thread and waits for it. Throws what it throws.
  void run(Job job);
  /// The tick has something to look at. Costs a store unless the thread
  /// sleeps.
  void notify() noexcept;
  /// Ends the thread after the jobs that wait.
  void stop() noexcept;

 private:
  void loop(const Job& setup);
  void run_jobs();
  void sleep(std::optional<std::chrono::microseconds> time);

  Tick tick_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::packaged_task<void()>> jobs_;  // under mutex_
  bool stops_ = false;                           // under mutex_
  std::atomic<bool> is_notified_{false};
  std::atomic<bool> is_asleep_{false};
  std::thread thread_;
};

}  // namespace gpuos::cu
