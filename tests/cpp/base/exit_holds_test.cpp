#include "base/process_exit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace gpuos {
namespace {

using std::chrono::seconds;

std::atomic<bool> holds{false};
std::atomic<bool> is_done{false};

constexpr int kWaited = 7;
constexpr int kLeft = 8;

/// Ends this process while another thread holds its end for `time`.
[[noreturn]] void end_held(HoldsExit::For what, seconds time) {
  static_cast<void>(
      std::atexit([]() noexcept { _exit(is_done ? kWaited : kLeft); }));
  std::thread([=] {
    const HoldsExit hold{what};
    holds = true;
    std::this_thread::sleep_for(time);
    is_done = true;
  }).detach();
  while (!holds) std::this_thread::yield();
  std::exit(0);
}

TEST(ProcessExitDeathTest, WaitsForACompilerUntilItEnds) {
  EXPECT_EXIT(end_held(HoldsExit::For::kCompiler, seconds{7}),
              testing::ExitedWithCode(kWaited), "");
}

TEST(ProcessExitDeathTest, WaitsForTheDriverForALittle) {
  EXPECT_EXIT(end_held(HoldsExit::For::kDriver, seconds{1}),
              testing::ExitedWithCode(kWaited), "");
  EXPECT_EXIT(end_held(HoldsExit::For::kDriver, seconds{600}),
              testing::ExitedWithCode(kLeft), "");
}

}  // namespace
}  // namespace gpuos
