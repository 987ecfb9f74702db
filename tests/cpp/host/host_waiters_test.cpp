// Threads that wait run tasks themselves.
#include <sched.h>
#include <unistd.h>

#include "host_backend_driver.h"

namespace gpuos::host {
namespace {

constexpr std::uint32_t kWhoSlot = kFirstFreeSlot + 1;

// Says that it runs, until the word that its first input points at is not 0.
OperatorDefinition busy() {
  return {.name = "busy",
          .source =
              "GPUOS_OPERATOR(busy) {\n"
              "  *task.pointer<volatile int>(0) = 1;\n"
              "  auto* go = task.pointer<volatile int>(1);\n"
              "  while (*go == 0) {}\n"
              "}"};
}

// Says which thread ran it.
OperatorDefinition who() {
  return {.name = "who",
          .source =
              "#include <unistd.h>\n"
              "GPUOS_OPERATOR(who) {\n"
              "  *task.pointer<int>(0) = static_cast<int>(gettid());\n"
              "}"};
}

/// A test whose only worker runs a task that ends on request.
class BusyWorker : public testing::Test {
 protected:
  BusyWorker() {
    driver_.load(kFirstFreeSlot, busy());
    driver_.load(kWhoSlot, who());
  }
  ~BusyWorker() override { go_ = 1; }

  BatchRef occupy(u16 flags) {
    Driver::Job job{.slot = kFirstFreeSlot, .flags = flags};
    job.out = reinterpret_cast<u64>(&runs_);
    job.a = reinterpret_cast<u64>(&go_);
    const BatchRef batch = driver_.submit({job});
    EXPECT_TRUE(becomes_true([&] { return runs_ != 0; }));
    return batch;
  }
  BatchRef ask(int& thread, u16 flags = 0,
               std::uint64_t after = Driver::kNone) {
    Driver::Job job{.slot = kWhoSlot, .flags = flags};
    job.out = reinterpret_cast<u64>(&thread);
    return driver_.submit({job}, after);
  }

  volatile int runs_ = 0;
  volatile int go_ = 0;
  Driver driver_{options(1)};
};

TEST_F(BusyWorker, LeavesTasksToTheThreadThatWaits) {
  // It is not known to be a whole operator, which waiting threads do not run
  // with.
  const BatchRef busy = occupy(0);
  for (int round = 0; round < 100; ++round) {
    int first = 0;
    int second = 0;
    ask(first);
    ASSERT_TRUE(driver_.wait(ask(second)));
    EXPECT_EQ(first, gettid());
    EXPECT_EQ(second, gettid());
  }
  EXPECT_FALSE(driver_.ring().is_done(busy.begin));
}

TEST_F(BusyWorker, IsLeftWithTasksByOneWhoseTimeIsOver) {
  occupy(0);
  int thread = 0;
  const BatchRef batch = ask(thread);
  for (std::uint64_t turn = 1; turn < 40; ++turn)
    driver_.backend.pause(batch, driver_.ring().head(), turn, Clock::now());
  EXPECT_FALSE(driver_.ring().is_done(batch.begin));
  EXPECT_TRUE(driver_.wait(batch));
}

TEST_F(BusyWorker, TakesTheTaskThatNeedsItsResult) {
  const BatchRef busy = occupy(0);
  int thread = 0;
  const BatchRef next = ask(thread, 0, busy.begin);
  std::thread ender([this] {
    std::this_thread::sleep_for(20ms);
    go_ = 1;
  });
  EXPECT_TRUE(driver_.wait(next));
  EXPECT_NE(thread, 0);
  EXPECT_NE(thread, gettid());
  ender.join();
}

TEST_F(BusyWorker, WithAWholeOperatorKeepsAllThatMayWaitForIt) {
  occupy(abi::kTraced);
  int thread = 0;
  const BatchRef next = ask(thread);
  EXPECT_FALSE(driver_.wait(next, 50ms));
  EXPECT_FALSE(driver_.ring().is_done(next.begin));
  go_ = 1;
  EXPECT_TRUE(driver_.wait(next));
}

TEST_F(BusyWorker, RunsWholeOperatorsItself) {
  for (int round = 0; round < 100; ++round) {
    int thread = 0;
    ASSERT_TRUE(driver_.wait(ask(thread, abi::kTraced)));
    EXPECT_NE(thread, 0);
    EXPECT_NE(thread, gettid());
  }
}

bool are_asleep(Driver& driver) {
  Stats stats;
  driver.backend.fill_stats(stats);
  return !stats.is_resident;
}

void run_what_nobody_awaits(Driver& driver) {
  const float one = 1;
  float sum = 0;
  float expected = 0;
  const auto add = [&] {
    ++expected;
    return driver.submit({Driver::add(&sum, &sum, &one, 1)});
  };
  for (int round = 0; round < 10; ++round) {
    // From now on a waiter is expected.
    const BatchRef awaited = add();
    ASSERT_TRUE(becomes_true([&] { return are_asleep(driver); }));
    ASSERT_TRUE(driver.wait(awaited));
    ASSERT_TRUE(driver.wait(add()));
    const BatchRef left = add();
    ASSERT_TRUE(
        becomes_true([&] { return driver.ring().is_done(left.begin); }));
    EXPECT_EQ(sum, expected);
  }
}

TEST(HostWaiters, MayStayAwayAlthoughTheyWereExpected) {
  Driver driver(options(2));
  run_what_nobody_awaits(driver);
}

/// Restricts this thread and its new threads to one processor.
class OneProcessor {
 public:
  OneProcessor() {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof(one), &one);
  }
  ~OneProcessor() { sched_setaffinity(0, sizeof(before_), &before_); }

 private:
  cpu_set_t before_;
};

TEST(HostWaiters, RunAllWithOneProcessor) {
  const OneProcessor one_processor;
  // Each task has its own element, because nothing orders these tasks.
  std::vector<float> sums(5000);
  Driver driver(options(0));
  Stats stats;
  driver.backend.fill_stats(stats);
  EXPECT_EQ(stats.workers, 1u);
  run_what_nobody_awaits(driver);
  const float one = 1;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    float* const sum = &sums[i];
    const BatchRef batch = driver.submit({Driver::add(sum, sum, &one, 1)});
    if (i % 100 != 99) continue;
    ASSERT_TRUE(driver.wait(batch));
  }
}

// Waiting threads run each other's tasks, together with workers.
TEST(HostWaiters, TakeTasksOfOneAnother) {
  Driver driver(options(2, 256));
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  std::array<std::vector<float>, kThreads> sums;
  for (auto& own : sums) own.assign(16, 0);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&driver, &own = sums[static_cast<std::size_t>(t)]] {
      const float one = 1;
      std::vector<Driver::Job> jobs;
      for (float& sum : own) jobs.push_back(Driver::add(&sum, &sum, &one, 1));
      for (int i = 0; i < 300; ++i) {
        BatchRef batch = driver.submit(jobs);
        batch = driver.submit(jobs, batch.begin);
        batch = driver.submit(jobs, batch.begin);
        ASSERT_TRUE(driver.wait(batch));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& own : sums) {
    for (const float sum : own) EXPECT_EQ(sum, 900.0f);
  }
}

}  // namespace
}  // namespace gpuos::host
