#include "host/host_backend.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "gpuos/error.h"

namespace gpuos::host {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kAddF32 = 0;
constexpr std::uint32_t kFirstFreeSlot = 24;

RuntimeOptions options(std::uint32_t workers, std::uint32_t capacity = 1024) {
  RuntimeOptions options;
  options.backend = "host";
  options.workers = workers;
  options.queue_capacity = capacity;
  return options;
}

/// What the facade does, without its checks and its search for hazards.
class Driver {
 public:
  explicit Driver(const RuntimeOptions& options,
                  std::uint64_t first_position = 0)
      : backend(options, first_position) {}

  struct Job {
    std::uint32_t slot = kAddF32;
    u64 out = 0, a = 0, b = 0;
    std::uint32_t count = 1;
    u16 flags = 0;
  };

  template <typename T>
  static Job add(T* out, const T* a, const T* b, std::uint32_t count,
                 std::uint32_t slot = kAddF32) {
    return {slot, bits(out), bits(a), bits(b), count};
  }

  BatchRef submit(const std::vector<Job>& jobs, std::uint64_t after = kNone) {
    const std::lock_guard lock(mutex);
    const Place place = reserve(static_cast<std::uint32_t>(jobs.size()));
    std::uint64_t position = place.first;
    for (const Job& job : jobs) {
      abi::Payload payload = payload_of(place, position);
      payload.op = static_cast<u16>(job.slot);
      payload.flags = job.flags;
      payload.count = job.count;
      payload.args[0] = job.out;
      payload.args[1] = job.a;
      payload.args[2] = job.b;
      if (after != kNone)
        payload.wait_distance = static_cast<u16>(position - after);
      ring().write(position++, payload);
    }
    return publish(place, jobs.size());
  }

  BatchRef join(const std::vector<std::uint64_t>& begins) {
    const std::lock_guard lock(mutex);
    const Place place = reserve(1);
    abi::Payload payload = payload_of(place, place.first);
    payload.flags = abi::kJoin;
    payload.joined = static_cast<u16>(begins.size());
    u16 distances[abi::kMaxJoined] = {};
    for (std::size_t i = 0; i < begins.size(); ++i)
      distances[i] = static_cast<u16>(place.first - begins[i]);
    std::memcpy(payload.args, distances, sizeof(distances));
    ring().write(place.first, payload);
    return publish(place, 1);
  }

  bool wait(const BatchRef& batch, std::chrono::milliseconds timeout = 20s) {
    const Deadline deadline = Clock::now() + timeout;
    for (std::uint64_t turn = 0; !ring().is_done(batch.begin); ++turn) {
      backend.check_alive();
      if (Clock::now() >= deadline) return false;
      backend.pause(batch, turn, deadline);
    }
    backend.check(batch);
    return true;
  }

  void load(std::uint32_t slot, const OperatorDefinition& definition) {
    std::optional<Expression> expression;
    if (!definition.expression.empty())
      expression = parse_expression(definition.expression, definition.params);
    const OperatorBuild build{definition, expression ? &*expression : nullptr,
                              definition.dtypes[0], slot};
    backend.load({&build, 1});
  }

  Ring& ring() { return *backend.rings()[0]; }

  static constexpr std::uint64_t kNone = ~0ull;
  HostBackend backend;
  std::mutex mutex;

 private:
  template <typename T>
  static u64 bits(const T* p) {
    return reinterpret_cast<u64>(p);
  }

