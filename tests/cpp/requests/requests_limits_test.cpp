// Limits of a task of requests, and corner cases.
#include <chrono>
#include <cmath>

#include "request_contract.h"

namespace gpuos {
namespace {

GPUOS_INSTANTIATE_CONTRACT(RequestContract);

TEST_P(RequestContract, LargeGroupsAreCutWhereTheyFit) {
  // Each step reads one more array, so that 28 do not carry them all.
  auto& sum = make(0);
  for (int i = 0; i < 100; ++i)
    list_.add(Recipe::Add, whole(sum),
              {whole(sum), whole(make(static_cast<float>(i)))});
  run();
  EXPECT_GT(tasks(), 1u);
  EXPECT_LT(tasks(), 8u);
  expect_all(sum, 4950);
}

TEST_P(RequestContract, ValuesLiveAcrossACut) {
  auto& x = make(1);
  std::vector<DeviceArray<float>*> steps{&x};
  for (int i = 0; i < 600; ++i) {
    steps.push_back(&make(kPoison));
    list_.add(Recipe::Add, whole(*steps.back()),
              {whole(*steps[i]), whole(*steps[i / 2])}, kFresh);
    // Never more than 2^24, so float is exact.
    steps.push_back(&make(kPoison));
    list_.add(Recipe::Fmod, whole(*steps.back()),
              {whole(*steps[steps.size() - 2]), 1000.0}, kFresh);
  }
  Needs needs{.needed = {steps.back()->data()}};
  run(&needs);
  std::vector<float> expected{1};
  for (int i = 0; i < 600; ++i) {
    expected.push_back(expected[i] + expected[i / 2]);
    expected.push_back(std::fmod(expected.back(), 1000.0f));
  }
  expect_all(*steps.back(), expected.back());
  EXPECT_LT(tasks(), 150u);
}

TEST_P(RequestContract, NumbersAndAddressesMakeNoNewProgram) {
  for (int i = 1; i <= 5; ++i) {
    auto& x = make(1);
    auto& y = make(0);
    list_.add(Recipe::Multiply, whole(y), {whole(x), 1.5 * i}, kFresh);
    list_.add(Recipe::Absolute, whole(y), {whole(y)});
    run();
    expect_all(y, 1.5f * static_cast<float>(i));
  }
  EXPECT_EQ(runner_->stats().programs, 1u);
  EXPECT_EQ(runner_->stats().tasks, 5u);
  EXPECT_EQ(runner_->stats().runs, 5u);
  EXPECT_EQ(runner_->stats().requests, 10u);
}

TEST_P(RequestContract, FillsArraysOfEveryDType) {
  list_.add(Recipe::Copy, whole(make(0)), {2.5});
  const DeviceArray<std::int64_t> longs(runtime(), kSize, 1);
  list_.add(Recipe::Copy, {longs.view(), longs.data()}, {-3},
            {.compute = DType::Int64});
  const DeviceArray<std::uint8_t> bools(runtime(), kSize, 0);
  const TensorView view(bools.data(), kSize, DType::Bool);
  list_.add(Recipe::Copy, {view, bools.data()}, {1}, {.compute = DType::Int64});
  run();
  expect_all(*arrays_[0], 2.5);
  EXPECT_EQ(longs.read(), std::vector<std::int64_t>(kSize, -3));
  EXPECT_EQ(bools.read(), std::vector<std::uint8_t>(kSize, 1));
}

TEST_P(RequestContract, CompiledProgramsReadOldValuesToo) {
  runner_.reset();
  RuntimeOptions soon = options();
  soon.compile_programs_after = 1;
  restart(soon);
  runner_.emplace(runtime());
  auto& x = make(3);
  auto& y = make(5);
  auto& a = make(kPoison);
  auto& b = make(0);
  const auto end = std::chrono::steady_clock::now() + kDeadline;
  bool is_compiled = false;
  for (float old = 3; !is_compiled; old = 10) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "never compiled";
    is_compiled = runtime().stats().programs_compiled != 0;
    // The new x does not need the old one, which is read after it.
    list_.add(Recipe::Add, whole(a), {whole(x), 1.0}, kFresh);
    list_.add(Recipe::Multiply, whole(x), {whole(y), 2.0});
    list_.add(Recipe::Multiply, whole(b), {whole(a), 10.0}, kFresh);
    Needs needs{.needed = {b.data()}};
    run(&needs);
    expect_all(x, 10);
    expect_all(b, 10 * (old + 1));
    ASSERT_EQ(runtime().stats().programs_failed, 0u);
  }
}

TEST_P(RequestContract, EmptyOutputsAreSkipped) {
  auto& x = make(3);
  list_.add(Recipe::Add, part(x, 0, 0), {part(x, 0, 0), 1.0});
  run();
  EXPECT_EQ(tasks(), 0u);
  expect_all(x, 3);
}

TEST_P(RequestContract, RequestThatFailsLetsEarlierOnesRun) {
  auto& x = make(1);
  auto& y = make(2);
  list_.add(Recipe::Add, whole(x), {whole(x), 1.0});
  RequestOperand odd = whole(y);
  odd.view.data = reinterpret_cast<char*>(y.data()) + 1;
  list_.add(Recipe::Exp, whole(make(0)), {odd}, kFresh);
  EXPECT_THROW(run(), InvalidArgument);
  synchronize();
  expect_all(x, 2);
  EXPECT_EQ(tasks(), 1u);
  list_.clear();
  list_.add(Recipe::Add, whole(x), {whole(x), 1.0});
  run();
  expect_all(x, 3);
}

}  // namespace
}  // namespace gpuos
