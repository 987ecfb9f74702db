#include "base/control_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "deadlines.h"

namespace gpuos {
namespace {

class ControlThreadTest : public testing::Test {
 protected:
  std::atomic<int> ticks_{0};
  ControlThread control_{[] {},
                         [this]() -> std::optional<std::chrono::microseconds> {
                           ++ticks_;
                           return std::nullopt;
                         }};
};

TEST_F(ControlThreadTest, LooksAfterThingsBetweenTwoJobs) {
  std::atomic<bool> has_begun{false};
  std::promise<void> is_queued;
  int ticks_before = 0, ticks_between = 0;
  std::jthread first([&] {
    control_.run(
        [&] {
          has_begun = true;
          is_queued.get_future().wait_for(kDeadline);
          ticks_before = ticks_;
        },
        [] {});
  });
  while (!has_begun) std::this_thread::yield();
  // A waiting thread asks for the first time when its job is queued.
  const auto note_queued = [&, is_told = false]() mutable {
    if (!is_told) is_queued.set_value();
    is_told = true;
  };
  control_.run([&] { ticks_between = ticks_ - ticks_before; }, note_queued);
  EXPECT_EQ(ticks_between, 1);
}

}  // namespace
}  // namespace gpuos
