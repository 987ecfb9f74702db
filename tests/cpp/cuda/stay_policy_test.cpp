#include "cuda/resident_workers.h"

#include <gtest/gtest.h>

namespace gpuos::cu {
namespace {

using namespace std::chrono_literals;

// Waits of `tasks` tasks until the workers shall stay, at most `most`.
int waits_until_stay(StayPolicy& policy, std::uint32_t tasks, int most) {
  for (int i = 1; i <= most; ++i) {
    if (policy.note_wait(tasks)) return i;
  }
  return 0;
}

TEST(StayPolicy, IsEarnedByWaitsInTurns) {
  StayPolicy policy(1h);
  const int waits = waits_until_stay(policy, 1, 100);
  EXPECT_GE(waits, static_cast<int>(StayPolicy::kStreak));
  EXPECT_LE(waits, static_cast<int>(StayPolicy::kStreak) + 1);
}

TEST(StayPolicy, ManyTasksEarnNothing) {
  StayPolicy policy(1h);
  EXPECT_EQ(waits_until_stay(policy, StayPolicy::kFewTasks + 1, 100), 0);
}

TEST(StayPolicy, PausesOfALingerEarnNothing) {
  StayPolicy policy(0us);
  EXPECT_EQ(waits_until_stay(policy, 1, 100), 0);
}

TEST(StayPolicy, AStayThatServedFewMakesTheNextHarder) {
  StayPolicy policy(1h);
  const int first = waits_until_stay(policy, 1, 100);
  policy.end_stay(StayPolicy::kWorthwhile - 1);
  const int second = waits_until_stay(policy, 1, 1000);
  EXPECT_GE(second, first * 3);
  policy.end_stay(StayPolicy::kWorthwhile);
  EXPECT_LE(waits_until_stay(policy, 1, 100), first);
}

}  // namespace
}  // namespace gpuos::cu
