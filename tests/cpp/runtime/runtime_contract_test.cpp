#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <numeric>
#include <thread>

#include "contract.h"

namespace gpuos {
namespace {

using namespace std::chrono_literals;

class RuntimeContract : public Contract {
 protected:
  /// A queue of 64 tasks. With 0 `workers` it has the usual number.
  void restart_small(std::uint32_t workers = 0,
                     std::chrono::milliseconds submit_timeout = 10s) {
    restart({.backend = GetParam(),
             .queue_capacity = 64,
             .workers = workers,
             .submit_timeout = submit_timeout});
  }

  // Values whose results are exact in every dtype.
  template <typename T>
  static std::vector<T> numbers(std::size_t count, int seed) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = static_cast<T>(1 + (i * 7 + seed) % 13);
    return values;
  }

  template <typename T>
  void check_builtins(std::size_t n, std::size_t offset) {
    const auto a = numbers<T>(n + offset + 1, 1);
    const auto b = numbers<T>(n + offset + 1, 5);
    DeviceArray<T> x(runtime(), a), y(runtime(), b);
    const auto run = [&](const char* name, int inputs, auto expected) {
      DeviceArray<T> out(runtime(), n + offset + 1, T{77});
      std::vector<TensorView> in;
      if (inputs > 0) in.push_back(x.view(offset, n));
      if (inputs > 1) in.push_back(y.view(offset, n));
      std::vector<Scalar> params;
      if (inputs == 0) params.emplace_back(9);
      runtime().submit(runtime().find(name), in, out.view(offset, n), params);
      const auto result = out.read();
      for (std::size_t i = 0; i < result.size(); ++i) {
        const bool is_inside = i >= offset && i < offset + n;
        ASSERT_EQ(result[i], is_inside ? expected(a[i], b[i]) : T{77})
            << name << " n=" << n << " offset=" << offset << " i=" << i;
      }
    };
    run("add", 2, [](T p, T q) { return p + q; });
    run("sub", 2, [](T p, T q) { return p - q; });
    run("mul", 2, [](T p, T q) { return p * q; });
    run("div", 2, [](T p, T q) { return p / q; });
    run("copy", 1, [](T p, T) { return p; });
    run("fill", 0, [](T, T) { return T{9}; });
  }

