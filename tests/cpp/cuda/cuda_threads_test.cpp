// The threads of the CUDA backend, without a device.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <thread>

#include "base/control_thread.h"
#include "cuda/bursts.h"
#include "cuda/watchdog.h"
#include "deadlines.h"
#include "gpuos/error.h"
#include "ring_support.h"

namespace gpuos::cu {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kCapacity = 64;

class WatchdogTest : public testing::Test {
 protected:
  void begin(std::uint64_t position, std::uint32_t record = 0) {
    memory_.started[ring_.place_of(position)] =
        abi::started_word(ring_.tag_of(position), record);
  }
  /// Returns the place of a single task, or of a member of the chain there.
  static Place place_of(std::uint64_t position, std::uint32_t record = 0) {
    return {.first = position, .batch_begin = position, .member = record};
  }
  /// Returns the watchdog's report after looks that exceed its limit.
  std::optional<std::string> look() {
    for (int i = 0; i < 5; ++i) {
      if (auto names = watchdog_.find_stuck()) return names;
      std::this_thread::sleep_for(30ms);
    }
    return watchdog_.find_stuck();
  }

  RingArrays memory_{kCapacity};
  Ring ring_ = memory_.make();
  std::array<Ring*, 2> rings_{&ring_, &ring_};
  Watchdog watchdog_{rings_, 100ms};
};

TEST_F(WatchdogTest, NamesATaskThatDoesNotEnd) {
  const auto first = ring_.open_batch(1);
  const auto second = ring_.open_batch(1);
  watchdog_.add(0, place_of(*first), 1, "fine");
  watchdog_.add(0, place_of(*second), 1, "bad");
  EXPECT_EQ(look(), std::nullopt) << "nothing has begun";
  begin(*second);
  EXPECT_EQ(watchdog_.suspects(), "bad");
  EXPECT_EQ(look(), "bad");
}

TEST_F(WatchdogTest, GetsStricterAndNeverMoreLenient) {
  const auto task = ring_.open_batch(1);
  watchdog_.add(0, place_of(*task), 1, "bad");
  begin(*task);
  watchdog_.limit_tasks(1h);
  EXPECT_EQ(watchdog_.limit(), 100ms);
  watchdog_.limit_tasks(10ms);
  EXPECT_EQ(watchdog_.find_stuck(), std::nullopt) << "the first look";
  std::this_thread::sleep_for(30ms);
  EXPECT_EQ(watchdog_.find_stuck(), "bad");
}

TEST_F(WatchdogTest, ForgetsFinishedTasks) {
  const auto batch = ring_.open_batch(1);
  watchdog_.add(1, place_of(*batch), 1, "fine");
  begin(*batch);
  EXPECT_FALSE(watchdog_.is_empty());
  ring_.mark_done(*batch);
  EXPECT_EQ(look(), std::nullopt);
  EXPECT_TRUE(watchdog_.is_empty());
  EXPECT_EQ(watchdog_.suspects(), "");
}

// Each task is shorter than the limit, all together are not.
TEST_F(WatchdogTest, ALongBatchIsNotStuckWhileItsTasksBegin) {
  const auto batch = ring_.open_batch(12);
  watchdog_.add(0, place_of(*batch), 6, "one");
  watchdog_.add(0, {.first = *batch + 6, .batch_begin = *batch}, 6, "two");
  for (std::uint64_t task = 0; task < 12; ++task) {
    begin(*batch + task);
    EXPECT_EQ(watchdog_.find_stuck(), std::nullopt) << task;
    std::this_thread::sleep_for(15ms);
  }
  EXPECT_EQ(look(), "one or two");
}

// They run one after the other, so one does not end. A fault comes late.
TEST_F(WatchdogTest, NamesTheMemberThatAChainCameTo) {
  const auto chain = ring_.open_batch(1);
  const std::pair<std::uint32_t, const char*> members[] = {
      {0, "first"}, {1, "second"}, {70, "third"}, {80, "fourth"}};
  for (const auto& [record, name] : members)
    watchdog_.add(1, place_of(*chain, record), 1, name);
  EXPECT_EQ(watchdog_.suspects(), "first or fourth or second or third");
  begin(*chain, 0);
  EXPECT_EQ(watchdog_.suspects(), "first");
  EXPECT_EQ(look(), "first");
  // A gap may precede the first record of a member.
  for (const std::uint32_t record : {1, 64}) {
    begin(*chain, record);
    EXPECT_EQ(watchdog_.suspects(), "first or second");
    EXPECT_EQ(look(), "second");
  }
  begin(*chain, 72);
  EXPECT_EQ(watchdog_.suspects(), "first or second or third");
  EXPECT_EQ(look(), "third");
}

TEST_F(WatchdogTest, AChainIsNotStuckWhileItsMembersBegin) {
  const auto chain = ring_.open_batch(1);
  for (std::uint32_t record = 0; record < 12; ++record)
    watchdog_.add(0, place_of(*chain, record), 1, "one");
  for (std::uint32_t record = 0; record < 12; ++record) {
    begin(*chain, record);
    EXPECT_EQ(watchdog_.find_stuck(), std::nullopt) << record;
    std::this_thread::sleep_for(15ms);
  }
  EXPECT_EQ(look(), "one");
}

TEST(WatchdogThread, LooksUntilThereIsNothingLeftAndAgainWhenCalled) {
  std::atomic<int> looks{0};
  std::atomic<int> left{3};
  WatchdogThread thread(10ms, [&] {
    ++looks;
    return left > 0 && --left > 0;
  });
  EXPECT_TRUE(becomes_true([&] { return looks >= 3; }));
  std::this_thread::sleep_for(30ms);
  EXPECT_EQ(looks, 3) << "it sleeps";
  left = 2;
  thread.notify();
  EXPECT_TRUE(becomes_true([&] { return looks == 5; }));
}

TEST(ControlThread, RethrowsTheErrorOfItsSetup) {
  EXPECT_THROW(
      ControlThread([] { throw Error("no"); }, [] { return std::nullopt; }),
      Error);
}

TEST(ControlThread, IsAbandonedInACallThatDoesNotReturn) {
  struct Call {
    std::promise<void> may_return;
    std::promise<void> is_over;
  };
  auto call = std::make_shared<Call>();
  // It outlives the thread, as the class asks for. It is static, so it is no
  // leak.
  static auto* thread = new ControlThread([] {}, [] { return std::nullopt; });
  Health health;
  std::jthread killer([&] {
    std::this_thread::sleep_for(20ms);
    health.die("bad", "bad: it does not end");
  });
  EXPECT_THROW(thread->run(
                   [call] {
                     call->may_return.get_future().wait();
                     call->is_over.set_value();
                   },
                   [&] { health.check(); }),
               TaskError);
  EXPECT_FALSE(thread->stop(20ms));
  EXPECT_THROW(thread->run([] {}, [] {}), QueueClosed);
  EXPECT_TRUE(thread->stop(20ms)) << "once is enough";
  call->may_return.set_value();
  call->is_over.get_future().wait();
}

TEST(ControlThread, EndsWithinItsGraceOtherwise) {
  ControlThread thread([] {}, [] { return std::nullopt; });
  int runs = 0;
  thread.run([&] { ++runs; }, [] {});
  EXPECT_THROW(thread.run([] { throw Error("no"); }, [] {}), Error);
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(thread.stop(kDeadline));
}

TEST(FlushFailures, ReportsToTheBatchAlwaysAndToOthersOnce) {
  FlushFailures failures;
  EXPECT_NO_THROW(failures.check(7));
  EXPECT_NO_THROW(failures.check_all());
  for (const std::uint64_t begin : {7, 9})
    failures.add(begin, std::make_exception_ptr(CudaError(901, "f", "spoilt")));
  EXPECT_NO_THROW(failures.check(8));
  EXPECT_THROW(failures.check(7), CudaError);
  EXPECT_THROW(failures.check(7), CudaError);
  EXPECT_THROW(failures.check_all(), CudaError) << "9";
  EXPECT_NO_THROW(failures.check_all());
}

}  // namespace
}  // namespace gpuos::cu
