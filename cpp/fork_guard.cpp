#include "fork_guard.h"

#include <pthread.h>

#include <atomic>

namespace gpuos {
namespace {

std::atomic<std::uint32_t> generation{0};

void count_fork() { generation.fetch_add(1, std::memory_order_relaxed); }

// Registered before main(): a child made by any later fork is counted.
[[maybe_unused]] const int kRegistered =
    pthread_atfork(nullptr, nullptr, count_fork);

}  // namespace

std::uint32_t fork_generation() noexcept {
  return generation.load(std::memory_order_relaxed);
}

}  // namespace gpuos
