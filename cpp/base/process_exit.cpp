#include "base/process_exit.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "gpuos/error.h"

namespace gpuos {
namespace {

// Compilers are asked to stop, and the host's are killed. The limits are for
// work that cannot stop: a phase of NVRTC (machine code of one function), a
// wait inside the driver. A shorter wait would not be safe, see docs/errors.md.
constexpr std::array<std::chrono::seconds, 2> kPatience{
    std::chrono::seconds{5}, std::chrono::seconds{60}};
constexpr std::chrono::microseconds kStep{500};

using Counts = std::array<std::uint32_t, kPatience.size()>;

// All without constructors: they are used while static objects are made and
// destroyed.
constinit std::atomic<bool> is_exiting{false};
constinit std::array<std::atomic<std::uint32_t>, kPatience.size()> holds{};
constinit std::atomic<void (*)() noexcept> stop_hook{nullptr};
constinit thread_local Counts own_holds{};
constinit thread_local bool is_exiter = false;

void begin_exit() noexcept {
  // With the order in HoldsExit(): either it sees this or we see its hold.
  if (is_exiting.exchange(true, std::memory_order_seq_cst)) return;
  is_exiter = true;
  if (const auto stop = stop_hook.load()) stop();
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < holds.size(); ++i) {
    while (holds[i].load(std::memory_order_seq_cst) > own_holds[i] &&
           std::chrono::steady_clock::now() < begin + kPatience[i])
      std::this_thread::sleep_for(kStep);
  }
}

// exit() destroys thread-local objects before it calls registered functions,
// and compilers register their teardown while they work.
struct ExitHook {
  bool is_there = true;
  ~ExitHook() { begin_exit(); }
};

void end_with_this_thread() {
  thread_local const ExitHook hook;
  static_cast<void>(hook.is_there);
}

// A child of a fork has none of the other threads.
void forget_others() {
  for (std::size_t i = 0; i < holds.size(); ++i) holds[i].store(own_holds[i]);
}

[[maybe_unused]] const int kLoaded = []() noexcept {
  expect_process_exit();
  return pthread_atfork(nullptr, nullptr, forget_others);
}();

}  // namespace

bool is_process_exiting() noexcept {
  return is_exiting.load(std::memory_order_relaxed);
}

void expect_process_exit() noexcept {
  static_cast<void>(std::atexit(begin_exit));
  // gettid() is not in glibc 2.28, for which wheels are built.
  if (syscall(SYS_gettid) == getpid()) end_with_this_thread();
}

void at_process_exit(void (*stop)() noexcept) noexcept {
  stop_hook.store(stop);
}

HoldsExit::HoldsExit(For what) noexcept : what_(what) {
  const auto i = static_cast<std::size_t>(what_);
  holds[i].fetch_add(1, std::memory_order_seq_cst);
  holds_ = !is_exiting.load(std::memory_order_seq_cst);
  if (holds_)
    ++own_holds[i];
  else
    holds[i].fetch_sub(1, std::memory_order_seq_cst);
}

HoldsExit::~HoldsExit() {
  if (!holds_) return;
  const auto i = static_cast<std::size_t>(what_);
  --own_holds[i];
  holds[i].fetch_sub(1, std::memory_order_seq_cst);
}

void refuse_at_exit() {
  // The exiting thread may still need it, to end its own objects.
  if (is_exiting.load(std::memory_order_seq_cst) && !is_exiter)
    throw Error("expected a running process, but it is ending");
}

}  // namespace gpuos
