#include "flush/backoff.h"

#include <time.h>

#include <algorithm>
#include <chrono>

#include "flush/costs.h"
#include "flush/pass_through.h"
#include "flush/pending.h"
#include "pytorch/keys.h"

namespace gpuos::bridge {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kWindow = 256;  // operators left to PyTorch
constexpr std::chrono::milliseconds kShortest{200};
constexpr std::chrono::milliseconds kLongest{2000};
constexpr int kLonger = 3;  // factor to the pause before

// A window ends when its flushes were late by this time in total: the workers
// then have no processor to run on. The first flushes of a thread are not
// counted, because nothing is ready for them.
constexpr std::int64_t kMostLateNs = 20'000'000;
constexpr std::uint32_t kFirstFlushes = 4;

// Calls of overrides that end the back-off. Many calls in quick succession may
// be another part of the program. The number grows each time that this did not
// pay.
constexpr std::uint32_t kCalls = 1024;
constexpr std::uint32_t kMostCalls = 64 * kCalls;
constexpr std::uint32_t kMoreCalls = 4;    // times
constexpr std::int64_t kCallNs = 20'000;   // twice a launch of PyTorch's
constexpr std::uint32_t kCallsALook = 16;  // at the clock

struct BackoffState {
  std::uint32_t left = 0;     // operators of this window
  std::uint32_t flushes = 0;  // that were late or not, of all windows
  std::int64_t late_ns = 0;   // of this window
  std::int64_t saved_at_begin = 0;
  std::uint32_t fixed = 0;  // see begin_fixed()
  bool is_backing_off = false;
  std::uint32_t calls = 0;  // of overrides, since it backed off
  std::uint32_t wanted_calls = kCalls;
  std::int64_t calls_since_ns = 0;
  std::chrono::milliseconds length = kShortest;
  Clock::time_point until{};
};

thread_local BackoffState* state_of_thread GPUOS_NEAR_TLS = nullptr;

BackoffState& state_here() {
  if (state_of_thread == nullptr) watch_anew();
  return *state_of_thread;
}

void begin_window(BackoffState& state) {
  state.left = 0;
  state.late_ns = 0;
  state.saved_at_begin = pending.counters().saved;
}

/// Returns the thread's CPU time. On a busy machine the wall time between two
/// calls may be long.
std::int64_t thread_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

void begin_calls(BackoffState& state) {
  state.calls = 0;
  state.calls_since_ns = thread_ns();
}

void back_off(BackoffState& state) {
  state.is_backing_off = true;
  begin_calls(state);
  state.until = Clock::now() + state.length;
  state.length = std::min(kLonger * state.length, kLongest);
  c10::impl::tls_set_dispatch_key_included(kModeKey, false);
  pending.forget_values(false);
}

void wake(BackoffState& state) {
  state.is_backing_off = false;
  begin_window(state);
}

/// Returns the savings of the window's operators, less the cost of those that
/// passed through.
std::int64_t gain_of(const BackoffState& state) {
  return pending.counters().saved - state.saved_at_begin - state.late_ns -
         kPassedNs * state.left;
}

bool is_over(BackoffState& state) {
  if (Clock::now() >= state.until) return true;
  if (state.calls < state.wanted_calls) return false;
  const bool is_dense =
      thread_ns() - state.calls_since_ns < kCallNs * state.calls;
  begin_calls(state);
  if (is_dense)
    state.wanted_calls = std::min(kMoreCalls * state.wanted_calls, kMostCalls);
  return is_dense;
}

}  // namespace

constinit thread_local std::uint32_t calls_to_look = kCallsALook;

bool begin_watching() {
  // Windows and pauses continue from scheduler to scheduler, because a program
  // may enter one for each step.
  BackoffState& state = state_here();
  if (state.is_backing_off && state.fixed == 0 && Clock::now() < state.until)
    return false;
  if (state.is_backing_off) wake(state);
  return true;
}

void watch_anew() {
  if (state_of_thread == nullptr) state_of_thread = new BackoffState();
  *state_of_thread = {.fixed = state_of_thread->fixed};
  begin_window(*state_of_thread);
}

void begin_fixed() {
  BackoffState& state = state_here();
  ++state.fixed;
  if (!state.is_backing_off) return;
  wake(state);
  c10::impl::tls_set_dispatch_key_included(kModeKey, true);
}

void end_fixed() {
  BackoffState& state = state_here();
  if (state.fixed != 0) --state.fixed;
}

bool is_fixed() noexcept {
  return state_of_thread != nullptr && state_of_thread->fixed != 0;
}

void note_left() {
  BackoffState* state = state_of_thread;
  if (state == nullptr || state->is_backing_off || ++state->left < kWindow)
    return;
  if (state->fixed == 0 && gain_of(*state) <= 0) {
    back_off(*state);
    return;
  }
  state->length = kShortest;
  state->wanted_calls = kCalls;
  begin_window(*state);
}

FlushWatch::~FlushWatch() {
  BackoffState* state = state_of_thread;
  if (state == nullptr || state->is_backing_off || state->fixed != 0 ||
      !weighs_costs())
    return;
  const std::chrono::nanoseconds took = Clock::now() - begin_;
  if (++state->flushes <= kFirstFlushes || took.count() <= due_ns_) return;
  state->late_ns += took.count() - due_ns_;
  if (state->late_ns >= kMostLateNs && gain_of(*state) <= 0) back_off(*state);
}

bool try_to_wake() {
  BackoffState* state = state_of_thread;
  calls_to_look = kCallsALook;
  if (state == nullptr || !state->is_backing_off) return false;
  state->calls += kCallsALook;
  if (!is_over(*state)) return false;
  wake(*state);
  c10::impl::tls_set_dispatch_key_included(kModeKey, true);
  return true;
}

void run_before_pass(const Cause& op, bool is_apart) {
  run_by_pytorch.add(op);
  pending.count_left();
  note_left();
  if (pending.is_empty()) return;
  if (!is_apart || !pending.may_wait())
    pending.flush(op);
  else
    pending.start_if_large();
}

}  // namespace gpuos::bridge
