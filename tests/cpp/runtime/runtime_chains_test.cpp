#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "contract.h"

namespace gpuos {
namespace {

using namespace std::chrono_literals;
using Ints = std::vector<std::int32_t>;

/// Dependent small tasks: on each backend and, on the device, in each mode.
class RuntimeChains : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    if (IsSkipped() || is_host()) return;
    restart({.backend = GetParam(), .residency = Residency::Resident});
  }
  void add_one(const DeviceArray<std::int32_t>& x,
               const DeviceArray<std::int32_t>& one) {
    last_ = runtime().submit("add", {x.view(), one.view()}, x.view());
  }

  Ticket last_;
};

TEST_P(RuntimeChains, LinksAfterABusyTaskBecomeMembers) {
  DeviceArray<std::int32_t> x(runtime(), 65), one(runtime(), 65, 1);
  for (int i = 0; i < 1000; ++i) add_one(x, one);
  EXPECT_EQ(x.read(), Ints(65, 1000));
  synchronize();
  const Stats stats = runtime().stats();
  EXPECT_GT(stats.tasks_chained, 0u);
  EXPECT_GT(stats.chains, 0u);
  EXPECT_GE(stats.tasks_ordered, stats.tasks_chained);
  EXPECT_GE(stats.tasks_chained, stats.chains);
  EXPECT_EQ(stats.tasks_submitted, 1000u);
  EXPECT_EQ(stats.tasks_completed, 1000u);
  EXPECT_EQ(stats.batches_submitted, 1000u);
}

TEST_P(RuntimeChains, ComputeTheSameForEveryPlaceOfBuffers) {
  constexpr std::size_t kPool = 16'384;
  std::mt19937 random(1);
  Ints start(kPool);
  for (auto& x : start) x = static_cast<std::int32_t>(random() % 1000);
  const std::array<const char*, 3> names{"add", "sub", "mul"};
  // A multiple of the size, of 16 bytes, and anywhere.
  for (const std::size_t grain : {1024u, 4u, 1u, 300u, 2048u}) {
    const std::size_t count = grain < 100 ? 1024 : grain;
    DeviceArray<std::int32_t> pool(runtime(), start);
    std::vector<std::uint32_t> model(start.begin(), start.end());
    std::size_t last = 0;
    for (int member = 0; member < 700; ++member) {
      const auto any = [&] {
        return random() % ((kPool - count) / grain) * grain;
      };
      const std::size_t out = random() % 2 != 0 ? last : any();
      // Members' buffers are the same or apart.
      const auto input = [&] {
        const std::size_t at = random() % 2 != 0 ? last : any();
        return at < out + count && out < at + count ? out : at;
      };
      const std::array in{input(), input()};
      const std::size_t operation = random() % names.size();
      runtime().submit(names[operation],
                       {pool.view(in[0], count), pool.view(in[1], count)},
                       pool.view(out, count));
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t x = model[in[0] + i], y = model[in[1] + i];
        model[out + i] = operation == 0   ? x + y
                         : operation == 1 ? x - y
                                          : x * y;
      }
      last = out;
    }
    ASSERT_EQ(pool.read(), Ints(model.begin(), model.end())) << grain;
  }
}

TEST_P(RuntimeChains, LargeTasksAndManyTasksRunBetweenMembers) {
  constexpr std::size_t kLarge = 100'000;
  DeviceArray<std::int32_t> x(runtime(), kLarge), one(runtime(), kLarge, 1);
  ManyTasks many = many_of(100, 10);
  many.out = x.column(10);
  many.inputs = {x.column(10), one.column(10)};
  const Operator add = runtime().find("add");
  constexpr int kRounds = 30;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 10; ++i)
      runtime().submit(add, {x.view(0, 8), one.view(0, 8)}, x.view(0, 8));
    runtime().submit(add, {x.view(), one.view()}, x.view());
    runtime().submit(add, {x.view(4, 8), one.view(4, 8)}, x.view(4, 8));
    runtime().submit_many(add, many);
  }
  const Ints result = x.read();
  EXPECT_EQ(result[0], 12 * kRounds);
  EXPECT_EQ(result[5], 13 * kRounds);
  EXPECT_EQ(result[10], 3 * kRounds);
  EXPECT_EQ(result[999], 2 * kRounds);
  EXPECT_EQ(result[kLarge - 1], kRounds);
}

