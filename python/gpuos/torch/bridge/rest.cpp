#include "rest.h"

#include <time.h>

#include <algorithm>
#include <chrono>

#include "costs.h"
#include "keys.h"
#include "pending.h"

namespace gpuos::bridge {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kWindow = 256;  // operators left to PyTorch
constexpr std::chrono::milliseconds kShortest{200};
constexpr std::chrono::milliseconds kLongest{2000};
constexpr int kLonger = 3;  // each rest than the one before

// Flushes that were late by so much in one window end it: the system has no
// processor for those that should run them. The first flushes of a thread find
// nothing ready.
constexpr std::int64_t kMostLateNs = 20'000'000;
constexpr std::uint32_t kFirstFlushes = 4;

// Calls of the front that end a rest: another part of the program, perhaps, if
// there is little between them. More each time that this was in vain.
constexpr std::uint32_t kCalls = 1024;
constexpr std::uint32_t kMostCalls = 64 * kCalls;
constexpr std::uint32_t kMoreCalls = 4;    // times
constexpr std::int64_t kCallNs = 20'000;   // twice a launch of PyTorch's
constexpr std::uint32_t kCallsALook = 16;  // at the clock

struct Watch {
  std::uint32_t left = 0;     // operators of this window
  std::uint32_t flushes = 0;  // that were late or not, of all windows
  std::int64_t late_ns = 0;   // of this window
  std::int64_t saved_at_begin = 0;
  std::uint32_t fixed = 0;  // see begin_fixed()
  bool rests = false;
  std::uint32_t calls = 0;  // of the front, in this rest
  std::uint32_t wanted_calls = kCalls;
  std::int64_t calls_since_ns = 0;
  std::chrono::milliseconds length = kShortest;
  Clock::time_point until{};
};

thread_local Watch* watch_of_thread GPUOS_NEAR_TLS = nullptr;

Watch& watch_here() {
  if (watch_of_thread == nullptr) watch_anew();
  return *watch_of_thread;
}

void begin_window(Watch& watch) {
  watch.left = 0;
  watch.late_ns = 0;
  watch.saved_at_begin = pending.counters().saved;
}

/// The thread's own time: on a busy machine calls that follow each other may
/// lie far apart.
std::int64_t thread_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

void begin_calls(Watch& watch) {
  watch.calls = 0;
  watch.calls_since_ns = thread_ns();
}

void rest(Watch& watch) {
  watch.rests = true;
  begin_calls(watch);
  watch.until = Clock::now() + watch.length;
  watch.length = std::min(kLonger * watch.length, kLongest);
  c10::impl::tls_set_dispatch_key_included(kModeKey, false);
}

void wake(Watch& watch) {
  watch.rests = false;
  begin_window(watch);
}

/// What the window's operators saved, less what those cost that were left.
std::int64_t gain_of(const Watch& watch) {
  return pending.counters().saved - watch.saved_at_begin - watch.late_ns -
         kPassedNs * watch.left;
}

bool is_over(Watch& watch) {
  if (Clock::now() >= watch.until) return true;
  if (watch.calls < watch.wanted_calls) return false;
  const bool is_dense =
      thread_ns() - watch.calls_since_ns < kCallNs * watch.calls;
  begin_calls(watch);
  if (is_dense)
    watch.wanted_calls = std::min(kMoreCalls * watch.wanted_calls, kMostCalls);
  return is_dense;
}

}  // namespace

constinit thread_local std::uint32_t calls_to_look = kCallsALook;

bool begin_watching() {
  // Windows and rests go on from scheduler to scheduler: a program may enter
  // one for each of its steps.
  Watch& watch = watch_here();
  if (watch.rests && watch.fixed == 0 && Clock::now() < watch.until)
    return false;
  if (watch.rests) wake(watch);
  return true;
}

void watch_anew() {
  if (watch_of_thread == nullptr) watch_of_thread = new Watch();
  *watch_of_thread = {.fixed = watch_of_thread->fixed};
  begin_window(*watch_of_thread);
}

void begin_fixed() {
  Watch& watch = watch_here();
  ++watch.fixed;
  if (!watch.rests) return;
  wake(watch);
  c10::impl::tls_set_dispatch_key_included(kModeKey, true);
}

void end_fixed() {
  Watch& watch = watch_here();
  if (watch.fixed != 0) --watch.fixed;
}

bool is_fixed() noexcept {
  return watch_of_thread != nullptr && watch_of_thread->fixed != 0;
}

void note_left() {
  Watch* watch = watch_of_thread;
  if (watch == nullptr || watch->rests || ++watch->left < kWindow) return;
  if (watch->fixed == 0 && gain_of(*watch) <= 0) {
    rest(*watch);
    return;
  }
  watch->length = kShortest;
  watch->wanted_calls = kCalls;
  begin_window(*watch);
}

FlushWatch::~FlushWatch() {
  Watch* watch = watch_of_thread;
  if (watch == nullptr || watch->rests || watch->fixed != 0 || !weighs_costs())
    return;
  const std::chrono::nanoseconds took = Clock::now() - begin_;
  if (++watch->flushes <= kFirstFlushes || took.count() <= due_ns_) return;
  watch->late_ns += took.count() - due_ns_;
  if (watch->late_ns >= kMostLateNs && gain_of(*watch) <= 0) rest(*watch);
}

bool try_to_wake() {
  Watch* watch = watch_of_thread;
  calls_to_look = kCallsALook;
  if (watch == nullptr || !watch->rests) return false;
  watch->calls += kCallsALook;
  if (!is_over(*watch)) return false;
  wake(*watch);
  c10::impl::tls_set_dispatch_key_included(kModeKey, true);
  return true;
}

}  // namespace gpuos::bridge
