// Requests that run as built-in operators.
#include "gpuos/error.h"
#include "request_contract.h"

namespace gpuos {
namespace {

class DirectRequests : public RequestContract {
 protected:
  void use(const RuntimeOptions& options) {
    runner_.reset();
    restart(options);
    runner_.emplace(runtime());
  }
  // Adds a + b, a - b, a * b and so on in turn. None meets another.
  void add_all(std::size_t count) {
    constexpr Function kFunctions[] = {Function::Add, Function::Subtract,
                                       Function::Multiply, Function::Divide,
                                       Function::Copy};
    const auto [a, b] = make_each(6, 2);
    for (std::size_t i = 0; i < count; ++i) {
      const Function function = kFunctions[i % 5];
      auto& out = make(kPoison);
      if (function == Function::Copy && i % 2 == 0)
        list_.add(function, whole(out), {static_cast<double>(i)}, kFresh);
      else if (function == Function::Copy)
        list_.add(function, whole(out), {whole(a)}, kFresh);
      else
        list_.add(function, whole(out), {whole(a), whole(b)}, kFresh);
    }
  }
  void expect_all_of(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const float copied = i % 2 == 0 ? static_cast<float>(i) : 6;
      const float expected[] = {8, 4, 12, 3, copied};
      expect_all(*arrays_[2 + i], expected[i % 5]);
    }
  }
};
GPUOS_INSTANTIATE_CONTRACT(DirectRequests);

TEST_P(DirectRequests, IndependentOnesAreQueuedInFewPieces) {
  constexpr std::size_t kCount = 500;
  add_all(kCount);
  run();
  EXPECT_EQ(tasks(), kCount);
  EXPECT_EQ(runtime().stats().tasks_ordered, 0u);
  EXPECT_LT(runtime().stats().batches_submitted, kCount / 10);
  expect_all_of(kCount);
}

TEST_P(DirectRequests, OfOneLevelComeAsOneBurst) {
  use({.backend = GetParam(), .residency = Residency::Burst});
  add_all(60);
  const std::uint64_t before = runtime().stats().bursts;
  run();
  EXPECT_LE(runtime().stats().bursts, before + 1);
  expect_all_of(60);
}

TEST_P(DirectRequests, FitIntoASmallQueue) {
  use({.backend = GetParam(), .queue_capacity = 64});
  add_all(300);
  run();
  expect_all_of(300);
}

TEST_P(DirectRequests, WaitForTheirInputs) {
  const Operator busy = define_busy();
  const auto [slow, one] = make_each(0, 1);
  runtime().submit(busy, {}, slow.view(0, 1), {busy_rounds()});
  for (int i = 0; i < 20; ++i)
    list_.add(Function::Add, whole(make(0)), {whole(slow), whole(one)}, kFresh);
  run();
  const float first = slow.read()[0];
  EXPECT_GT(first, 1);
  for (int i = 0; i < 20; ++i) {
    const auto values = arrays_[2 + i]->read();
    ASSERT_EQ(values[0], first + 1);
    ASSERT_EQ(values[1], 1);
  }
}

TEST_P(DirectRequests, LaterLevelsSeeWritesOfEarlierOnes) {
  constexpr std::size_t kCount = 40;
  auto& one = make(1);
  for (std::size_t i = 0; i < kCount; ++i) {
    auto& out = make(0);
    // Halves of one owner make no chain of one shape.
    for (const std::size_t half : {0, 50})
      list_.add(Function::Add, part(out, half, 50),
                {part(one, half, 50), part(one, half, 50)});
    list_.add(Function::Multiply, whole(make(0)), {whole(out), whole(out)},
              kFresh);
  }
  run();
  EXPECT_EQ(tasks(), 3 * kCount);
  for (std::size_t i = 0; i < kCount; ++i) expect_all(*arrays_[2 + 2 * i], 4);
}

TEST_P(DirectRequests, LargeOnesAreCutTogetherWithSmallOnes) {
  constexpr std::size_t kMany = 300'000;
  const DeviceArray<float> large(runtime(), kMany, 3);
  const DeviceArray<float> sum(runtime(), kMany, 0);
  add_all(10);
  list_.add(Function::Add, whole(sum), {whole(large), whole(large)}, kFresh);
  auto& last = make(0);
  list_.add(Function::Subtract, whole(last),
            {whole(*arrays_[0]), whole(*arrays_[1])}, kFresh);
  run();
  expect_all_of(10);
  expect_all(sum, 6);
  expect_all(last, 4);
}

}  // namespace
}  // namespace gpuos