TEST_P(RuntimeChains, MembersMayHaveManyArguments) {
  OperatorDefinition many{.name = "many",
                          .expression = "o = a + b + c + d + e + f",
                          .dtypes = {DType::Int32}};
  for (const char* name : {"s", "t", "u", "v"}) {
    many.params.push_back({name, DType::Int32});
    many.expression += std::string(" + ") + name;
  }
  const Operator op = runtime().define(many);
  DeviceArray<std::int32_t> x(runtime(), 8), one(runtime(), 8, 1);
  const TensorView y = one.view();
  for (int i = 0; i < 300; ++i) {
    runtime().submit(op, {x.view(), y, y, y, y, y}, x.view(), {1, 2, 3, 4});
    add_one(x, one);
  }
  EXPECT_EQ(x.read(), Ints(8, 300 * (5 + 10 + 1)));
}

TEST_P(RuntimeChains, AMemberMayBeWaitedFor) {
  DeviceArray<std::int32_t> x(runtime(), 8), one(runtime(), 8, 1);
  std::vector<Ticket> tickets;
  for (int i = 0; i < 300; ++i) {
    const Ticket before = last_;
    add_one(x, one);
    EXPECT_NE(last_, before);
    tickets.push_back(last_);
    if (i % 50 == 25) {
      ASSERT_TRUE(
          runtime().wait(tickets[static_cast<std::size_t>(i) - 10], kDeadline));
    }
  }
  for (const Ticket& ticket : tickets)
    EXPECT_TRUE(becomes_true([&] { return runtime().is_done(ticket); }));
  EXPECT_EQ(x.read(), Ints(8, 300));
}

TEST_P(RuntimeChains, RunWithoutAWaiter) {
  RuntimeOptions slow = runtime().options();
  slow.flush_after = 20ms;
  restart(slow);
  DeviceArray<std::int32_t> x(runtime(), 1), one(runtime(), 1, 1);
  int rounds = 0;
  bool is_done = false;
  for (auto pause = 250ms; !is_done; pause *= 2) {
    ASSERT_LT(pause, kDeadline);
    for (int i = 0; i < 20; ++i) add_one(x, one);
    ++rounds;
    // Nothing is asked of the queue meanwhile, and the look is a short one.
    std::this_thread::sleep_for(pause);
    const auto begin = std::chrono::steady_clock::now();
    is_done = runtime().is_done(last_) &&
              std::chrono::steady_clock::now() - begin < 20ms;
  }
  EXPECT_EQ(x.read(), Ints(1, 20 * rounds));
}

TEST_P(RuntimeChains, RunBeforeTheirOperatorsAreReplaced) {
  const auto plus = [](int by) {
    return OperatorDefinition{.name = "plus",
                              .expression = "o = x + " + std::to_string(by),
                              .dtypes = {DType::Int32}};
  };
  const Operator op = runtime().define(plus(1));
  DeviceArray<std::int32_t> x(runtime(), 8);
  std::int32_t model = 0;
  for (int by = 1; by <= 5; ++by) {
    for (int i = 0; i < 50; ++i) {
      runtime().submit(op, {x.view()}, x.view());
      model += by;
    }
    runtime().replace(op, plus(by + 1));
  }
  EXPECT_EQ(x.read(), Ints(8, model));
}

GPUOS_INSTANTIATE_CONTRACT(RuntimeChains);

}  // namespace
}  // namespace gpuos
