// Every memory layout of a small array, with each loop over it: the
// interpreter's and compiled code's, of the host and of the device.
#include <gtest/gtest.h>

#include <random>

#include "layout_calls.h"
#include "program/interpreter/host_interpreter.h"
#include "walks.h"

namespace gpuos::worlds {
namespace {

constexpr program::Workers kHost{.count = 2, .lanes = 1};
constexpr program::Workers kDevice{.count = 4, .lanes = 32};

class ProgramWalks : public testing::TestWithParam<int> {
 protected:
  /// Four axes have very many cases, so only some are tested.
  static unsigned every() { return GetParam() < 4 ? 1 : 61; }

  template <typename F>
  static void expect_right_walk(const program::Workers& workers, F walk) {
    Calls calls(workers);
    std::size_t walked = 0;
    expect_right(calls, GetParam(), every(), walk_of(walked, walk));
    EXPECT_GT(walked, 0u);
  }
  /// Tests sums of two arrays with this number of axes and hundreds of
  /// elements.
  template <typename F>
  static void expect_right_large_walk(const program::Workers& workers, F walk) {
    const int rank = std::max(GetParam(), 1);
    Calls calls(workers);
    Arrays arrays;
    std::size_t walked = 0;
    std::mt19937 draw(25);
    for (int i = 0; i < 400; ++i) {
      const World world = large_world(rank, draw);
      EXPECT_TRUE(is_right(calls, world, arrays, walk_of(walked, walk)))
          << to_string(world);
      if (HasFailure()) return;
    }
    EXPECT_GT(walked, 0u);
  }

 private:
  /// The interpreter runs all other programs than sums of two and sums of rows.
  template <typename F>
  static Calls::RunTask walk_of(std::size_t& walked, F walk) {
    return [&walked, walk](const program::Pass& pass, const Task& task,
                           const Lane& lane) {
      const auto told = told_of(pass, task, lane);
      walked += told ? 1 : 0;
      if (told)
        walk(*told);
      else
        program::interpret(task, lane);
    };
  }
  static World large_world(int rank, std::mt19937& draw) {
    const auto below = [&](int end) {
      return static_cast<int>(draw() % static_cast<unsigned>(end));
    };
    const auto place = [&](int axes, const Numbers& sizes, int kinds) {
      const std::vector<Numbers> orders = orders_of(axes);
      Kinds kind{};
      for (int d = 0; d < axes; ++d) kind[d] = static_cast<Axis>(below(kinds));
      return place_of(axes, sizes, orders[draw() % orders.size()], kind);
    };
    const int most[] = {0, 2000, 60, 16, 8};
    Numbers sizes{};
    for (int d = 0; d < rank; ++d) sizes[d] = 1 + below(most[rank]);
    // Either several warps share a row, or there are enough rows for all warps.
    if (rank == 2 && below(2) == 0)
      sizes = below(2) == 0 ? Numbers{1 + below(5), 1 + below(1400)}
                            : Numbers{64 + below(40), 1 + below(70)};
    World world;
    world.form = {Kind::Add, rank};
    world.x = place(rank, sizes, 4);
    world.y = place(1, {sizes[rank - 1]}, 4);
    world.out = place(rank, out_sizes(world), 3);
    return world;
  }
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

TEST_P(ProgramWalks, OfLargerArraysAreIndexByIndex) {
  expect_right_large_walk(
      kHost, [](const WalkedTask& task) { walk_compiled_host(task, false); });
  expect_right_large_walk(
      kHost, [](const WalkedTask& task) { walk_compiled_host(task, true); });
  expect_right_large_walk(kDevice, walk_compiled_device);
  expect_right_large_walk(kDevice, walk_interpreted_device);
}

TEST_P(ProgramWalks, OfTheInterpreterOfTheDeviceAreIndexByIndex) {
  expect_right_walk(kDevice, walk_interpreted_device);
}

}  // namespace
}  // namespace gpuos::worlds