  template <typename T>
  void check_builtins() {
    for (const std::size_t n : {1, 2, 3, 5, 31, 64, 1000, 4097, 100003}) {
      for (const std::size_t offset : {0, 1, 3}) check_builtins<T>(n, offset);
    }
  }
};

TEST_P(RuntimeContract, BuiltinsOfFloat32) { check_builtins<float>(); }
TEST_P(RuntimeContract, BuiltinsOfFloat64) { check_builtins<double>(); }
TEST_P(RuntimeContract, BuiltinsOfInt32) { check_builtins<std::int32_t>(); }
TEST_P(RuntimeContract, BuiltinsOfInt64) { check_builtins<std::int64_t>(); }

TEST_P(RuntimeContract, IntegersWrapAndDivideAsNumPyDoes) {
  constexpr std::int32_t kLow = std::numeric_limits<std::int32_t>::min();
  DeviceArray<std::int32_t> x(runtime(), {-7, 7, 7, kLow, kLow});
  DeviceArray<std::int32_t> y(runtime(), {2, -2, 0, -1, 1});
  DeviceArray<std::int32_t> out(runtime(), 5);
  runtime().submit("div", {x.view(), y.view()}, out.view());
  EXPECT_EQ(out.read(), (std::vector<std::int32_t>{-4, -4, 0, kLow, kLow}));
  runtime().submit("sub", {x.view(), y.view()}, out.view());
  EXPECT_EQ(out.read()[4], std::numeric_limits<std::int32_t>::max());
}

TEST_P(RuntimeContract, SizeZeroIsDoneAtOnce) {
  const TensorView nothing(static_cast<float*>(nullptr), 0);
  const Ticket ticket = runtime().submit("add", {nothing, nothing}, nothing);
  EXPECT_TRUE(runtime().is_done(ticket));
  EXPECT_TRUE(runtime().wait(ticket, 0ns));
}

TEST_P(RuntimeContract, ALargeTaskIsSharedAndWhole) {
  constexpr std::size_t kSize = 5'000'001;
  std::vector<float> a(kSize);
  std::iota(a.begin(), a.end(), 0.0f);
  DeviceArray<float> x(runtime(), a), out(runtime(), kSize);
  const auto before = runtime().stats().tasks_submitted;
  const Ticket ticket =
      runtime().submit("add", {x.view(), x.view()}, out.view());
  ASSERT_TRUE(runtime().wait(ticket, kDeadline));
  EXPECT_GT(runtime().stats().tasks_submitted - before, 1u);
  const auto result = out.read();
  for (std::size_t i = 0; i < kSize; ++i) ASSERT_EQ(result[i], a[i] + a[i]);
}

TEST_P(RuntimeContract, AQueueThatStaysFullIsATimeout) {
  restart_small(1, 20ms);
  const Operator busy = define_busy(), add = runtime().find("add");
  DeviceArray<float> out(runtime(), 1);
  DeviceArray<std::int32_t> cells(runtime(), 200), one(runtime(), 1, 1);
  runtime().submit(busy, {}, out.view(), {busy_rounds()});
  std::size_t queued = 0;
  try {
    for (; queued < cells.size(); ++queued)
      runtime().submit(add, {cells.view(queued, 1), one.view()},
                       cells.view(queued, 1));
    FAIL() << "expected Timeout";
  } catch (const Timeout&) {
    EXPECT_GE(queued, 32u);
    EXPECT_LE(queued, 64u);
  }
  const auto result = cells.read();
  EXPECT_EQ(std::accumulate(result.begin(), result.end(), 0u), queued);
}

TEST_P(RuntimeContract, OthersGoOnWhileASubmissionWaitsForRoom) {
  restart_small(1);
  const Operator busy = define_busy(), add = runtime().find("add");
  DeviceArray<float> out(runtime(), 1);
  DeviceArray<std::int32_t> cells(runtime(), 2000), one(runtime(), 1, 1);
  ManyTasks many = many_of(cells.size(), 1);
  many.out = cells.column(1);
  many.inputs = {cells.column(1), one.column(0)};
  int rounds = 0;
  // After the other's submission each look would see the slow task's end.
  for (bool is_done = true; is_done; ++rounds) {
    ASSERT_LT(rounds, 20) << "every look came behind the slow task";
    const std::uint64_t before = runtime().stats().tasks_submitted;
    const Ticket slow = runtime().submit(busy, {}, out.view(), {busy_rounds()});
    Ticket theirs;
    std::jthread other([&] { theirs = runtime().submit_many(add, many); });
    while (runtime().stats().tasks_submitted < before + 10)
      std::this_thread::yield();
    is_done = runtime().wait(slow, 0ms);
    const Ticket ours =
        runtime().submit(add, {cells.view(0, 1), one.view()}, cells.view(0, 1));
    other.join();
    if (ours.ring == theirs.ring) {
      EXPECT_GE(ours.begin, theirs.end) << "a submission's tasks are in a row";
    }
  }
  std::vector<std::int32_t> wanted(cells.size(), rounds);
  wanted[0] = 2 * rounds;
  EXPECT_EQ(cells.read(), wanted);
}

TEST_P(RuntimeContract, TrySubmitQueuesAllOrNothing) {
  constexpr int kTasks = 2000;
  constexpr int kSums = 4;
  const Operator add = runtime().find("add");
  DeviceArray<float> one(runtime(), 1, 1.0f), sums(runtime(), kSums);
  int queued = 0;
  for (int i = 0; i < kTasks; ++i) {
    const TensorView sum = sums.view(static_cast<std::size_t>(i % kSums), 1);
    const TensorView inputs[] = {sum, one.view()};
    if (runtime().try_submit(add, inputs, sum))
      ++queued;
    else
      runtime().submit(add, inputs, sum);
  }
  for (const float sum : sums.read()) EXPECT_EQ(sum * kSums, kTasks);
  EXPECT_GT(queued, 0);
  EXPECT_EQ(runtime().stats().tasks_submitted, kTasks);
}

TEST_P(RuntimeContract, TrySubmitDoesNotWaitForRoom) {
  restart_small(1);
  const Operator busy = define_busy(), add = runtime().find("add");
  DeviceArray<float> out(runtime(), 1);
  DeviceArray<std::int32_t> cells(runtime(), 200), one(runtime(), 1, 1);
  runtime().submit(add, {cells.view(0, 1), one.view()}, cells.view(0, 1));
  runtime().submit(busy, {}, out.view(), {busy_rounds()});
  std::size_t queued = 1;
  for (; queued < cells.size(); ++queued) {
    const TensorView cell = cells.view(queued, 1);
    const TensorView inputs[] = {cell, one.view()};
    if (!runtime().try_submit(add, inputs, cell)) break;
  }
  EXPECT_GT(queued, 1u);
  EXPECT_LE(queued, 64u);
  const auto result = cells.read();
  EXPECT_EQ(std::accumulate(result.begin(), result.end(), 0u), queued);
}

TEST_P(RuntimeContract, TrySubmitChecksAsSubmitDoes) {
  const Operator add = runtime().find("add");
  DeviceArray<float> x(runtime(), 4), out(runtime(), 5);
  const TensorView inputs[] = {x.view(), x.view()};
  EXPECT_THROW(runtime().try_submit(add, inputs, out.view()), InvalidArgument);
  runtime().close();
  EXPECT_THROW(runtime().try_submit(add, inputs, x.view()), QueueClosed);
}

TEST_P(RuntimeContract, ATicketIsPolledAndWaitedOnByMany) {
  const Operator busy = define_busy();
  DeviceArray<float> out(runtime(), 1);
  const Ticket ticket = runtime().submit(busy, {}, out.view(), {busy_rounds()});
  EXPECT_FALSE(runtime().wait(ticket, 1ms));
  std::vector<std::thread> waiters;
  std::atomic<int> woken{0};
  for (int i = 0; i < 4; ++i)
    waiters.emplace_back([&] { woken += runtime().wait(ticket, kDeadline); });
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(woken, 4);
  EXPECT_TRUE(runtime().is_done(ticket));
}

TEST_P(RuntimeContract, PollingAloneComesToAnEnd) {
  DeviceArray<float> x(runtime(), 64, 1);
  const Ticket ticket = runtime().submit("add", {x.view(), x.view()}, x.view());
  EXPECT_TRUE(becomes_true([&] { return runtime().is_done(ticket); }));
}

TEST_P(RuntimeContract, AnOldTicketStaysDoneWhenTheQueueWraps) {
  restart_small();
  DeviceArray<float> x(runtime(), 64, 1), out(runtime(), 64);
  std::vector<Ticket> tickets;
  for (int i = 0; i < 1000; ++i) {
    tickets.push_back(runtime().submit("copy", {x.view()}, out.view()));
    if (i % 97 == 0) {
      EXPECT_TRUE(runtime().wait(tickets.back(), kDeadline));
    }
  }
  synchronize();
  for (const Ticket& ticket : tickets) EXPECT_TRUE(runtime().is_done(ticket));
}

TEST_P(RuntimeContract, ATicketBelongsToOneRuntime) {
  Runtime other(options());
  DeviceArray<float> x(runtime(), 4, 1);
  const Ticket ticket = runtime().submit("add", {x.view(), x.view()}, x.view());
  EXPECT_THROW(other.wait(ticket, 1s), InvalidArgument);
  EXPECT_TRUE(runtime().wait(ticket, kDeadline));
}

TEST_P(RuntimeContract, ABufferOutlivesItsTasks) {
  DeviceArray<float> out(runtime(), 100);
  for (int i = 0; i < 200; ++i) {
    DeviceArray<float> x(runtime(), 100, static_cast<float>(i));
    runtime().submit("copy", {x.view()}, out.view());
  }
  EXPECT_EQ(out.read(), std::vector<float>(100, 199));
}

TEST_P(RuntimeContract, CountsItsTasks) {
  DeviceArray<float> x(runtime(), 4, 1);
  for (int i = 0; i < 10; ++i)
    runtime().submit("add", {x.view(), x.view()}, x.view());
  synchronize();
  const Stats stats = runtime().stats();
  EXPECT_EQ(stats.backend, GetParam());
  EXPECT_EQ(stats.tasks_submitted, 10u);
  EXPECT_EQ(stats.batches_submitted, 10u);
  EXPECT_FALSE(stats.is_dead);
  EXPECT_GT(stats.workers, 0u);
  EXPECT_FALSE(stats.device.empty());
}

TEST_P(RuntimeContract, CloseRunsPendingTasks) {
  DeviceArray<std::int32_t> x(runtime(), 1), one(runtime(), 1, 1);
  for (int i = 0; i < 500; ++i)
    runtime().submit("add", {x.view(), one.view()}, x.view());
  EXPECT_FALSE(runtime().is_closed());
  runtime().close();
  EXPECT_TRUE(runtime().is_closed());
  EXPECT_EQ(runtime().stats().tasks_completed, 500u);
  if (is_host()) {
    EXPECT_EQ(*x.data(), 500);
  }
  EXPECT_NO_THROW(runtime().close());
}

GPUOS_INSTANTIATE_CONTRACT(RuntimeContract);

}  // namespace
}  // namespace gpuos
