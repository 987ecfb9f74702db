#include "host/worker_threads.h"

#include <pthread.h>

#include <system_error>

#include "base/concat.h"
#include "base/quiet_thread.h"
#include "gpuos/error.h"

namespace gpuos::host {

WorkerThreads::WorkerThreads(const std::shared_ptr<Shared>& shared)
    : shared_(shared), exits_(std::make_shared<Exits>()) {
  const auto count = static_cast<std::uint32_t>(shared->states.size());
  exits_->has_left.resize(count);
  threads_.reserve(count);
  try {
    for (std::uint32_t i = 0; i < count; ++i) start(i);
  } catch (const std::system_error& error) {
    const std::size_t started = threads_.size();
    stop(std::chrono::seconds(10));
    throw BackendUnavailable(concat("host: expected to start ", count,
                                    " worker threads, the system gave ",
                                    started, ": ", error.what()));
  }
}

void WorkerThreads::start(std::uint32_t index) {
  threads_.push_back(quiet_thread([shared = shared_, exits = exits_, index] {
    pthread_setname_np(pthread_self(), concat("gpuos-", index).c_str());
    run_worker(*shared, index);
    {
      const std::lock_guard lock(exits->mutex);
      exits->has_left[index] = true;
      ++exits->count;
    }
    exits->changed.notify_all();
  }));
}

void WorkerThreads::stop(std::chrono::milliseconds grace) {
  shared_->stop();
  std::vector<bool> has_left;
  {
    std::unique_lock lock(exits_->mutex);
    exits_->changed.wait_for(
        lock, grace, [this] { return exits_->count == threads_.size(); });
    has_left = exits_->has_left;
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (has_left[i]) {
      threads_[i].join();
    } else {
      // It runs an endless operator. A thread cannot be killed safely. It keeps
      // its reference to the memory that it uses.
      threads_[i].detach();
    }
  }
  threads_.clear();
}

}  // namespace gpuos::host
