// What is prepared for calls, and who waits for whom meanwhile.
#include "program/prepared_calls.h"

#include <optional>
#include <thread>
#include <vector>

#include "gpuos/error.h"
#include "gpuos/program.h"
#include "host_backend_driver.h"

namespace gpuos::program {
namespace {

Program sum_of(int values) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  Value y = x;
  for (int i = 1; i < values; ++i) y = ProgramBuilder::apply(Op::Add, {y, x});
  builder.output(y);
  return builder.build();
}

class PreparedCallsTest : public testing::Test {
 protected:
  struct Arrays {
    explicit Arrays(std::int64_t size)
        : data(static_cast<std::size_t>(2 * size)),
          in(data.data(), size, DType::Float32),
          out(data.data() + size, size, DType::Float32) {}
    CallViews views() const { return {{&in, 1}, {&out, 1}}; }

    std::vector<float> data;
    TensorView in;
    TensorView out;
  };

  bool is_ready(const Program& program, const Arrays& arrays) {
    const auto lock = calls_.lock();
    return calls_.find(program.plan(), arrays.views()) != nullptr;
  }
  void prepare(const Program& program, const Arrays& arrays) {
    const auto changing = calls_.changing();
    const PreparedCalls::Taken taken(calls_, program.plan(), arrays.views());
  }

  QuickMutex mutex_;
  host::HostBackend backend_{host::options(1), mutex_};
  PreparedCalls calls_{backend_,
                       [this](void* data) { backend_.deallocate(data); }};
  const Program program_ = sum_of(3);
};

TEST_F(PreparedCallsTest, AreReadyOnceTheyWerePrepared) {
  const Arrays arrays(100);
  EXPECT_FALSE(is_ready(program_, arrays));
  prepare(program_, arrays);
  EXPECT_TRUE(is_ready(program_, arrays));
}

// Whoever prepares one may wait for a driver; others must not.
TEST_F(PreparedCallsTest, OthersAreReadyWhileOneIsMade) {
  const Arrays known(100);
  prepare(program_, known);
  const Program other = sum_of(5);
  const Arrays unknown(50);
  const auto changing = calls_.changing();
  const PreparedCalls::Taken taken(calls_, other.plan(), unknown.views());
  bool was_ready = false;
  std::jthread([&] { was_ready = is_ready(program_, known); }).join();
  EXPECT_TRUE(was_ready);
}

TEST_F(PreparedCallsTest, WhatIsTakenIsNobodyElsesUntilItIsBack) {
  const Arrays arrays(100);
  prepare(program_, arrays);
  {
    const auto changing = calls_.changing();
    const PreparedCalls::Taken taken(calls_, program_.plan(), arrays.views());
    EXPECT_FALSE(is_ready(program_, arrays));
  }
  EXPECT_TRUE(is_ready(program_, arrays));
}

TEST_F(PreparedCallsTest, AnErrorLosesNothingThatWasReady) {
  const Arrays arrays(100);
  prepare(program_, arrays);
  TensorView nowhere = arrays.in;
  nowhere.data = nullptr;
  const CallViews wrong{{&nowhere, 1}, {&arrays.out, 1}};
  {
    const auto changing = calls_.changing();
    EXPECT_THROW(PreparedCalls::Taken(calls_, program_.plan(), wrong),
                 InvalidArgument);
  }
  EXPECT_TRUE(is_ready(program_, arrays));
}

TEST_F(PreparedCallsTest, ProgramsThatAreGoneAreForgotten) {
  const Arrays arrays(100);
  for (int i = 2; i < 40; ++i) prepare(sum_of(i), arrays);
  EXPECT_EQ(calls_.programs(), 0u);
  prepare(program_, arrays);
  EXPECT_EQ(calls_.programs(), 1u);
  EXPECT_TRUE(is_ready(program_, arrays));
}

}  // namespace
}  // namespace gpuos::program
