#include "pending.h"

namespace gpuos::bridge {

Counters Pending::counters() {
  const std::lock_guard lock(mutex_);
  Counters now = counters_;
  now.fallbacks = fallbacks_.load(std::memory_order_relaxed);
  now.left = left_.load(std::memory_order_relaxed);
  now.saved += corrections_.load(std::memory_order_relaxed);
  return now;
}

RequestStats Pending::stats() {
  const std::lock_guard lock(mutex_);
  if (starter_ != nullptr) starter_->wait();  // it counts too
  RequestStats sum;
  for (const Runner& runner : all_runners()) {
    const RequestStats one = runner.table->stats(runner.handle);
    sum.requests += one.requests;
    sum.runs += one.runs;
    sum.tasks += one.tasks;
    sum.programs += one.programs;
    sum.unwritten += one.unwritten;
    sum.compiling += one.compiling;
  }
  return sum;
}

}  // namespace gpuos::bridge
