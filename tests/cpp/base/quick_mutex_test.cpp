#include "base/quick_mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "deadlines.h"

namespace gpuos {
namespace {

using std::chrono::milliseconds;

TEST(QuickMutex, IsTakenOnce) {
  QuickMutex mutex;
  EXPECT_TRUE(mutex.try_lock());
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(QuickMutex, OneThreadAtATime) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 50'000;
  QuickMutex mutex;
  int count = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        const std::lock_guard lock(mutex);
        ++count;
      }
    });
  threads.clear();
  EXPECT_EQ(count, kThreads * kRounds);
}

// The owner keeps it longer than a thread polls. The others sleep, and each
// gets it.
TEST(QuickMutex, SleepersAllGetIt) {
  QuickMutex mutex;
  int count = 0;
  std::vector<std::jthread> threads;
  {
    const std::lock_guard lock(mutex);
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        const std::lock_guard own(mutex);
        ++count;
        std::this_thread::sleep_for(milliseconds(1));
      });
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_EQ(count, 0);
  }
  threads.clear();
  EXPECT_EQ(count, 8);
}

TEST(QuickMutex, GoesWithAConditionVariable) {
  QuickMutex mutex;
  std::condition_variable_any changed;
  bool is_set = false;
  std::jthread setter([&] {
    const std::lock_guard lock(mutex);
    is_set = true;
    changed.notify_all();
  });
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, kDeadline, [&] { return is_set; }));
}

}  // namespace
}  // namespace gpuos
