#include "program/passes/text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "gpuos/program.h"
#include "program/graph/plan.h"

namespace gpuos::program {
namespace {

/// The instructions of the text of a program's only pass.
struct PassText {
  explicit PassText(const Program& program)
      : words(program.plan()->fused.passes[0].text),
        header(std::bit_cast<TextHeader>(words[0])),
        ends(words.begin() + 1, words.begin() + 1 + header.parts) {
    for (std::size_t i = 1u + header.parts; i < words.size(); ++i)
      instructions.push_back(std::bit_cast<Instruction>(words[i]));
  }

  const std::vector<std::uint64_t>& words;
  TextHeader header;
  std::vector<std::uint64_t> ends;
  std::vector<Instruction> instructions;
};

/// x * 2 + 1 with `operations` such pairs, for x of `rank` dimensions.
Program scaled(int rank, int operations = 1) {
  ProgramBuilder builder;
  Value x = builder.input(DType::Float32, rank);
  for (int i = 0; i < operations; ++i) {
    x = ProgramBuilder::apply(Op::Multiply, {x, builder.literal(2.0)});
    x = ProgramBuilder::apply(Op::Add, {x, builder.literal(1.0)});
  }
  builder.output(x);
  return builder.build();
}

bool reads_what_was_made(const Instruction& made, const Instruction& next) {
  return made.out != kLast && (next.a == made.out || next.b == made.out);
}

TEST(Text, SmallOperationsOfFloatsArePlain) {
  const Program program = scaled(1);
  EXPECT_NE(PassText(program).header.is_plain, 0);
}

TEST(Text, SmallFunctionsOfFloatsArePlain) {
  ProgramBuilder builder;
  Value x = builder.input(DType::Float32, 1);
  for (const Op op : {Op::Negative, Op::Absolute, Op::Square})
    x = ProgramBuilder::apply(op, {x});
  builder.output(x);
  const Program program = builder.build();
  EXPECT_NE(PassText(program).header.is_plain, 0);
}

TEST(Text, ManyInstructionsAreNot) {
  const Program program = scaled(1, 200);
  EXPECT_EQ(PassText(program).header.is_plain, 0);
}

// Everything except the store is the same for all elements, and there is one
// element.
TEST(Text, WhatStoresWhatTheRowEndedWithIsNot) {
  const Program program = scaled(0);
  const PassText text(program);
  EXPECT_EQ(text.header.is_plain, 0);
}

// The loops read the cells of an instruction while the previous one runs.
TEST(Text, NoInstructionReadsACellThatTheOneBeforeItWrote) {
  for (const int rank : {0, 1, 2}) {
    const Program program = scaled(rank, 5);
    const PassText text(program);
    std::uint64_t begin = 0;
    for (const std::uint64_t end : text.ends) {
      for (std::uint64_t i = begin + 1; i < end; ++i)
        EXPECT_FALSE(
            reads_what_was_made(text.instructions[i - 1], text.instructions[i]))
            << "rank " << rank << ", instruction " << i;
      if (text.header.is_plain == 0) begin = end;
    }
  }
}

}  // namespace
}  // namespace gpuos::program
