#include "rest.h"

#include <algorithm>
#include <chrono>

#include "keys.h"
#include "pending.h"

namespace gpuos::bridge {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kWindow = 256;  // operators left to PyTorch
constexpr std::chrono::milliseconds kShortest{200};
constexpr std::chrono::milliseconds kLongest{2000};
constexpr int kLonger = 3;  // each rest than the one before

// Estimates: a flush costs what two operations that are put off save, and an
// operator that passes through here a thirty-second part of one.
constexpr std::uint64_t kFlushCost = 2;
constexpr std::uint64_t kPassed = 32;

// Calls of the front that end a rest: another part of the program, perhaps.
constexpr std::uint32_t kCalls = 1024;
constexpr std::uint32_t kCallsALook = 16;  // at the clock

struct Watch {
  std::uint32_t fallbacks = 0;  // of this window
  std::uint32_t calls = 0;      // of the front, in this rest
  bool rests = false;
  Counters at_begin{};
  std::chrono::milliseconds length = kShortest;
  Clock::time_point until{};
};

thread_local Watch* watch_of_thread GPUOS_NEAR_TLS = nullptr;

void begin_window(Watch& watch) {
  watch.fallbacks = 0;
  watch.at_begin = pending.counters();
}

}  // namespace

bool begin_watching() {
  // Windows and rests go on from scheduler to scheduler: a program may enter
  // one for each of its steps.
  if (watch_of_thread == nullptr) watch_anew();
  Watch& watch = *watch_of_thread;
  if (watch.rests && Clock::now() < watch.until) return false;
  if (watch.rests) begin_window(watch);
  watch.rests = false;
  return true;
}

void watch_anew() {
  if (watch_of_thread == nullptr) watch_of_thread = new Watch();
  *watch_of_thread = {};
  begin_window(*watch_of_thread);
}

void note_fallback() {
  Watch* watch = watch_of_thread;
  if (watch == nullptr || ++watch->fallbacks < kWindow) return;
  const Counters now = pending.counters();
  const std::uint64_t taken = now.intercepted - watch->at_begin.intercepted;
  const std::uint64_t flushes = now.flushes - watch->at_begin.flushes;
  if (taken > kFlushCost * flushes + kWindow / kPassed) {
    watch->length = kShortest;
    begin_window(*watch);
    return;
  }
  watch->rests = true;
  watch->calls = 0;
  watch->until = Clock::now() + watch->length;
  watch->length = std::min(kLonger * watch->length, kLongest);
  c10::impl::tls_set_dispatch_key_included(kModeKey, false);
}

bool try_to_wake() {
  Watch* watch = watch_of_thread;
  if (watch == nullptr || !watch->rests) return false;
  if (++watch->calls % kCallsALook != 0) return false;
  if (watch->calls < kCalls && Clock::now() < watch->until) return false;
  watch->rests = false;
  begin_window(*watch);
  c10::impl::tls_set_dispatch_key_included(kModeKey, true);
  return true;
}

}  // namespace gpuos::bridge
