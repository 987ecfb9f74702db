#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "host/worker.h"

namespace gpuos::host {

/// The threads of one backend.
///
/// Lifetime: stop() before the destructor.
class WorkerThreads {
 public:
  /// Starts one thread for each entry of `shared->states`.
  /// Throws: BackendUnavailable if the system gives fewer.
  explicit WorkerThreads(const std::shared_ptr<Shared>& shared);
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  /// Ends the threads. A thread that does not return within `grace` is
  /// abandoned with the memory that it uses.
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
