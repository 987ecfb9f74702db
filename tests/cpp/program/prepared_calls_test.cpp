// Prepared calls, and which threads wait meanwhile.
#include "program/calls/prepared_calls.h"

#include <array>
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

Program another(int number, int operations = 5) {
  constexpr std::array kOps{Op::Add, Op::Subtract, Op::Multiply, Op::Maximum};
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  Value y = x;
  for (int i = 0; i < operations; ++i) {
    y = ProgramBuilder::apply(kOps[static_cast<std::size_t>(number % 4)],
                              {y, x});
    number /= 4;
  }
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
  PreparedCalls calls_{
      backend_, [this](void* data) { backend_.deallocate(data); },
      [this](const Tier&) { ++unloaded_; }, [this] { return compiled_; }};
  int unloaded_ = 0;
  std::uint64_t compiled_ = 0;
  const Program program_ = sum_of(3);
};

TEST_F(PreparedCallsTest, AreReadyOnceTheyWerePrepared) {
  const Arrays arrays(100);
  EXPECT_FALSE(is_ready(program_, arrays));
  prepare(program_, arrays);
  EXPECT_TRUE(is_ready(program_, arrays));
}

// A thread that prepares a call may wait for a driver. Others must not.
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

TEST_F(PreparedCallsTest, TakenCallsAreExclusiveUntilTheyAreReturned) {
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

// The operator table has limited space, also with existing interpreted
// programs.
TEST_F(PreparedCallsTest, CodeOfProgramsThatAreGoneIsUnloaded) {
  constexpr int kMany = 1000;
  const auto compile = [this](const Program& program) {
    for (PassCode* code : calls_.codes_of(program.plan())) {
      code->tier->state.store(Tier::State::Compiled);
      ++compiled_;
    }
  };
  std::vector<Program> others;
  for (int i = 0; i < 1500; ++i)
    calls_.codes_of(others.emplace_back(another(i, 6)).plan());
  compile(program_);
  for (int i = 0; i < kMany; ++i) {
    compile(another(i));
    ASSERT_LE(i - unloaded_, static_cast<int>(abi::kSlots) / 2) << i;
  }
  EXPECT_GT(unloaded_, 0);
  const int before = unloaded_;
  compile(program_);  // is still there
  EXPECT_EQ(unloaded_, before);
}

}  // namespace
}  // namespace gpuos::program
