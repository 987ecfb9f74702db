#include "jit/compile_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "base/fork_guard.h"
#include "base/process_exit.h"
#include "base/processors.h"
#include "base/quiet_thread.h"
#include "gpuos/error.h"

namespace gpuos::jit {
namespace {

constexpr std::size_t kMostThreads = 8;
constexpr std::chrono::seconds kIdle{1};
// A thread that has no job ends after this time.
constexpr std::chrono::milliseconds kGrace{500};

}  // namespace

std::size_t compile_threads() noexcept {
  return std::clamp<std::size_t>(usable_processors(), 1, kMostThreads);
}

CompilePool& CompilePool::instance() {
  // The pool is never destroyed, because threads may outlive main(). The child
  // of a fork has none of its parent's threads, so it has a pool of its own.
  static std::atomic<CompilePool*> current = nullptr;
  // This load pairs with the exchange below.
  CompilePool* pool = current.load(std::memory_order_acquire);
  while (pool == nullptr || pool->generation_ != fork_generation()) {
    auto made = std::unique_ptr<CompilePool>(new CompilePool);
    if (!current.compare_exchange_strong(pool, made.get(),
                                         std::memory_order_acq_rel))
      continue;
    pool = made.release();
    at_process_exit([]() noexcept { instance().stop(); });
    expect_process_exit();
  }
  return *pool;
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
  if (needs_thread) quiet_thread([this] { work(); }).detach();
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
    run(std::move(job));
    lock.lock();
  }
  --threads_;
  left_.notify_all();
}

void CompilePool::run(std::function<void()> job) noexcept {
  try {
    const HoldsExit hold{HoldsExit::For::kCompiler};
    refuse_at_exit();
    job();
    job = nullptr;
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
    // The process ends, so the job is dropped.
  }
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
