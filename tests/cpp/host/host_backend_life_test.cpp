#include <sys/resource.h>

#include "errors.h"
#include "host_backend_driver.h"

namespace gpuos::host {
namespace {

TEST(HostBackend, AnIdleBackendUsesNoProcessorTime) {
  Driver driver(options(4));
  const float one = 1;
  float sum = 0;
  ASSERT_TRUE(driver.wait(driver.submit({Driver::add(&sum, &sum, &one, 1)})));
  const auto used = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           std::chrono::microseconds(usage.ru_utime.tv_usec +
                                     usage.ru_stime.tv_usec);
  };
  // Workers look for tasks for a while before they sleep.
  EXPECT_TRUE(becomes_true([&] {
    const auto before = used();
    std::this_thread::sleep_for(1s);
    return used() - before < 5ms;
  }));
  Stats stats;
  driver.backend.fill_stats(stats);
  EXPECT_FALSE(stats.is_resident);
  EXPECT_EQ(stats.workers, 4u);
}

TEST(HostBackend, AnotherWorkerTakesWhatIsPublishedDuringALongTask) {
  Driver driver(options(2));
  driver.load(kFirstFreeSlot, waiter());
  volatile int go = 0;
  const float one = 1;
  float sum = 0;
  for (int round = 0; round < 20; ++round) {
    go = 0;
    Driver::Job job = Driver::add(&sum, const_cast<const float*>(&sum), &one, 1,
                                  kFirstFreeSlot);
    job.a = reinterpret_cast<u64>(&go);
    job.flags = abi::kTraced;
    const BatchRef stuck = driver.submit({job});
    for (int i = 0; i < 20; ++i)
      ASSERT_TRUE(
          driver.wait(driver.submit({Driver::add(&sum, &sum, &one, 1)})));
    EXPECT_FALSE(driver.ring().is_done(stuck.begin));
    go = 1;
    ASSERT_TRUE(driver.wait(stuck));
  }
  EXPECT_EQ(sum, 400.0f);
}

TEST(HostBackend, AnExceptionFailsItsBatchAndTheRestGoesOn) {
  Driver driver(options(2));
  driver.load(kFirstFreeSlot, thrower());
  const float one = 1;
  float sum = 0;
  Driver::Job bad = Driver::add(&sum, &sum, &one, 1, kFirstFreeSlot);
  const BatchRef failed = driver.submit({bad, bad});
  ASSERT_TRUE(driver.wait(driver.submit({Driver::add(&sum, &sum, &one, 1)})));
  for (int waiter = 0; waiter < 2; ++waiter) {
    try {
      driver.wait(failed);
      FAIL() << "expected TaskError";
    } catch (const TaskError& error) {
      EXPECT_EQ(error.operator_name(), "thrower");
      EXPECT_TRUE(says(error.what(), "no luck"));
    }
  }
  EXPECT_EQ(sum, 1.0f);
  EXPECT_NO_THROW(driver.backend.check_all());
  EXPECT_NO_THROW(driver.backend.stop());
}

TEST(HostBackend, FailuresDoNotPileUp) {
  FailureLog log;
  for (std::uint64_t i = 0; i <= FailureLog::kMaxFailures; ++i)
    log.add(i, "op", "failed");
  EXPECT_NO_THROW(log.check(0));
  EXPECT_THROW(log.check(1), TaskError);
  EXPECT_THROW(log.check(FailureLog::kMaxFailures), TaskError);
}

TEST(HostBackend, ATaskThatDoesNotEndMakesItDead) {
  RuntimeOptions impatient = options(2);
  impatient.watchdog = 100ms;
  // Outlives the test: the thread that runs the operator cannot be ended.
  static volatile int go = 0;
  static float sum = 0;
  Driver driver(impatient);
  driver.load(kFirstFreeSlot, waiter());
  Driver::Job job = Driver::add(&sum, &sum, &sum, 1, kFirstFreeSlot);
  job.a = reinterpret_cast<u64>(&go);
  job.flags = abi::kTraced;
  const BatchRef stuck = driver.submit({job});
  const auto before = Clock::now();
  try {
    driver.wait(stuck);
    FAIL() << "expected TaskError";
  } catch (const TaskError& error) {
    EXPECT_EQ(error.operator_name(), "waiter");
  }
  EXPECT_LT(Clock::now() - before, kDeadline);
  EXPECT_THROW(driver.backend.check_alive(), TaskError);
  EXPECT_THROW(driver.backend.check_all(), TaskError);
  Stats stats;
  driver.backend.fill_stats(stats);
  EXPECT_TRUE(stats.is_dead);
  const auto stop = Clock::now();
  driver.backend.stop();
  EXPECT_LT(Clock::now() - stop, kDeadline);
  go = 1;
}

TEST(HostBackend, PauseEndsAtTheDeadline) {
  Driver driver(options(1));
  const BatchRef never{0, 0, nullptr};
  const auto before = Clock::now();
  driver.backend.pause(never, 1, 1000, before + 20ms);
  const auto took = Clock::now() - before;
  EXPECT_GE(took, 10ms);
  EXPECT_LT(took, kDeadline);
}

TEST(HostBackend, HasNoStreams) {
  Driver driver(options(1));
  EXPECT_NO_THROW(driver.backend.route({}));
  EXPECT_THROW(driver.backend.route(Stream(nullptr)), InvalidArgument);
}

TEST(HostBackend, OnlyLargeTasksAreCut) {
  Driver driver(options(1));
  EXPECT_GE(driver.backend.tile_elems(64, 4), 64u);
  EXPECT_GE(driver.backend.tile_elems(40000, 4), 40000u);
  const u64 large = 1ull << 36;
  for (const u64 elems : {u64{1} << 20, large}) {
    const std::uint64_t tile = driver.backend.tile_elems(elems, 4);
    EXPECT_LT(tile, elems);
    EXPECT_LE(tile, u64{1} << 31);
    EXPECT_LE(elems / tile, 1024u);
  }
}

TEST(HostBackend, MemoryIsAlignedAndCopied) {
  Driver driver(options(1));
  for (const std::size_t bytes : {1, 63, 64, 4096}) {
    void* data = driver.backend.allocate(bytes);
    EXPECT_EQ(reinterpret_cast<u64>(data) % 64, 0u);
    std::vector<char> from(bytes, 'x'), back(bytes);
    driver.backend.copy_to_device(data, from.data(), bytes);
    driver.backend.copy_to_host(back.data(), data, bytes);
    EXPECT_EQ(from, back);
    driver.backend.deallocate(data);
  }
  EXPECT_NO_THROW(driver.backend.copy_to_host(nullptr, nullptr, 0));
}

TEST(HostBackend, StopsTwiceAndQuietly) {
  Driver driver(options(3));
  driver.backend.stop();
  driver.backend.stop();
}

}  // namespace
}  // namespace gpuos::host
