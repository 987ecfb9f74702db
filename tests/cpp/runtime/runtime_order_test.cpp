#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

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
  ManyTasks many = many_of(kTasks, 0);
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
  ManyTasks many = many_of(kTasks, kSize);
  many.out = out.column(kSize);
  many.params = {7};
  const Ticket ticket = runtime().submit_many(runtime().find("fill"), many);
  ASSERT_TRUE(runtime().wait(ticket, kDeadline));
  EXPECT_EQ(out.read(), Ints(kTasks * kSize, 7));
}

TEST_P(RuntimeOrder, ManyTasksAreOrderedAsOneTask) {
  constexpr std::size_t kTasks = 2000, kSize = 8;
  // The tasks do not fit at once.
  restart({.backend = GetParam(), .queue_capacity = 512});
  Ints start(kTasks * kSize);
  std::iota(start.begin(), start.end(), 0);
  DeviceArray<std::int32_t> x(runtime(), start);
  DeviceArray<std::int32_t> last(runtime(), 1), one(runtime(), kSize, 1);
  const Operator add = runtime().find("add");
  ManyTasks many = many_of(kTasks, kSize);
  many.out = x.column(kSize);
  many.inputs = {x.column(kSize), one.column(0)};
  for (int round = 1; round <= 20; ++round) {
    runtime().submit_many(add, many);
    runtime().submit("copy", {x.view(x.size() - 1, 1)}, last.view());
    runtime().submit("fill", {}, one.view(), {1});
    if (round % 5 == 0) {
      ASSERT_EQ(last.read(), Ints(1, start.back() + round));
    }
  }
  for (std::int32_t& value : start) value += 20;
  EXPECT_EQ(x.read(), start);
}

TEST_P(RuntimeOrder, ATaskAfterManyTasksWaitsForTheSlowest) {
  constexpr std::size_t kLarge = 1 << 23, kSmall = 40;
  // Each small task is a batch of its own.
  restart({.backend = GetParam(), .queue_capacity = 64});
  DeviceArray<std::int32_t> x(runtime(), kLarge + kSmall);
  DeviceArray<std::int32_t> last(runtime(), 1);
  std::vector<std::int64_t> sizes(1 + kSmall, 1);
  sizes[0] = kLarge;
  std::vector<std::uint64_t> to{reinterpret_cast<std::uint64_t>(x.data())};
  for (std::size_t i = 0; i < kSmall; ++i)
    to.push_back(reinterpret_cast<std::uint64_t>(x.data() + kLarge + i));
  ManyTasks many = many_of(sizes.size(), 0);
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