  Place reserve(std::uint32_t tasks) {
    for (std::uint64_t turn = 0;; ++turn) {
      if (const auto place = backend.reserve({}, tasks)) return *place;
      backend.pause({0, ring().completed(), nullptr}, turn, Clock::now() + 20s);
    }
  }
  static abi::Payload payload_of(const Place& place, std::uint64_t position) {
    abi::Payload payload{};
    payload.batch_offset = static_cast<u16>(position - place.batch_begin);
    payload.batch_size = static_cast<u16>(place.batch_size);
    return payload;
  }
  BatchRef publish(const Place& place, std::size_t tasks) {
    backend.publish({}, place, static_cast<std::uint32_t>(tasks));
    return {0, place.batch_begin, nullptr};
  }
};

OperatorDefinition thrower() {
  return {.name = "thrower",
          .source =
              "#include <stdexcept>\n"
              "GPUOS_OPERATOR(thrower) {\n"
              "  throw std::runtime_error(\"no luck\");\n"
              "}"};
}

// Runs until the word that its first input points at is not zero.
OperatorDefinition waiter() {
  return {.name = "waiter",
          .source =
              "GPUOS_OPERATOR(waiter) {\n"
              "  auto* go = task.pointer<volatile int>(1);\n"
              "  while (*go == 0) {}\n"
              "}"};
}

class HostBackendTest : public testing::TestWithParam<std::uint32_t> {};

TEST_P(HostBackendTest, RunsEveryTaskOfEveryBatchOnce) {
  Driver driver(options(GetParam()));
  const float one = 1;
  std::vector<float> cells(5000);
  std::mt19937 random(3);
  BatchRef last;
  for (std::size_t next = 0; next < cells.size();) {
    std::vector<Driver::Job> jobs;
    const std::size_t size =
        std::min<std::size_t>(1 + random() % 100, cells.size() - next);
    for (std::size_t i = 0; i < size; ++i, ++next)
      jobs.push_back(Driver::add(&cells[next], &cells[next], &one, 1));
    last = driver.submit(jobs);
  }
  // Batches end in any order.
  for (std::uint64_t begin = 0; begin <= last.begin;) {
    driver.ring().advance();
    begin = driver.ring().completed();
    if (begin <= last.begin) {
      ASSERT_TRUE(driver.wait({0, begin, nullptr}));
    }
  }
  EXPECT_EQ(std::count(cells.begin(), cells.end(), 1.0f), 5000);
}

TEST_P(HostBackendTest, ABatchIsDoneWhenItsLastTaskIs) {
  Driver driver(options(GetParam()));
  std::vector<float> out(200 * 64), in(200 * 64, 2);
  for (int round = 0; round < 50; ++round) {
    std::fill(out.begin(), out.end(), 0.0f);
    std::vector<Driver::Job> jobs;
    for (int i = 0; i < 200; ++i)
      jobs.push_back(Driver::add(&out[i * 64], &in[i * 64], &in[i * 64], 64));
    ASSERT_TRUE(driver.wait(driver.submit(jobs)));
    ASSERT_EQ(std::count(out.begin(), out.end(), 4.0f),
              static_cast<std::ptrdiff_t>(out.size()));
  }
}

TEST_P(HostBackendTest, AChainRunsInOrder) {
  Driver driver(options(GetParam(), 64));
  std::vector<double> x{1};
  const double one = 1;
  constexpr std::uint32_t kAdd = 1, kMul = 9;
  BatchRef last = driver.submit({Driver::add(&x[0], &x[0], &one, 1, kAdd)});
  double expected = 2;
  for (int i = 0; i < 2000; ++i) {
    static const double factors[] = {0.5, 3};
    const double* factor = &factors[i % 2];
    last =
        driver.submit({Driver::add(&x[0], &x[0], factor, 1, kMul)}, last.begin);
    last =
        driver.submit({Driver::add(&x[0], &x[0], &one, 1, kAdd)}, last.begin);
    expected = expected * *factor + 1;
    if (expected > 1e6) {
      last =
          driver.submit({Driver::add(&x[0], &one, &one, 1, kAdd)}, last.begin);
      expected = 2;
    }
  }
  ASSERT_TRUE(driver.wait(last));
  EXPECT_EQ(x[0], expected);
}

TEST_P(HostBackendTest, AJoinWaitsForAllThatItNames) {
  Driver driver(options(GetParam()));
  std::vector<float> parts(16), sum(1), ones(16, 1);
  for (int round = 1; round <= 100; ++round) {
    std::vector<std::uint64_t> begins;
    for (float& part : parts)
      begins.push_back(
          driver.submit({Driver::add(&part, &part, &ones[0], 1)}).begin);
    BatchRef last = driver.join(begins);
    for (float& part : parts)
      last =
          driver.submit({Driver::add(&sum[0], &sum[0], &part, 1)}, last.begin);
    ASSERT_TRUE(driver.wait(last));
    ASSERT_EQ(sum[0], 8.0f * static_cast<float>(round * (round + 1)));
  }
}

TEST_P(HostBackendTest, GoesOnWhenTheLapTagWraps) {
  constexpr std::uint32_t kCapacity = 64;
  Driver driver(options(GetParam(), kCapacity), ((1ull << 32) - 3) * kCapacity);
  const float one = 1;
  std::vector<float> cells(kCapacity * 6);
  BatchRef last;
  for (float& cell : cells) {
    last = driver.submit({Driver::add(&cell, &cell, &one, 1)});
    ASSERT_TRUE(driver.wait(last));
  }
  EXPECT_EQ(std::count(cells.begin(), cells.end(), 1.0f),
            static_cast<std::ptrdiff_t>(cells.size()));
}

TEST_P(HostBackendTest, ManyThreadsSubmitAndWait) {
  Driver driver(options(GetParam(), 128));
  const float one = 1;
  std::array<std::vector<float>, 4> cells;
  std::vector<std::thread> threads;
  for (auto& mine : cells) {
    mine.resize(2000);
    threads.emplace_back([&driver, &mine, &one] {
      for (std::size_t i = 0; i < mine.size(); i += 4) {
        std::vector<Driver::Job> jobs;
        for (std::size_t k = i; k < i + 4; ++k)
          jobs.push_back(Driver::add(&mine[k], &mine[k], &one, 1));
        const BatchRef batch = driver.submit(jobs);
        if (i % 3 == 0) {
          EXPECT_TRUE(driver.wait(batch));
          EXPECT_EQ(mine[i + 3], 1.0f);
        } else if (i + 4 == mine.size()) {
          EXPECT_TRUE(driver.wait(batch));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(
      driver.wait(driver.submit({Driver::add(&cells[0][0], &one, &one, 1)})));
  while (driver.ring().completed() != driver.ring().head())
    driver.ring().advance();
  for (const auto& mine : cells)
    EXPECT_EQ(std::count(mine.begin() + 1, mine.end(), 1.0f), 1999);
}

TEST_P(HostBackendTest, SleepingWorkersWakeForEveryTask) {
  RuntimeOptions quick = options(GetParam());
  quick.linger = 1us;
  Driver driver(quick);
  const float one = 1;
  float sum = 0;
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(driver.wait(driver.submit({Driver::add(&sum, &sum, &one, 1)})));
    const auto until =
        Clock::now() + std::chrono::nanoseconds(random() % 20000);
    while (Clock::now() < until) {
    }
  }
  EXPECT_EQ(sum, 2000.0f);
}

INSTANTIATE_TEST_SUITE_P(Workers, HostBackendTest,
                         testing::Values(1u, 2u, 16u));

TEST(HostBackend, AnIdleBackendUsesNoProcessorTime) {
  Driver driver(options(4));
  const float one = 1;
  float sum = 0;
  ASSERT_TRUE(driver.wait(driver.submit({Driver::add(&sum, &sum, &one, 1)})));
  std::this_thread::sleep_for(50ms);
  const auto used = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           std::chrono::microseconds(usage.ru_utime.tv_usec +
                                     usage.ru_stime.tv_usec);
  };
  const auto before = used();
  std::this_thread::sleep_for(1s);
  EXPECT_LT(used() - before, 5ms);
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
      EXPECT_NE(std::string(error.what()).find("no luck"), std::string::npos);
    }
  }
  EXPECT_EQ(sum, 1.0f);
  EXPECT_NO_THROW(driver.backend.check_all());
  EXPECT_NO_THROW(driver.backend.stop());
}

TEST(HostBackend, AFailureThatNobodyAskedForIsToldOnce) {
  Driver driver(options(2));
  driver.load(kFirstFreeSlot, thrower());
  float sum = 0;
  const Driver::Job bad = Driver::add(&sum, &sum, &sum, 1, kFirstFreeSlot);
  const BatchRef first = driver.submit({bad});
  const BatchRef second = driver.submit({bad});
  while (!driver.ring().is_done(first.begin) ||
         !driver.ring().is_done(second.begin))
    std::this_thread::yield();
  EXPECT_THROW(driver.backend.check_all(), TaskError);
  EXPECT_NO_THROW(driver.backend.check_all());
  EXPECT_NO_THROW(driver.backend.stop());
  EXPECT_THROW(driver.backend.check(second), TaskError);
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
  EXPECT_LT(Clock::now() - before, 2s);
  EXPECT_THROW(driver.backend.check_alive(), TaskError);
  EXPECT_THROW(driver.backend.check_all(), TaskError);
  Stats stats;
  driver.backend.fill_stats(stats);
  EXPECT_TRUE(stats.is_dead);
  const auto stop = Clock::now();
  driver.backend.stop();
  EXPECT_LT(Clock::now() - stop, 5s);
  go = 1;
}

TEST(HostBackend, ALongTaskWithinTheWatchdogIsFine) {
  RuntimeOptions patient = options(1);
  patient.watchdog = 5000ms;
  Driver driver(patient);
  driver.load(kFirstFreeSlot, waiter());
  volatile int go = 0;
  float sum = 0;
  Driver::Job job = Driver::add(&sum, &sum, &sum, 1, kFirstFreeSlot);
  job.a = reinterpret_cast<u64>(&go);
  job.flags = abi::kTraced;
  const BatchRef batch = driver.submit({job});
  EXPECT_FALSE(driver.wait(batch, 300ms));
  go = 1;
  EXPECT_TRUE(driver.wait(batch));
}

TEST(HostBackend, AnExpressionRunsInItsSlotUntilItIsUnloaded) {
  Driver driver(options(2));
  OperatorDefinition definition{.name = "axpy", .expression = "o = 2 * x + y"};
  const float x = 3, y = 4;
  float out = 0;
  const Driver::Job job = Driver::add(&out, &x, &y, 1, kFirstFreeSlot);
  driver.load(kFirstFreeSlot, definition);
  ASSERT_TRUE(driver.wait(driver.submit({job})));
  EXPECT_EQ(out, 10.0f);
  const std::uint32_t slot = kFirstFreeSlot;
  driver.backend.unload({&slot, 1});
  definition.expression = "o = x - y";
  driver.load(kFirstFreeSlot, definition);
  ASSERT_TRUE(driver.wait(driver.submit({job})));
  EXPECT_EQ(out, -1.0f);
  Stats stats;
  driver.backend.fill_stats(stats);
  EXPECT_EQ(stats.injections, 2u);
  EXPECT_EQ(stats.unloads, 1u);
}

TEST(HostBackend, AFailedLoadLeavesTheSlotsAsTheyWere) {
  Driver driver(options(1));
  driver.load(kFirstFreeSlot, {.name = "twice", .expression = "o = x + x"});
  EXPECT_THROW(driver.load(kFirstFreeSlot, {.name = "bad", .source = "{"}),
               CompileError);
  const float x = 3;
  float out = 0;
  ASSERT_TRUE(driver.wait(
      driver.submit({Driver::add(&out, &x, &x, 1, kFirstFreeSlot)})));
  EXPECT_EQ(out, 6.0f);
}

TEST(HostBackend, PauseEndsAtTheDeadline) {
  Driver driver(options(1));
  const BatchRef never{0, 0, nullptr};
  const auto before = Clock::now();
  driver.backend.pause(never, 1000, before + 20ms);
  const auto took = Clock::now() - before;
  EXPECT_GE(took, 10ms);
  EXPECT_LT(took, 2s);
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
    EXPECT_LE(tile, abi::kMaxTileElems);
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
