// Tests how requests become tasks, on both backends.
#include <chrono>
#include <cmath>
#include <functional>
#include <string>

#include "request_contract.h"

namespace gpuos {
namespace {

GPUOS_INSTANTIATE_CONTRACT(RequestContract);

TEST_P(RequestContract, ChainIsOneTaskAndWritesNoDeadIntermediate) {
  const auto [x, a, b, c] = make_each(3, kPoison, kPoison, kPoison);
  list_.add(Function::Multiply, whole(a), {whole(x), 2.0}, kFresh);
  list_.add(Function::Add, whole(b), {whole(a), whole(x)}, kFresh);
  list_.add(Function::Subtract, whole(c), {whole(b), whole(a)}, kFresh);
  run_for({&c});
  EXPECT_EQ(tasks(), 1u);
  EXPECT_EQ(runner_->stats().unwritten, 2u);
  expect_all(a, kPoison);
  expect_all(b, kPoison);
  expect_all(c, 3);
}

TEST_P(RequestContract, NeededIntermediatesAreWritten) {
  const auto [x, y, a, b] = make_each(3, 5, kPoison, kPoison);
  list_.add(Function::Multiply, whole(a), {whole(x), 2.0}, kFresh);
  list_.add(Function::Add, whole(b), {whole(a), whole(y)}, kFresh);
  run_for({&a, &b});
  EXPECT_EQ(tasks(), 1u);
  EXPECT_EQ(runner_->stats().unwritten, 0u);
  expect_all(a, 6);
  expect_all(b, 11);
}

TEST_P(RequestContract, EachFreshOwnerIsAskedOnceWithItsUses) {
  const auto [x, a] = make_each(3, 0);
  list_.add(Function::Multiply, whole(a), {whole(x), 2.0}, kFresh);
  list_.add(Function::Multiply, whole(a), {whole(a), whole(a)});
  Needs needs{.needed = {a.data()}};
  run(&needs);
  EXPECT_EQ(needs.asked, std::vector<const void*>{a.data()});
  EXPECT_EQ(needs.uses, 4u);
  expect_all(a, 36);
}

TEST_P(RequestContract, UnneededResultsAreNoTasks) {
  const auto [x, a] = make_each(3, kPoison);
  list_.add(Function::Exp, whole(a), {whole(x)}, kFresh);
  run_for({});
  EXPECT_EQ(tasks(), 0u);
  EXPECT_EQ(runner_->stats().unwritten, 1u);
  expect_all(a, kPoison);
}

TEST_P(RequestContract, ViewsOfPendingResultsAreReadFromMemory) {
  const auto [x, a, b] = make_each(3, kPoison, kPoison);
  list_.add(Function::Multiply, whole(a), {whole(x), 2.0}, kFresh);
  list_.add(Function::Add, part(b, 0, 50), {part(a, 50, 50), 1.0}, kFresh);
  run_for({&b});
  EXPECT_EQ(tasks(), 2u);
  const auto values = b.read();
  EXPECT_EQ(values[0], 7);
  EXPECT_EQ(values[50], kPoison);
  expect_all(a, 6);
}

TEST_P(RequestContract, InterleavedChainsAreATaskEach) {
  const auto [x, y] = make_each(2, 3);
  for (int i = 0; i < 10; ++i) {
    list_.add(Function::Add, whole(x), {whole(x), 1.0});
    list_.add(Function::Add, whole(y), {whole(y), 2.0});
  }
  run();
  EXPECT_EQ(tasks(), 2u);
  expect_all(x, 12);
  expect_all(y, 23);
}

TEST_P(RequestContract, OptimizerStepIsOneTask) {
  const auto [p, g, m, v, d] = make_each(1, 2, 0, 0, kPoison);
  list_.add(Function::Multiply, whole(m), {whole(m), 0.5});
  list_.add(Function::AddScaled, whole(m), {whole(m), whole(g), 0.5});
  list_.add(Function::Multiply, whole(v), {whole(v), 0.75});
  list_.add(Function::Addcmul, whole(v), {whole(v), whole(g), whole(g), 0.25});
  list_.add(Function::Sqrt, whole(d), {whole(v)}, kFresh);
  list_.add(Function::Add, whole(d), {whole(d), 1.0});
  list_.add(Function::Addcdiv, whole(p), {whole(p), whole(m), whole(d), -2.0});
  run_for({});
  EXPECT_EQ(tasks(), 1u);
  expect_all(m, 1);
  expect_all(v, 1);
  expect_all(d, kPoison);
  expect_all(p, 0);
}

TEST_P(RequestContract, OutputEndsAGroupThatReadsItOtherwise) {
  const auto [x, a, b] = make_each(1, 0, 0);
  list_.add(Function::Add, matrix(a, 10, 10, 10, 1),
            {matrix(x, 10, 10, 10, 1), 1.0}, kFresh);
  list_.add(Function::Add, matrix(b, 10, 10, 10, 1),
            {matrix(a, 10, 10, 10, 1), matrix(x, 10, 10, 1, 10)}, kFresh);
  list_.add(Function::Multiply, matrix(x, 10, 10, 10, 1),
            {matrix(x, 10, 10, 10, 1), 5.0});
  run();
  EXPECT_EQ(tasks(), 2u);
  expect_all(a, 2);
  expect_all(b, 3);
  expect_all(x, 5);
}

TEST_P(RequestContract, BroadcastAndFlatRequestsShareATask) {
  const auto [x, bias, a, b] = make_each(1, 2, kPoison, 0);
  list_.add(Function::Add, matrix(a, 10, 10, 10, 1),
            {matrix(x, 10, 10, 10, 1), matrix(bias, 10, 10, 0, 1)}, kFresh);
  // Flat again: the same memory, another request.
  list_.add(Function::Relu, whole(b), {whole(a)}, kFresh);
  run_for({&b});
  EXPECT_EQ(tasks(), 1u);
  expect_all(a, kPoison);
  expect_all(b, 3);
}

TEST_P(RequestContract, FlatChainTakesTheShapeOfALaterRequest) {
  const auto [x, a, b, ramp] = make_each(1, kPoison, 0, 0);
  std::vector<float> values(kSize);
  for (std::size_t i = 0; i < kSize; ++i) values[i] = static_cast<float>(i);
  ramp.write(values);
  list_.add(Function::Multiply, whole(a), {whole(x), 2.0}, kFresh);
  list_.add(Function::Add, matrix(b, 10, 10, 10, 1),
            {matrix(a, 10, 10, 10, 1), matrix(ramp, 10, 10, 1, 10)}, kFresh);
  run_for({&b});
  EXPECT_EQ(tasks(), 1u);
  const auto result = b.read();
  for (std::size_t i = 0; i < kSize; ++i)
    ASSERT_EQ(result[i], 2 + static_cast<float>(i % 10 * 10 + i / 10));
}

TEST_P(RequestContract, OwnersThatOverlapRunOneByOne) {
  const auto [x, y] = make_each(1, 0);
  // The same memory under two names.
  const RequestOperand other(x.view(), x.data() + 1);
  list_.add(Function::Add, whole(y), {other, 1.0}, kFresh);
  list_.add(Function::Add, whole(x), {whole(x), 10.0});
  list_.add(Function::Add, whole(y), {whole(y), other});
  list_.add(Function::Multiply, other, {other, 2.0});
  list_.add(Function::Add, whole(y), {whole(y), whole(x)});
  run_for({});
  EXPECT_EQ(tasks(), 5u);
  expect_all(x, 22);
  expect_all(y, 2 + 11 + 22);
}

TEST_P(RequestContract, OutputsThatReadDifferentInputsComeOutOfOneTask) {
  const auto [x, y, z, a] = make_each(1, 2, 4, 0);
  // In place on an operand of the first, which is still needed.
  list_.add(Function::Add, whole(a), {whole(x), whole(y)}, kFresh);
  list_.add(Function::Multiply, whole(x), {whole(a), whole(z)});
  run();
  EXPECT_EQ(tasks(), 1u);
  expect_all(a, 3);
  expect_all(x, 12);
}

// ---- Limits of a task of requests, and corner cases.

TEST_P(RequestContract, LargeGroupsAreCutWhereTheyFit) {
  // Each step reads one more array, so that 28 do not carry them all.
  auto& sum = make(0);
  for (int i = 0; i < 100; ++i)
    list_.add(Function::Add, whole(sum),
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
    list_.add(Function::Add, whole(*steps.back()),
              {whole(*steps[i]), whole(*steps[i / 2])}, kFresh);
    // Never more than 2^24, so float is exact.
    steps.push_back(&make(kPoison));
    list_.add(Function::Fmod, whole(*steps.back()),
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
    const auto [x, y] = make_each(1, 0);
    list_.add(Function::Multiply, whole(y), {whole(x), 1.5 * i}, kFresh);
    list_.add(Function::Absolute, whole(y), {whole(y)});
    run();
    expect_all(y, 1.5f * static_cast<float>(i));
  }
  EXPECT_EQ(runner_->stats().programs, 1u);
  EXPECT_EQ(runner_->stats().tasks, 5u);
  EXPECT_EQ(runner_->stats().runs, 5u);
  EXPECT_EQ(runner_->stats().requests, 10u);
}

TEST_P(RequestContract, FillsArraysOfEveryDType) {
  list_.add(Function::Copy, whole(make(0)), {2.5});
  const DeviceArray<std::int64_t> longs(runtime(), kSize, 1);
  list_.add(Function::Copy, {longs.view(), longs.data()}, {-3},
            {.compute = DType::Int64});
  const DeviceArray<std::uint8_t> bools(runtime(), kSize, 0);
  const TensorView view(bools.data(), kSize, DType::Bool);
  list_.add(Function::Copy, {view, bools.data()}, {1},
            {.compute = DType::Int64});
  run();
  expect_all(*arrays_[0], 2.5);
  EXPECT_EQ(longs.read(), std::vector<std::int64_t>(kSize, -3));
  EXPECT_EQ(bools.read(), std::vector<std::uint8_t>(kSize, 1));
}

TEST_P(RequestContract, CompiledProgramsReadOldValuesToo) {
  runner_.reset();
  restart({.backend = GetParam(), .compile_programs_after = 1});
  runner_.emplace(runtime());
  const auto [x, y, a, b] = make_each(3, 5, kPoison, 0);
  const auto end = std::chrono::steady_clock::now() + kDeadline;
  bool is_compiled = false;
  for (float old = 3; !is_compiled; old = 10) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "never compiled";
    is_compiled = runtime().stats().programs_compiled != 0;
    // The new x does not need the old one, which is read after it.
    list_.add(Function::Add, whole(a), {whole(x), 1.0}, kFresh);
    list_.add(Function::Multiply, whole(x), {whole(y), 2.0});
    list_.add(Function::Multiply, whole(b), {whole(a), 10.0}, kFresh);
    run_for({&b});
    expect_all(a, kPoison);
    expect_all(x, 10);
    expect_all(b, 10 * (old + 1));
    ASSERT_EQ(runtime().stats().programs_failed, 0u);
  }
}

TEST_P(RequestContract, EmptyOutputsAreSkipped) {
  auto& x = make(3);
  list_.add(Function::Add, part(x, 0, 0), {part(x, 0, 0), 1.0});
  run();
  EXPECT_EQ(tasks(), 0u);
  expect_all(x, 3);
}

// ---- A request that is refused takes nothing else of its run along.

class RefusedRequest : public RequestContract {
 protected:
  struct Kind {
    std::string name;
    std::function<RequestOperand(RefusedRequest&)> out;
    std::function<RequestOperand(RefusedRequest&)> in;
  };

