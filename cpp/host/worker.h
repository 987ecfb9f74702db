#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "host/shared.h"

namespace gpuos::host {

/// The loop of one worker thread. It returns after Shared::stop().
void run_worker(Shared& shared, std::uint32_t index);

/// Runs unclaimed tasks at positions before `end`, for which the calling thread
/// waits. Returns when none is left or the deadline has passed. Workers run
/// tasks of whole operators, and all tasks while one of those is pending.
/// Returns whether it ran a task.
bool help(Shared& shared, std::uint64_t end,
          std::chrono::steady_clock::time_point deadline);

/// The threads of one backend.
///
/// Lifetime: stop() before the destructor.
class WorkerThreads {
 public:
  /// One thread for each entry of `shared->states`.
  /// Throws: BackendUnavailable if the system gives fewer.
  explicit WorkerThreads(const std::shared_ptr<Shared>& shared);
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  /// Ends the threads. A thread that does not end within `grace` is abandoned,
  /// with everything that it uses.
  void stop(std::chrono::milliseconds grace);

 private:
  // Outlives this object if a thread does.
  struct Exits {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<bool> has_left;
    std::size_t count = 0;
  };

  void start(std::uint32_t index);

  std::shared_ptr<Shared> shared_;
  std::shared_ptr<Exits> exits_;
  std::vector<std::thread> threads_;
};

}  // namespace gpuos::host
