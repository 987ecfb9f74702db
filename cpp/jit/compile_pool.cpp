#include "jit/compile_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace gpuos::jit {
namespace {

constexpr std::size_t kMostThreads = 8;
constexpr std::chrono::seconds kIdle{1};
constexpr std::chrono::seconds kGrace{5};

}  // namespace

std::size_t compile_threads() noexcept {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1,
                                 kMostThreads);
}

CompilePool& CompilePool::instance() {
  // Never destroyed, because threads may outlive main(); but what runs then
  // must not meet a compiler that the process is tearing down.
  static auto* const pool = new CompilePool;
  struct Ender {
    ~Ender() { pool->stop(); }
  };
  static const Ender ender;
  return *pool;
}

CompilePool::CompilePool() : most_(compile_threads()) {}

void CompilePool::post(std::function<void()> job) {
  bool needs_thread = false;
  {
    const std::lock_guard lock(mutex_);
    if (stops_) return;
    jobs_.push_back(std::move(job));
    needs_thread = jobs_.size() > idle_ && threads_ < most_;
    if (needs_thread) ++threads_;
  }
  if (needs_thread) std::thread([this] { work(); }).detach();
  wake_.notify_one();
}

void CompilePool::work() {
  pthread_setname_np(pthread_self(), "gpuos-compile");
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait_for(lock, kIdle, [this] { return stops_ || !jobs_.empty(); });
    --idle_;
    if (jobs_.empty()) break;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
  }
  --threads_;
  left_.notify_all();
}

void CompilePool::stop() noexcept {
  std::deque<std::function<void()>> dropped;
  std::unique_lock lock(mutex_);
  stops_ = true;
  dropped.swap(jobs_);
  wake_.notify_all();
  left_.wait_for(lock, kGrace, [this] { return threads_ == 0; });
}

}  // namespace gpuos::jit
