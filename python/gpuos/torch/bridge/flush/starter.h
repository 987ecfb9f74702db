// A thread that hands requests to the workers while the callers continue.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace gpuos::bridge {

/// Does one job at a time.
///
/// Threads: start() and wait() under one lock of the caller.
class Starter {
 public:
  Starter();
  /// Waits for the current job.
  ~Starter();
  Starter(const Starter&) = delete;
  Starter& operator=(const Starter&) = delete;

  /// The job before must have ended. It must not throw.
  void start(std::function<void()> job);
  /// Returns whether start() would be too early. May be wrong a moment later.
  bool is_busy() const noexcept {
    return state_.load(std::memory_order_relaxed) == kBusy;
  }
  /// Waits until the job has ended. The job's call has a deadline, so this
  /// needs none.
  void wait() noexcept;

 private:
  enum State : int { kIdle, kBusy, kStopping };

  void loop();

  std::function<void()> job_;
  std::atomic<int> state_{kIdle};
  std::thread thread_;
};

}  // namespace gpuos::bridge
