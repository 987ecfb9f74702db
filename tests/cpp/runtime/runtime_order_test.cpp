#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "contract.h"

namespace gpuos {
namespace {

class RuntimeOrder : public Contract {
 protected:
  using Ints = std::vector<std::int32_t>;

  static Column addresses(const std::vector<std::uint64_t>& list) {
    return {list.data(), 0, 0};
  }
};

TEST_P(RuntimeOrder, AChainOfManyLinks) {
  DeviceArray<std::int32_t> x(runtime(), 65), one(runtime(), 65, 1);
  const Operator add = runtime().find("add");
  for (int i = 0; i < 5000; ++i)
    runtime().submit(add, {x.view(), one.view()}, x.view());
  EXPECT_EQ(x.read(), Ints(65, 5000));
}

TEST_P(RuntimeOrder, AReaderOfManyWritersWaitsForAll) {
  constexpr int kParts = 100;  // more than one descriptor can name
  DeviceArray<std::int32_t> parts(runtime(), kParts * 16);
  DeviceArray<std::int32_t> out(runtime(), kParts * 16);
  for (int round = 1; round <= 50; ++round) {
    for (int p = 0; p < kParts; ++p)
      runtime().submit("fill", {}, parts.view(p * 16, 16), {round});
    runtime().submit("copy", {parts.view()}, out.view());
    if (round % 10 == 0) {
      ASSERT_EQ(out.read(), Ints(kParts * 16, round));
    }
  }
}

TEST_P(RuntimeOrder, AWriterWaitsForItsReaders) {
  DeviceArray<std::int32_t> x(runtime(), 64, 0);
  DeviceArray<std::int32_t> copies(runtime(), 64 * 100);
  for (int i = 0; i < 100; ++i) {
    runtime().submit("fill", {}, x.view(), {i});
    runtime().submit("copy", {x.view()}, copies.view(i * 64, 64));
  }
  const Ints result = copies.read();
  for (int i = 0; i < 100 * 64; ++i) ASSERT_EQ(result[i], i / 64);
}

TEST_P(RuntimeOrder, ASmallTaskWaitsForEveryTileOfALargeOne) {
  constexpr std::size_t kSize = 3'000'000;
  DeviceArray<std::int32_t> x(runtime(), kSize), y(runtime(), 10);
  for (int round = 1; round <= 5; ++round) {
    runtime().submit("fill", {}, x.view(), {round});
    runtime().submit("copy", {x.view(kSize - 10, 10)}, y.view());
    runtime().submit("fill", {}, x.view(kSize / 2, 1), {-round});
    ASSERT_EQ(y.read(), Ints(10, round));
  }
  const Ints result = x.read();
  EXPECT_EQ(result[kSize / 2], -5);
  EXPECT_EQ(std::count(result.begin(), result.end(), 5),
            static_cast<std::ptrdiff_t>(kSize - 1));
}

TEST_P(RuntimeOrder, RandomStreamsEqualASequentialRun) {
  constexpr std::size_t kSize = 600;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    std::mt19937 random(seed);
    Ints model(kSize);
    for (auto& value : model) value = static_cast<std::int32_t>(random() % 100);
    DeviceArray<std::int32_t> memory(runtime(), model);
    const auto pick = [&](std::size_t n) { return random() % (kSize - n + 1); };
    for (int step = 0; step < 3000; ++step) {
      const std::size_t n = 1 + random() % 40, out = pick(n);
      // An input is the output itself or does not touch it.
      const auto pick_input = [&] {
        for (;;) {
          const std::size_t in = pick(n);
          if (in == out || in + n <= out || out + n <= in) return in;
        }
      };
      const std::size_t a = pick_input(), b = pick_input();
      static const char* const kNames[] = {"add", "sub", "mul", "copy", "fill"};
      const std::string name = kNames[random() % 5];
      const Ints before = model;
      const auto value = static_cast<std::int32_t>(random() % 100);
      for (std::size_t i = 0; i < n; ++i) {
        const auto p = static_cast<std::uint32_t>(before[a + i]);
        const auto q = static_cast<std::uint32_t>(before[b + i]);
        const std::uint32_t result = name == "add"    ? p + q
                                     : name == "sub"  ? p - q
                                     : name == "mul"  ? p * q
                                     : name == "copy" ? p
                                                      : value;
        model[out + i] = static_cast<std::int32_t>(result);
      }
      const TensorView to = memory.view(out, n);
      if (name == "fill") {
        runtime().submit(name, {}, to, {value});
      } else if (name == "copy") {
        runtime().submit(name, {memory.view(a, n)}, to);
      } else {
        runtime().submit(name, {memory.view(a, n), memory.view(b, n)}, to);
      }
      if (step % 700 == 0) {
        ASSERT_EQ(memory.read(), model) << "seed " << seed;
      }
    }
    ASSERT_EQ(memory.read(), model) << "seed " << seed;
  }
}

TEST_P(RuntimeOrder, ManyTasksBySteps) {
  constexpr std::size_t kTasks = 20000, kSize = 64;
  Ints a(kTasks * kSize);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<std::int32_t>(i);
  DeviceArray<std::int32_t> x(runtime(), a), y(runtime(), kSize, 5);
  DeviceArray<std::int32_t> out(runtime(), a.size());
  ManyTasks many;
  many.tasks = kTasks;
  many.dtype = DType::Int32;
  many.size = kSize;
  many.out = out.column(kSize);
  many.inputs = {x.column(kSize), y.column(0)};
  const Ticket ticket = runtime().submit_many(runtime().find("add"), many);
  ASSERT_TRUE(runtime().wait(ticket, kDeadline));
  const Ints result = out.read();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(result[i], a[i] + 5);
}

TEST_P(RuntimeOrder, ManyTasksByAddressesAndSizes) {
  constexpr std::size_t kTasks = 3000;
  DeviceArray<std::int32_t> out(runtime(), kTasks * 10, -1);
  DeviceArray<std::int32_t> in(runtime(), kTasks * 10, 3);
  std::vector<std::uint64_t> to, from;
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < kTasks; ++i) {
    // Backwards, so that no address follows from another.
    to.push_back(
        reinterpret_cast<std::uint64_t>(out.data() + (kTasks - 1 - i) * 10));
    from.push_back(reinterpret_cast<std::uint64_t>(in.data() + i * 10));
    sizes.push_back(static_cast<std::int64_t>(i % 11));
  }
  ManyTasks many;
  many.tasks = kTasks;
  many.dtype = DType::Int32;
  many.out = addresses(to);
  many.inputs = {addresses(from), addresses(from)};
  many.sizes = sizes.data();
  const Ticket ticket = runtime().submit_many(runtime().find("mul"), many);
  ASSERT_TRUE(runtime().wait(ticket, kDeadline));
  const Ints result = out.read();
  for (std::size_t i = 0; i < kTasks; ++i) {
    for (std::size_t k = 0; k < 10; ++k) {
      const bool is_inside = static_cast<std::int64_t>(k) < sizes[i];
      ASSERT_EQ(result[(kTasks - 1 - i) * 10 + k], is_inside ? 9 : -1);
    }
  }
}