  // Returns a part of the array. An array is its own owner, if parts do not
  // have another.
  static RequestOperand place(const DeviceArray<float>& array,
                              std::size_t first, const void* owner) {
    RequestOperand operand = part(array, first, kSize - 2);
    operand.owner = owner;
    return operand;
  }
  static RequestOperand beside(RequestOperand operand) {
    operand.view.data = static_cast<char*>(operand.view.data) + 1;
    return operand;
  }

  static std::vector<Kind> kinds() {
    return {
        {"overlaps in its owner",
         [](RefusedRequest& at) { return place(*at.bad_, 1, at.bad_); },
         [](RefusedRequest& at) { return place(*at.bad_, 0, at.bad_); }},
        {"overlaps another owner",
         [](RefusedRequest& at) { return place(*at.bad_, 1, at.bad_); },
         [](RefusedRequest& at) { return place(*at.bad_, 0, &at); }},
        {"is not aligned",
         [](RefusedRequest& at) { return beside(place(*at.bad_, 1, at.bad_)); },
         [](RefusedRequest& at) { return place(*at.other_, 0, at.other_); }},
        {"reads what is not aligned",
         [](RefusedRequest& at) { return place(*at.bad_, 1, at.bad_); },
         [](RefusedRequest& at) {
           return beside(place(*at.other_, 0, at.other_));
         }},
    };
  }

