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

namespace gpuos {

/// The single thread that loads modules and changes residencies. No caller's
/// thread therefore blocks in a driver call.
///
/// Lifetime: if stop() abandons the thread, this object and everything that the
/// jobs and the tick use must live as long as the process.
class ControlThread {
 public:
  using Job = std::function<void()>;
  /// Does periodic work and returns the delay until its next call. Empty: the
  /// next call follows notify().
  using Tick = std::function<std::optional<std::chrono::microseconds>()>;

  /// Throws: the exceptions of `setup`.
  ControlThread(Job setup, Tick tick, const char* name = "gpuos-control");
  ~ControlThread();
  ControlThread(const ControlThread&) = delete;
  ControlThread& operator=(const ControlThread&) = delete;

  /// Runs `job` on the thread, waits for it and throws its exception. Calls
  /// `check` meanwhile. An exception of `check` ends the wait, and the job may
  /// still run later: it must own all that it uses.
  void run(Job job, const std::function<void()>& check);
  /// The tick has something to look at. Costs a store unless the thread
  /// sleeps.
  void notify() noexcept;
  /// Ends the thread after the waiting jobs. Returns false if it did not end
  /// within `grace`, because a driver call waits for work that does not end. A
  /// thread cannot be killed safely, so it is abandoned.
  bool stop(std::chrono::milliseconds grace) noexcept;

 private:
  std::future<void> enqueue(Job job);
  void loop();
  void run_job();
  void sleep(std::optional<std::chrono::microseconds> time);

  const char* const name_;
  Tick tick_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable end_;
  std::deque<std::packaged_task<void()>> jobs_;  // under mutex_
  bool stops_ = false;                           // under mutex_
  bool has_ended_ = false;                       // under mutex_
  std::atomic<bool> is_notified_{false};
  std::atomic<bool> is_asleep_{false};
  std::thread thread_;
};

/// Looks for tasks that do not end. Not the control thread: it may be in a call
/// of the driver that waits for that very task.
class WatchdogThread {
 public:
  /// False: there is nothing to look after. Must not block for long.
  using Look = std::function<bool()>;

  WatchdogThread(std::chrono::milliseconds limit, Look look);

  /// There is something to look after. Costs a store unless the thread sleeps.
  void notify() noexcept { thread_.notify(); }
  void stop() noexcept { thread_.stop(std::chrono::milliseconds::max()); }

 private:
  ControlThread thread_;
};

}  // namespace gpuos