TEST_P(RuntimeOrder, ManyLargeTasksAreCut) {
  constexpr std::size_t kTasks = 3, kSize = 1'000'003;
  DeviceArray<std::int32_t> out(runtime(), kTasks * kSize);
  ManyTasks many;
  many.tasks = kTasks;
  many.dtype = DType::Int32;
  many.size = kSize;
  many.out = out.column(kSize);
  many.params = {7};
  const Ticket ticket = runtime().submit_many(runtime().find("fill"), many);
  ASSERT_TRUE(runtime().wait(ticket, kDeadline));
  EXPECT_EQ(out.read(), Ints(kTasks * kSize, 7));
}

TEST_P(RuntimeOrder, ManyTasksStandInOrderAsAWhole) {
  constexpr std::size_t kTasks = 2000, kSize = 8;
  RuntimeOptions small = options();
  small.queue_capacity = 512;  // the tasks do not fit at once
  restart(small);
  DeviceArray<std::int32_t> x(runtime(), kTasks * kSize);
  DeviceArray<std::int32_t> last(runtime(), 1), one(runtime(), kSize, 1);
  const Operator add = runtime().find("add");
  ManyTasks many;
  many.tasks = kTasks;
  many.dtype = DType::Int32;
  many.size = kSize;
  many.out = x.column(kSize);
  many.inputs = {x.column(kSize), one.column(0)};
  for (int round = 1; round <= 20; ++round) {
    runtime().submit_many(add, many);
    runtime().submit("copy", {x.view(x.size() - 1, 1)}, last.view());
    runtime().submit("fill", {}, one.view(), {1});
    if (round % 5 == 0) {
      ASSERT_EQ(last.read(), Ints(1, round));
    }
  }
  EXPECT_EQ(x.read(), Ints(x.size(), 20));
}

TEST_P(RuntimeOrder, WhatFollowsManyTasksWaitsForTheSlowestOfThem) {
  constexpr std::size_t kLarge = 1 << 23, kSmall = 40;
  RuntimeOptions small = options();
  small.queue_capacity = 64;  // the small tasks are batches of their own
  restart(small);
  DeviceArray<std::int32_t> x(runtime(), kLarge + kSmall);
  DeviceArray<std::int32_t> last(runtime(), 1);
  std::vector<std::int64_t> sizes(1 + kSmall, 1);
  sizes[0] = kLarge;
  std::vector<std::uint64_t> to{reinterpret_cast<std::uint64_t>(x.data())};
  for (std::size_t i = 0; i < kSmall; ++i)
    to.push_back(reinterpret_cast<std::uint64_t>(x.data() + kLarge + i));
  ManyTasks many;
  many.tasks = sizes.size();
  many.dtype = DType::Int32;
  many.out = addresses(to);
  many.sizes = sizes.data();
  for (int round = 1; round <= 20; ++round) {
    many.params = {round};
    runtime().submit_many(runtime().find("fill"), many);
    runtime().submit("copy", {x.view(kLarge - 1, 1)}, last.view());
    ASSERT_EQ(last.read(), Ints(1, round));
  }
}

TEST_P(RuntimeOrder, NoTasksAreDoneAtOnce) {
  ManyTasks none;
  none.inputs.resize(2);
  EXPECT_TRUE(
      runtime().is_done(runtime().submit_many(runtime().find("add"), none)));
}

TEST_P(RuntimeOrder, MemoryIsWaitedForByRange) {
  DeviceArray<std::int32_t> x(runtime(), 1000);
  runtime().submit("fill", {}, x.view(), {4});
  EXPECT_TRUE(runtime().wait_for_memory(x.data() + 999, 4, kDeadline));
  EXPECT_EQ(x.read(), Ints(1000, 4));
}

GPUOS_INSTANTIATE_CONTRACT(RuntimeOrder);

}  // namespace
}  // namespace gpuos