  DeviceArray<float>* bad_ = nullptr;
  DeviceArray<float>* other_ = nullptr;
};

GPUOS_INSTANTIATE_CONTRACT(RefusedRequest);

// The refused request is alone or with a reader, before, between or after a
// chain and a write.
TEST_P(RefusedRequest, DropsItsOnlyReaders) {
  constexpr std::size_t kPlaces = 4;
  for (const Kind& kind : kinds())
    for (const Function function : {Function::Copy, Function::Exp})
      for (const bool has_chain : {false, true})
        for (const bool has_reader : {false, true})
          for (std::size_t at = 0; at < kPlaces; ++at) {
            SCOPED_TRACE(kind.name + ", " + std::to_string(at) +
                         (has_chain ? ", chain" : "") +
                         (has_reader ? ", reader" : ""));
            bad_ = &make(1);
            other_ = &make(1);
            const auto [written, sum, product, reader] =
                make_each(2, kPoison, kPoison, kPoison);
            for (std::size_t k = 0; k < kPlaces; ++k) {
              if (k == at) {
                list_.add(function, kind.out(*this), {kind.in(*this)});
                if (has_reader) {
                  // A chain that reads a part of another buffer.
                  RequestOperand read = part(*bad_, 0, kSize);
                  read.owner = bad_;
                  list_.add(Function::Add, whole(reader), {read, 1.0}, kFresh);
                  list_.add(Function::Multiply, whole(reader),
                            {whole(reader), 2.0});
                }
              }
              if (k == 0)
                list_.add(Function::Add, whole(written), {whole(written), 5.0});
              if (k == 1)
                list_.add(Function::Add, whole(sum), {whole(*other_), 1.0},
                          kFresh);
              if (k == 2)
                list_.add(Function::Multiply, whole(product),
                          {has_chain ? whole(sum) : whole(*other_), 3.0},
                          kFresh);
            }
            EXPECT_THROW(run(), InvalidArgument);
            expect_all(written, 7);
            expect_all(sum, 2);
            expect_all(product, has_chain ? 6 : 3);
            expect_all(reader, kPoison);
            expect_all(*bad_, 1);
            list_.clear();
            arrays_.clear();
          }
  // The next run is not affected.
  auto& x = make(1);
  list_.add(Function::Add, whole(x), {whole(x), 1.0});
  run();
  expect_all(x, 2);
}

}  // namespace
}  // namespace gpuos
