// Every way in which a small array can lie in memory, by each walk through it:
// the interpreter's and compiled code's, of the host and of the device.
#include <gtest/gtest.h>

#include "layout_calls.h"
#include "program/host_interpreter.h"
#include "walks.h"

namespace gpuos::worlds {
namespace {

constexpr program::Workers kHost{.count = 2, .lanes = 1};
constexpr program::Workers kDevice{.count = 4, .lanes = 32};

class ProgramWalks : public testing::TestWithParam<int> {
 protected:
  /// Of four axes there are very many.
  static unsigned every() { return GetParam() < 4 ? 1 : 61; }

  /// What is neither a sum of two nor of rows the interpreter runs.
  template <typename F>
  static void expect_right_walk(const program::Workers& workers, F walk) {
    Calls calls(workers);
    std::size_t walked = 0;
    expect_right(
        calls, GetParam(), every(),
        [&](const program::Pass& pass, const Task& task, const Lane& lane) {
          const auto told = told_of(pass, task, lane);
          walked += told ? 1 : 0;
          if (told)
            walk(*told);
          else
            program::interpret(task, lane);
        });
    EXPECT_GT(walked, 0u);
  }

 private:
  static std::optional<WalkedTask> told_of(const program::Pass& pass,
                                           const Task& task, const Lane& lane) {
    const bool adds = !pass.has_reduction;
    bool centers = false;
    for (const program::Step& step : pass.steps) {
      if (step.op == Op::Argmax) return {};
      centers = centers || step.op == Op::Subtract;
    }
    if (pass.accesses.size() != (adds ? 3 : 2)) return {};
    return WalkedTask{.args = task.args,
                      .count = task.count,
                      .tile = lane.number,
                      .tiles = lane.total,
                      .kind = adds      ? WalkedTask::Add
                              : centers ? WalkedTask::Center
                                        : WalkedTask::Sum};
  }
};
INSTANTIATE_TEST_SUITE_P(Axes, ProgramWalks, testing::Range(0, 5));

TEST_P(ProgramWalks, OfTheInterpreterAreIndexByIndex) {
  Calls calls(kHost);
  expect_right(calls, GetParam(), every(),
               [](const program::Pass&, const Task& task, const Lane& lane) {
                 program::interpret(task, lane);
               });
}

TEST_P(ProgramWalks, OfCompiledCodeAlongColumnsAreIndexByIndex) {
  expect_right_walk(
      kHost, [](const WalkedTask& task) { walk_compiled_host(task, false); });
}

TEST_P(ProgramWalks, OfCompiledCodeAlongRowsAreIndexByIndex) {
  expect_right_walk(
      kHost, [](const WalkedTask& task) { walk_compiled_host(task, true); });
}

TEST_P(ProgramWalks, OfCompiledCodeOfTheDeviceAreIndexByIndex) {
  expect_right_walk(kDevice, walk_compiled_device);
}

TEST_P(ProgramWalks, OfTheInterpreterOfTheDeviceAreIndexByIndex) {
  expect_right_walk(kDevice, walk_interpreted_device);
}

}  // namespace
}  // namespace gpuos::worlds
