#include "base/process_exit.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "gpuos/error.h"

namespace gpuos {
namespace {

// Compilers are asked to give up, and the host's are killed, so this is for
// what cannot be: a phase of NVRTC (machine code of one function; 0.8 s were
// seen), a wait inside the driver. Less would not be safe, see docs/errors.md.
constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::microseconds kStep{500};

// All without constructors: they are used while static objects are made and
// destroyed.
constinit std::atomic<bool> is_exiting{false};
constinit std::atomic<std::uint32_t> holds{0};
constinit std::atomic<void (*)() noexcept> stop_hook{nullptr};
constinit thread_local std::uint32_t own_holds = 0;
constinit thread_local bool is_exiter = false;

void begin_exit() noexcept {
  // With the order in HoldsExit(): either it sees this or we see its hold.
  if (is_exiting.exchange(true, std::memory_order_seq_cst)) return;
  is_exiter = true;
  if (const auto stop = stop_hook.load()) stop();
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (holds.load(std::memory_order_seq_cst) > own_holds &&
         std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(kStep);
}

// exit() destroys what is local to its thread before it calls what was
// registered, and compilers register what they tear down while they work.
struct Ender {
  bool is_there = true;
  ~Ender() { begin_exit(); }
};

void end_with_this_thread() {
  thread_local const Ender ender;
  static_cast<void>(ender.is_there);
}

// A child of a fork has none of the other threads.
void forget_others() { holds.store(own_holds); }

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
  if (gettid() == getpid()) end_with_this_thread();
}

void at_process_exit(void (*stop)() noexcept) noexcept {
  stop_hook.store(stop);
}

HoldsExit::HoldsExit() noexcept {
  holds.fetch_add(1, std::memory_order_seq_cst);
  holds_ = !is_exiting.load(std::memory_order_seq_cst);
  if (holds_)
    ++own_holds;
  else
    holds.fetch_sub(1, std::memory_order_seq_cst);
}

HoldsExit::~HoldsExit() {
  if (!holds_) return;
  --own_holds;
  holds.fetch_sub(1, std::memory_order_seq_cst);
}

void refuse_at_exit() {
  // The thread that ends the process may still need it, to end what it owns.
  if (is_exiting.load(std::memory_order_seq_cst) && !is_exiter)
    throw Error("expected a process that goes on, it is ending");
}

}  // namespace gpuos
