// Where the host cuts a loop of many operations, and that the pieces compute
// what the whole would.
#include <algorithm>

#include "contract.h"
#include "program/passes/loop_cuts.h"
#include "program/passes/source_text.h"

namespace gpuos {
namespace {

using program::LoopCuts;
using program::Pass;

LoopCuts cuts_of(const Program& program) {
  const Pass& pass = program.plan()->fused.passes[0];
  return cut_loop(pass, 1, std::vector<bool>(pass.steps.size(), false));
}

/// x + x + ..., and at the end the first sum again.
Program sums(int additions, bool with_first) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  const Value first = x + x;
  Value sum = first;
  for (int i = 1; i < additions; ++i) sum = sum + x;
  builder.output(with_first ? sum * first : sum);
  return builder.build();
}

TEST(LoopCuts, AShortLoopStaysWhole) {
  const LoopCuts cuts = cuts_of(sums(8, true));
  EXPECT_TRUE(cuts.before.empty());
  EXPECT_TRUE(cuts.arrays.empty());
}

TEST(LoopCuts, ALongLoopBecomesSeveralThatHandOverOneArray) {
  const LoopCuts cuts = cuts_of(sums(100, false));
  EXPECT_GE(cuts.before.size(), 3u);
  EXPECT_EQ(cuts.arrays.size(), 1u);
  for (const auto& [place, cut] : cuts.before) {
    EXPECT_EQ(cut.kept.size(), 1u) << place;
    EXPECT_EQ(cut.used.size(), 2u) << place;  // x and the sum
  }
}

TEST(LoopCuts, AValueKeepsItsArrayUntilItsLastUse) {
  const LoopCuts cuts = cuts_of(sums(100, true));
  ASSERT_EQ(cuts.arrays.size(), 2u);
  const std::uint32_t first = cuts.before.begin()->second.kept[0];
  const auto owners = std::ranges::count_if(cuts.array_of, [&](const auto& at) {
    return at.second == cuts.array_of.at(first);
  });
  EXPECT_EQ(owners, 1);
}

class ProgramCuts : public Contract {};
GPUOS_INSTANTIATE_CONTRACT(ProgramCuts);

constexpr int kTerms = 30;

std::uint32_t next_term(std::uint32_t term, std::uint32_t x) {
  return term * 3 + (x ^ term);
}

// Every term is needed at the end, and again in the loop after the reduction.
TEST_P(ProgramCuts, PiecesComputeWhatTheWholeWould) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::UInt32, 2);
  Value term = x;
  std::vector<Value> terms;
  for (int i = 0; i < kTerms; ++i) {
    term = term * 3 + (x ^ term);
    terms.push_back(term);
  }
  Value total = terms.back();
  for (int i = kTerms - 1; i-- > 0;) total = total * terms[i] + x;
  const Value most = ProgramBuilder::reduce(Op::Max, total, {{1}}, true);
  builder.output(total - most * terms[1]);
  const Program program = builder.build();
  ASSERT_TRUE(runtime().compile(program, kCompileDeadline));

  constexpr std::size_t kRows = 3, kColumns = 300;
  std::vector<std::uint32_t> from(kRows * kColumns);
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<std::uint32_t>(i * 2654435761u);
  const DeviceArray<std::uint32_t> in(runtime(), from),
      out(runtime(), from.size());
  const auto matrix = [](const DeviceArray<std::uint32_t>& array) {
    return shaped({array.data(), 1, DType::UInt32}, {kRows, kColumns});
  };
  runtime().submit(program, std::vector{matrix(in)}, std::vector{matrix(out)});
  const std::vector<std::uint32_t> got = out.read();
  for (std::size_t row = 0; row < kRows; ++row) {
    std::vector<std::uint32_t> totals(kColumns), seconds(kColumns);
    for (std::size_t k = 0; k < kColumns; ++k) {
      const std::uint32_t value = from[row * kColumns + k];
      std::uint32_t all[kTerms];
      for (int i = 0; i < kTerms; ++i)
        all[i] = next_term(i == 0 ? value : all[i - 1], value);
      totals[k] = all[kTerms - 1];
      for (int i = kTerms - 1; i-- > 0;) totals[k] = totals[k] * all[i] + value;
      seconds[k] = all[1];
    }
    const std::uint32_t greatest = *std::ranges::max_element(totals);
    for (std::size_t k = 0; k < kColumns; ++k)
      ASSERT_EQ(got[row * kColumns + k], totals[k] - greatest * seconds[k])
          << row << ", " << k;
  }
}

}  // namespace
}  // namespace gpuos
