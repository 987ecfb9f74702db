#include "jit/compile_pool.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "fork_guard.h"

namespace gpuos::jit {
namespace {

constexpr std::size_t kMostThreads = 8;
constexpr std::chrono::seconds kIdle{1};
constexpr std::chrono::seconds kGrace{30};

}  // namespace

std::size_t compile_threads() noexcept {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1,
                                 kMostThreads);
}

CompilePool& CompilePool::instance() {
  // Never destroyed, because threads may outlive main(). The child of a fork
  // has none of its parent's threads, so it has a pool of its own.
  static std::atomic<CompilePool*> current = nullptr;
  // Pairs with the exchange below.
  CompilePool* pool = current.load(std::memory_order_acquire);
  while (pool == nullptr || pool->generation_ != fork_generation()) {
    auto made = std::unique_ptr<CompilePool>(new CompilePool);
    if (!current.compare_exchange_strong(pool, made.get(),
                                         std::memory_order_acq_rel))
      continue;
    pool = made.release();
    // Before what was loaded until now is torn down, if main() does not end
    // the pool: who registers last is called first.
    static_cast<void>(std::atexit([] { instance().stop(); }));
  }
  if (gettid() == getpid()) end_with_this_thread();
  return *pool;
}

void CompilePool::end_with_this_thread() {
  // exit() destroys what is local to its thread before it calls what was
  // registered, and compilers register what they tear down while they work.
  struct Ender {
    bool is_there = true;
    ~Ender() { instance().stop(); }
  };
  thread_local const Ender ender;
  static_cast<void>(ender.is_there);
}

CompilePool::CompilePool()
    : most_(compile_threads()), generation_(fork_generation()) {}

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
