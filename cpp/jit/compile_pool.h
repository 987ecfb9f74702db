#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

namespace gpuos::jit {

/// How many compilations run side by side: one for each processor that the
/// process may use, at most 8, because a large source takes NVRTC some hundred
/// MiB.
std::size_t compile_threads() noexcept;

/// compile_threads() threads, begun when they are needed. One that finds
/// nothing to do for a while ends.
///
/// Threads: any.
/// Lifetime: when the process ends, what has not begun is dropped and what runs
/// holds the exit, see process_exit.h.
class CompilePool {
 public:
  static CompilePool& instance();

  /// `job` must not throw. Dropped without a call when the process ends.
  void post(std::function<void()> job);

 private:
  CompilePool();
  void work();
  static void run(std::function<void()> job) noexcept;
  void stop() noexcept;

  const std::size_t most_;
  const std::uint32_t generation_;  // of the process, see fork_guard.h
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable left_;
  std::deque<std::function<void()>> jobs_;  // under mutex_
  std::size_t threads_ = 0;                 // under mutex_
  std::size_t idle_ = 0;                    // under mutex_
  bool stops_ = false;                      // under mutex_
};

}  // namespace gpuos::jit
