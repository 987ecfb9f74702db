// Tests which of the host's workers is woken.
#include "host/idle_workers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "deadlines.h"

namespace gpuos::host {
namespace {

/// One of two workers looks for tasks, the other sleeps.
class OneSleeps : public ::testing::Test {
 protected:
  OneSleeps() {
    const auto end = std::chrono::steady_clock::now() + kDeadline;
    while (idle_.sleeping() == 0 && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
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

}  // namespace
}  // namespace gpuos::host
