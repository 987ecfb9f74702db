// Tests which of the host's workers is woken, and how long one looks for tasks.
#include "host/idle_workers.h"

#include <gtest/gtest.h>

#include <thread>

#include "deadlines.h"

namespace gpuos::host {
namespace {

/// One of two workers looks for tasks, the other sleeps.
class OneSleeps : public ::testing::Test {
 protected:
  OneSleeps() {
    EXPECT_TRUE(becomes_true([&] { return idle_.sleeping() != 0; }));
  }
  ~OneSleeps() override {
    idle_.close();
    thread_.join();
  }

  IdleWorkers idle_{2};
  std::thread thread_{[this] { idle_.sleep([] { return false; }); }};
};

TEST_F(OneSleeps, UntilMoreIsLeftThanOthersLookFor) {
  ASSERT_EQ(idle_.sleeping(), 1u);
  idle_.announce();
  idle_.wake_for(0, 8);
  EXPECT_EQ(idle_.sleeping(), 1u);
  idle_.wake_for(1, 8);
  EXPECT_EQ(idle_.sleeping(), 0u);
}

TEST_F(OneSleeps, WhereOnlyOneMayPoll) {
  ASSERT_EQ(idle_.sleeping(), 1u);
  idle_.wake_for(100, 1);
  EXPECT_EQ(idle_.sleeping(), 1u);
}

void poll_in_vain(SpinPolicy& patience, std::uint32_t times) {
  for (std::uint32_t i = 0; i < times; ++i) patience.note(true);
}

TEST(SpinPolicy, LastsWhileItIsRewarded) {
  SpinPolicy patience;
  for (int i = 0; i < 100; ++i) {
    poll_in_vain(patience, SpinPolicy::kMaxFailures - 1);
    EXPECT_TRUE(patience.should_spin());
    patience.note(false);
  }
}

TEST(SpinPolicy, FailedSpinningIsRetriedSometimes) {
  SpinPolicy patience;
  poll_in_vain(patience, SpinPolicy::kMaxFailures);
  std::uint32_t tries = 0;
  for (std::uint32_t i = 0; i < 10 * SpinPolicy::kRetry; ++i)
    tries += patience.should_spin() ? 1 : 0;
  EXPECT_EQ(tries, 10u);
}

TEST(SpinPolicy, ComesBackWithOneSuccess) {
  SpinPolicy patience;
  poll_in_vain(patience, 1000);
  patience.note(false);
  EXPECT_TRUE(patience.should_spin());
  EXPECT_TRUE(patience.should_spin());
}

}  // namespace
}  // namespace gpuos::host
