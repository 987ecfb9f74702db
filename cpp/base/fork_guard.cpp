#include "base/fork_guard.h"

#include <pthread.h>

namespace gpuos {

std::atomic<std::uint32_t> forks{0};

namespace {

void count_fork() { forks.fetch_add(1, std::memory_order_relaxed); }

// Registered before main(): a child made by any later fork is counted.
[[maybe_unused]] const int kRegistered =
    pthread_atfork(nullptr, nullptr, count_fork);

}  // namespace
}  // namespace gpuos
