// How requests become tasks, on both backends.
#include "request_contract.h"

namespace gpuos {
namespace {

GPUOS_INSTANTIATE_CONTRACT(RequestContract);

TEST_P(RequestContract, ChainIsOneTaskAndWritesNoDeadIntermediate) {
  auto& x = make(3);
  auto& a = make(kPoison);
  auto& b = make(kPoison);
  auto& c = make(kPoison);
  list_.add(Recipe::Multiply, whole(a), {whole(x), 2.0}, kFresh);
  list_.add(Recipe::Add, whole(b), {whole(a), whole(x)}, kFresh);
  list_.add(Recipe::Subtract, whole(c), {whole(b), whole(a)}, kFresh);
  Needs needs{.needed = {c.data()}};
  run(&needs);
  EXPECT_EQ(tasks(), 1u);
  EXPECT_EQ(runner_->stats().unwritten, 2u);
  expect_all(a, kPoison);
  expect_all(b, kPoison);
  expect_all(c, 3);
}

TEST_P(RequestContract, NeededIntermediatesAreWritten) {
  auto& x = make(3);
  auto& y = make(5);
  auto& a = make(kPoison);
  auto& b = make(kPoison);
  list_.add(Recipe::Multiply, whole(a), {whole(x), 2.0}, kFresh);
  list_.add(Recipe::Add, whole(b), {whole(a), whole(y)}, kFresh);
  Needs needs{.needed = {a.data(), b.data()}};
  run(&needs);
  EXPECT_EQ(tasks(), 1u);
  EXPECT_EQ(runner_->stats().unwritten, 0u);
  expect_all(a, 6);
  expect_all(b, 11);
}

TEST_P(RequestContract, EachFreshOwnerIsAskedOnceWithItsUses) {
  auto& x = make(3);
  auto& a = make(0);
  list_.add(Recipe::Multiply, whole(a), {whole(x), 2.0}, kFresh);
  list_.add(Recipe::Multiply, whole(a), {whole(a), whole(a)});
  Needs needs{.needed = {a.data()}};
  run(&needs);
  EXPECT_EQ(needs.asked, std::vector<const void*>{a.data()});
  EXPECT_EQ(needs.uses, 4u);
  expect_all(a, 36);
}

TEST_P(RequestContract, WhatNobodyNeedsIsNoTask) {
  auto& x = make(3);
  auto& a = make(kPoison);
  list_.add(Recipe::Exp, whole(a), {whole(x)}, kFresh);
  Needs needs;
  run(&needs);
  EXPECT_EQ(tasks(), 0u);
  EXPECT_EQ(runner_->stats().unwritten, 1u);
  expect_all(a, kPoison);
}

TEST_P(RequestContract, InPlaceChainIsOneTask) {
  auto& x = make(3);
  list_.add(Recipe::Add, whole(x), {whole(x), 1.0});
  list_.add(Recipe::Multiply, whole(x), {whole(x), 10.0});
  list_.add(Recipe::Subtract, whole(x), {whole(x), 1.0});
  run();
  EXPECT_EQ(tasks(), 1u);
  expect_all(x, 39);
}

TEST_P(RequestContract, WriteAfterReadSeesTheOldValue) {
  auto& x = make(3);
  auto& y = make(5);
  auto& a = make(0);
  list_.add(Recipe::Multiply, whole(a), {whole(x), whole(y)}, kFresh);
  list_.add(Recipe::Add, whole(x), {whole(x), 100.0});
  list_.add(Recipe::Add, whole(a), {whole(a), whole(x)});
  run();
  expect_all(x, 103);
  expect_all(a, 118);
}

TEST_P(RequestContract, OldValueIsReadBeforeAnOutputTakesItsPlace) {
  auto& x = make(3);
  auto& y = make(5);
  auto& a = make(kPoison);
  auto& b = make(0);
  list_.add(Recipe::Add, whole(a), {whole(x), 1.0}, kFresh);
  list_.add(Recipe::Multiply, whole(x), {whole(y), 2.0});
  list_.add(Recipe::Multiply, whole(b), {whole(a), 10.0}, kFresh);
  Needs needs{.needed = {b.data()}};
  run(&needs);
  EXPECT_EQ(tasks(), 1u);
  expect_all(a, kPoison);
  expect_all(x, 10);
  expect_all(b, 40);
}

TEST_P(RequestContract, ViewsOfPendingResultsAreReadFromMemory) {
  auto& x = make(3);
  auto& a = make(kPoison);
  auto& b = make(kPoison);
  list_.add(Recipe::Multiply, whole(a), {whole(x), 2.0}, kFresh);
  list_.add(Recipe::Add, part(b, 0, 50), {part(a, 50, 50), 1.0}, kFresh);
  Needs needs{.needed = {b.data()}};
  run(&needs);
  EXPECT_EQ(tasks(), 2u);
  const auto values = b.read();
  EXPECT_EQ(values[0], 7);
  EXPECT_EQ(values[50], kPoison);
  expect_all(a, 6);
}

TEST_P(RequestContract, PartlyOverwrittenResultsAreWritten) {
  auto& x = make(3);
  auto& a = make(kPoison);
  auto& b = make(kPoison);
  list_.add(Recipe::Multiply, whole(a), {whole(x), 2.0}, kFresh);
  list_.add(Recipe::Multiply, part(a, 0, 50), {part(a, 0, 50), 2.0});
  list_.add(Recipe::Copy, whole(b), {whole(a)}, kFresh);
  Needs needs{.needed = {b.data()}};
  run(&needs);
  const auto values = b.read();
  EXPECT_EQ(values[0], 12);
  EXPECT_EQ(values[99], 6);
}

TEST_P(RequestContract, InterleavedChainsAreATaskEach) {
  auto& x = make(2);
  auto& y = make(3);
  for (int i = 0; i < 10; ++i) {
    list_.add(Recipe::Add, whole(x), {whole(x), 1.0});
    list_.add(Recipe::Add, whole(y), {whole(y), 2.0});
  }
  run();
  EXPECT_EQ(tasks(), 2u);
  expect_all(x, 12);
  expect_all(y, 23);
}

TEST_P(RequestContract, IndependentRequestsAreATaskEach) {
  auto& x = make(2);
  for (int i = 0; i < 10; ++i)
    list_.add(Recipe::Add, whole(make(0)), {whole(x), whole(x)}, kFresh);
  run();
  EXPECT_EQ(tasks(), 10u);
  for (int i = 0; i < 10; ++i) expect_all(*arrays_[1 + i], 4);
}

TEST_P(RequestContract, ChainsThatMeetAreOneTask) {
  auto& x = make(4);
  auto& a = make(kPoison);
  auto& b = make(kPoison);
  auto& c = make(kPoison);
  list_.add(Recipe::Multiply, whole(a), {whole(x), 0.5}, kFresh);
  list_.add(Recipe::Sqrt, whole(b), {whole(x)}, kFresh);
  list_.add(Recipe::Add, whole(c), {whole(a), whole(b)}, kFresh);
  Needs needs{.needed = {c.data()}};
  run(&needs);
  EXPECT_EQ(tasks(), 1u);
  expect_all(a, kPoison);
  expect_all(c, 4);
}

TEST_P(RequestContract, OptimizerStepIsOneTask) {
  auto& p = make(1);
  auto& g = make(2);
  auto& m = make(0);
  auto& v = make(0);
  auto& d = make(kPoison);
  list_.add(Recipe::Multiply, whole(m), {whole(m), 0.5});
  list_.add(Recipe::AddScaled, whole(m), {whole(m), whole(g), 0.5});
  list_.add(Recipe::Multiply, whole(v), {whole(v), 0.75});
  list_.add(Recipe::Addcmul, whole(v), {whole(v), whole(g), whole(g), 0.25});
  list_.add(Recipe::Sqrt, whole(d), {whole(v)}, kFresh);
  list_.add(Recipe::Add, whole(d), {whole(d), 1.0});
  list_.add(Recipe::Addcdiv, whole(p), {whole(p), whole(m), whole(d), -2.0});
  Needs needs;
  run(&needs);
  EXPECT_EQ(tasks(), 1u);
  expect_all(m, 1);
  expect_all(v, 1);
  expect_all(d, kPoison);
  expect_all(p, 0);
}

TEST_P(RequestContract, ManyReadersThenAWriteKeepTheirOrder) {
  auto& x = make(1);
  auto& a = make(0);
  auto& b = make(0);
  list_.add(Recipe::Add, whole(a), {whole(x), 1.0}, kFresh);
  list_.add(Recipe::Add, whole(b), {whole(x), 2.0}, kFresh);
  list_.add(Recipe::Add, whole(x), {whole(x), 10.0});
  list_.add(Recipe::Add, whole(a), {whole(a), whole(b)});
  list_.add(Recipe::Add, whole(a), {whole(a), whole(x)});
  run();
  expect_all(x, 11);
  expect_all(b, 3);
  expect_all(a, 16);
}

TEST_P(RequestContract, OutputEndsAGroupThatReadsItOtherwise) {
  auto& x = make(1);
  auto& a = make(0);
  auto& b = make(0);
  list_.add(Recipe::Add, matrix(a, 10, 10, 10, 1),
            {matrix(x, 10, 10, 10, 1), 1.0}, kFresh);
  list_.add(Recipe::Add, matrix(b, 10, 10, 10, 1),
            {matrix(a, 10, 10, 10, 1), matrix(x, 10, 10, 1, 10)}, kFresh);
  list_.add(Recipe::Multiply, matrix(x, 10, 10, 10, 1),
            {matrix(x, 10, 10, 10, 1), 5.0});
  run();
  EXPECT_EQ(tasks(), 2u);
  expect_all(a, 2);
  expect_all(b, 3);
  expect_all(x, 5);
}

TEST_P(RequestContract, BroadcastAndFlatRequestsShareATask) {
  auto& x = make(1);
  auto& bias = make(2);
  auto& a = make(kPoison);
  auto& b = make(0);
  list_.add(Recipe::Add, matrix(a, 10, 10, 10, 1),
            {matrix(x, 10, 10, 10, 1), matrix(bias, 10, 10, 0, 1)}, kFresh);
  // Flat again: the same memory, another request.
  list_.add(Recipe::Relu, whole(b), {whole(a)}, kFresh);
  Needs needs{.needed = {b.data()}};
  run(&needs);
  EXPECT_EQ(tasks(), 1u);
  expect_all(a, kPoison);
  expect_all(b, 3);
}

TEST_P(RequestContract, FlatChainTakesTheShapeOfALaterRequest) {
  auto& x = make(1);
  auto& a = make(kPoison);
  auto& b = make(0);
  auto& ramp = make(0);
  std::vector<float> values(kSize);
  for (std::size_t i = 0; i < kSize; ++i) values[i] = static_cast<float>(i);
  ramp.write(values);
  list_.add(Recipe::Multiply, whole(a), {whole(x), 2.0}, kFresh);
  list_.add(Recipe::Add, matrix(b, 10, 10, 10, 1),
            {matrix(a, 10, 10, 10, 1), matrix(ramp, 10, 10, 1, 10)}, kFresh);
  Needs needs{.needed = {b.data()}};
  run(&needs);
  EXPECT_EQ(tasks(), 1u);
  const auto result = b.read();
  for (std::size_t i = 0; i < kSize; ++i)
    ASSERT_EQ(result[i], 2 + static_cast<float>(i % 10 * 10 + i / 10));
}

TEST_P(RequestContract, TransposedResultsAreNotTakenForTheResult) {
  auto& a = make(0);
  auto& b = make(0);
  auto& ramp = make(0);
  std::vector<float> values(kSize);
  for (std::size_t i = 0; i < kSize; ++i) values[i] = static_cast<float>(i);
  ramp.write(values);
  list_.add(Recipe::Multiply, matrix(a, 10, 10, 10, 1),
            {matrix(ramp, 10, 10, 10, 1), 2.0}, kFresh);
  list_.add(Recipe::Add, matrix(b, 10, 10, 10, 1),
            {matrix(a, 10, 10, 1, 10), matrix(a, 10, 10, 10, 1)}, kFresh);
  run();
  const auto result = b.read();
  for (std::size_t i = 0; i < kSize; ++i)
    ASSERT_EQ(result[i], 2 * static_cast<float>(i + i % 10 * 10 + i / 10));
}

TEST_P(RequestContract, OwnersThatOverlapRunOneByOne) {
  auto& x = make(1);
  auto& y = make(0);
  // The same memory under two names.
  const RequestOperand other(x.view(), x.data() + 1);
  list_.add(Recipe::Add, whole(y), {other, 1.0}, kFresh);
  list_.add(Recipe::Add, whole(x), {whole(x), 10.0});
  list_.add(Recipe::Add, whole(y), {whole(y), other});
  list_.add(Recipe::Multiply, other, {other, 2.0});
  list_.add(Recipe::Add, whole(y), {whole(y), whole(x)});
  Needs needs;
  run(&needs);
  EXPECT_EQ(tasks(), 5u);
  expect_all(x, 22);
  expect_all(y, 2 + 11 + 22);
}

TEST_P(RequestContract, OutputsThatReadDifferentInputsComeOutOfOneTask) {
  auto& x = make(1);
  auto& y = make(2);
  auto& z = make(4);
  auto& a = make(0);
  // In place on an operand of the first, which is still needed.
  list_.add(Recipe::Add, whole(a), {whole(x), whole(y)}, kFresh);
  list_.add(Recipe::Multiply, whole(x), {whole(a), whole(z)});
  run();
  EXPECT_EQ(tasks(), 1u);
  expect_all(a, 3);
  expect_all(x, 12);
}

}  // namespace
}  // namespace gpuos
