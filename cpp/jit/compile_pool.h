#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

namespace gpuos::jit {

/// Returns how many compilations run at a time. This is one for each processor
/// that the process may use, at most 8. A large source takes NVRTC some hundred
/// MiB.
std::size_t compile_threads() noexcept;

/// Runs up to compile_threads() threads and starts them when they are needed. A
/// thread ends when it finds no job for a while.
///
/// Threads: any.
/// Lifetime: at process exit, jobs that have not begun are dropped. Jobs that
/// run hold the exit, see process_exit.h.
class CompilePool {
 public:
  static CompilePool& instance();

  /// Queues `job`, which must not throw. The pool drops it without a call when
  /// the process ends.
  void post(std::function<void()> job);

 private:
  CompilePool();
  void work();
  static void run(std::function<void()> job) noexcept;
  void stop() noexcept;

  const std::size_t most_;
  const std::uint32_t generation_;  // the process's generation, see
                                    // fork_guard.h
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable left_;
  std::deque<std::function<void()>> jobs_;  // under mutex_
  std::size_t threads_ = 0;                 // under mutex_
  std::size_t idle_ = 0;                    // under mutex_
  bool stops_ = false;                      // under mutex_
};

}  // namespace gpuos::jit
