// Into how many tiles a pass is cut.
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "device/interpreter/text.h"
#include "gpuos/program.h"
#include "program/calls/task.h"

namespace gpuos::program {
namespace {

constexpr Workers kIdle{.count = 528, .lanes = 256, .load = Load::Idle};
constexpr Workers kBusy{.count = 528, .lanes = 256};
constexpr Workers kBacklog{.count = 528, .lanes = 256, .load = Load::Backlog};

Program row_sums() {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 2);
  builder.output(ProgramBuilder::reduce(Op::Sum, x, {{1}}));
  return builder.build();
}

Program sum_of(int operations) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  Value y = x;
  for (int i = 0; i < operations; ++i)
    y = ProgramBuilder::apply(Op::Add, {x, y});
  builder.output(y);
  return builder.build();
}

Split split(const Program& program, std::uint64_t rows, std::uint64_t columns,
            const Workers& workers) {
  const Pass& pass = program.plan()->fused.passes[0];
  Layout layout;
  layout.rows = rows;
  layout.columns = columns;
  return split_of(pass, layout, workers);
}

// Otherwise a deterministic device would have no space for all lanes of a row.
TEST(ProgramSplit, LargeIntermediatesAreNotReducedInTheSamePass) {
  for (const int values : {4, 60}) {
    ProgramBuilder builder;
    std::vector<Value> all{builder.input(DType::Float32, 2)};
    for (int i = 1; i < values; ++i)
      all.push_back(ProgramBuilder::apply(Op::Add, {all.back(), all[0]}));
    Value last = all.back();
    while (!all.empty()) {
      last = ProgramBuilder::apply(Op::Maximum, {all.back(), last});
      all.pop_back();
    }
    builder.output(ProgramBuilder::reduce(Op::Sum, last, {{1}}));
    const Program program = builder.build();
    const Schedule& schedule = program.plan()->split;
    EXPECT_EQ(program.plan()->fused.passes.size(), 1u);
    EXPECT_EQ(schedule.passes.size(), values == 4 ? 1u : 2u);
    const Pass& pass = schedule.passes.back();
    EXPECT_TRUE(pass.has_reduction);
    EXPECT_LE(std::bit_cast<TextHeader>(pass.text[0]).cells, 32u);
  }
}

TEST(ProgramSplit, IdleWorkersShareOneCall) {
  EXPECT_EQ(split(sum_of(1), 1, 4096, kIdle).tiles, 16u);
  EXPECT_EQ(split(sum_of(1), 1, 65536, kIdle).tiles, 48u);
  // Four rows each.
  EXPECT_EQ(split(row_sums(), 128, 1024, kIdle).tiles, 32u);
}

TEST(ProgramSplit, IdleWorkersTakeFewRowsEachIfTheyGoThroughThemAgain) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 2);
  const Value low = ProgramBuilder::reduce(Op::Min, x, {{1}}, true);
  builder.output(ProgramBuilder::apply(Op::Subtract, {x, low}));
  const Program program = builder.build();
  ASSERT_EQ(program.plan()->fused.passes[0].loops(), 2u);
  EXPECT_EQ(split(program, 128, 1024, kIdle).tiles, 128u);
  EXPECT_EQ(split(program, 128, 1024, kBusy).tiles, 32u);
}

TEST(ProgramSplit, BusyWorkersGetTilesThatAreWorthIt) {
  EXPECT_EQ(split(row_sums(), 128, 1024, kBusy).tiles, 32u);
  EXPECT_EQ(split(sum_of(1), 1, 65536, kBusy).tiles, 16u);
  EXPECT_EQ(split(sum_of(1), 1, 1000, kBusy).tiles, 1u);
}

TEST(ProgramSplit, ManyOperationsMakeSmallTilesWorthIt) {
  EXPECT_EQ(split(sum_of(140), 1, 4096, kBusy).tiles, 4u);
  // A few elements more are not worth one.
  EXPECT_EQ(split(sum_of(140), 1, 4500, kBusy).tiles, 4u);
  EXPECT_EQ(split(sum_of(140), 1, 4700, kBusy).tiles, 5u);
}

TEST(ProgramSplit, SeveralWorkersOfTheHostShareLongPrograms) {
  constexpr Workers kHost{.count = 8};
  EXPECT_EQ(split(sum_of(140), 1, 1024, kHost).tiles, 4u);
  EXPECT_EQ(split(sum_of(140), 1, 128, kHost).tiles, 1u);
  // Not by chunks that are not full.
  EXPECT_EQ(split(sum_of(1000), 1, 200, kHost).tiles, 2u);
  EXPECT_EQ(split(sum_of(1), 1, 16384, kHost).tiles, 1u);
  EXPECT_EQ(split(sum_of(140), 1, 1024, {.count = 2}).tiles, 1u);
}

TEST(ProgramSplit, WorkersWithABacklogGetFewerTilesOfElements) {
  EXPECT_EQ(split(sum_of(140), 1, 4096, kBacklog).tiles, 2u);
  EXPECT_EQ(split(sum_of(140), 1, 1000, kBacklog).tiles, 1u);
  // The cuts of a reduction decide its last bits.
  EXPECT_EQ(split(row_sums(), 128, 1024, kBacklog).tiles, 32u);
}

TEST(ProgramSplit, LargeArraysAreForAllWorkers) {
  EXPECT_EQ(split(row_sums(), 1 << 14, 1024, kBusy).tiles, 528u);
  EXPECT_EQ(split(sum_of(1), 1, 1 << 24, kBusy).tiles, 528u);
}

}  // namespace
}  // namespace gpuos::program
