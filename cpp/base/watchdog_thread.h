#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace gpuos {

/// Looks for tasks that do not end. Not the control thread: it may be in a call
/// of the driver that waits for that very task.
class WatchdogThread {
 public:
  /// False: there is nothing to look after. Must not block for long.
  using Look = std::function<bool()>;

  WatchdogThread(std::chrono::milliseconds limit, Look look);
  ~WatchdogThread();
  WatchdogThread(const WatchdogThread&) = delete;
  WatchdogThread& operator=(const WatchdogThread&) = delete;

  /// There is something to look after. Costs a store unless the thread sleeps.
  void notify() noexcept;
  void stop() noexcept;

 private:
  void loop();

  std::chrono::milliseconds period_;
  Look look_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stops_ = false;  // under mutex_
  std::atomic<bool> is_notified_{false};
  std::atomic<bool> is_asleep_{false};
  std::thread thread_;
};

}  // namespace gpuos
