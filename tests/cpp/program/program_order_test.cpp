// A reduction combines its columns in one order, in any tier and with any other
// operations: on the host always, on a GPU in a deterministic runtime.
#include "program_order_support.h"

namespace gpuos {
namespace {

class ProgramOrder : public OrderContract {};

GPUOS_INSTANTIATE_CONTRACT(ProgramOrder);

std::vector<Op> reductions(DType dtype) {
  if (is_complex(dtype)) return {Op::Sum, Op::Prod};
  return {Op::Sum, Op::Prod, Op::Max, Op::Min};
}

TEST_P(ProgramOrder, IsThatOfTheColumnsAloneForAReductionByItself) {
  for (const DType dtype : kReals)
    for (const Op op : reductions(dtype)) {
      const Program program = row_reduction(op, dtype);
      for (const std::uint32_t workers : {1, 2, 3, 0}) {
        const auto runtime = runtime_with(workers);
        for (const auto& [rows, columns] : kSizes) {
          const auto count = static_cast<std::size_t>(rows * columns);
          const Bytes x = numbers(dtype, count, op == Op::Prod);
          const Bytes result = wanted(op, dtype, x, rows, columns);
          for (const Lie& lie : lies(rows, columns)) {
            const Array array(*runtime, dtype, x, rows, columns, lie);
            ASSERT_EQ(difference(dtype,
                                 outputs_of(*runtime, program, {array.view})[0],
                                 result),
                      "")
                << name_of(dtype) << " " << info_of(op).name << " " << rows
                << " x " << columns << ", strides " << lie.row << ", "
                << lie.column << ", " << workers << " workers";
          }
        }
      }
    }
}

/// Some of each: compiling takes long.
std::vector<Op> few_reductions(DType dtype) {
  if (dtype == DType::Float32) return reductions(dtype);
  if (dtype == DType::BFloat16) return {Op::Sum, Op::Max};
  if (dtype == DType::Float64) return {Op::Sum, Op::Min};
  return {Op::Sum, Op::Prod};
}

// Every reduction together with others, with operands of other layouts, and
// with its result in use: interpreted and compiled.
TEST_P(ProgramOrder, IsTheSameForReductionsThatAreFusedCompiledAndUsed) {
  for (const DType dtype : kReals) {
    ProgramBuilder builder;
    const Value x = builder.input(dtype, 2);
    const Value one = builder.input(dtype, 2);   // ones, along columns
    const Value zero = builder.input(dtype, 2);  // zeros
    for (const Op op : few_reductions(dtype)) {
      builder.output(ProgramBuilder::reduce(op, x * one, {{1}}));
      builder.output(zero + ProgramBuilder::reduce(op, x, {{1}}, true));
    }
    const Program program = builder.build();
    for (const std::uint32_t workers : {1, 3}) {
      const auto runtime = runtime_with(workers);
      for (const bool is_compiled : {false, true}) {
        if (is_compiled && workers == 1) continue;
        if (is_compiled) {
          ASSERT_TRUE(runtime->compile(program, std::chrono::seconds(120)));
        }
        for (const auto& [rows, columns] : kSizes) {
          const auto count = static_cast<std::size_t>(rows * columns);
          const Bytes in = numbers(dtype, count, true);
          const Lie across{1, rows, 0, rows * columns};
          const Array zeros(*runtime, dtype, Bytes(in.size()), rows, columns,
                            across);
          Bytes ones(in.size());
          for (std::size_t i = 0; i < count; ++i) {
            if (dtype == DType::Complex64)
              put(ones, i, C64{1, 0});
            else if (dtype == DType::Complex128)
              put(ones, i, C128{1, 0});
            else
              put_real(ones, i, dtype, 1);
          }
          const Array other(*runtime, dtype, ones, rows, columns, across);
          for (const Lie& lie : lies(rows, columns)) {
            const Array array(*runtime, dtype, in, rows, columns, lie);
            const auto got = outputs_of(*runtime, program,
                                        {array.view, other.view, zeros.view});
            std::size_t output = 0;
            for (const Op op : few_reductions(dtype)) {
              const Bytes result = wanted(op, dtype, in, rows, columns);
              Bytes spread;
              for (std::size_t i = 0; i < count; ++i) {
                const auto at =
                    result.begin() +
                    static_cast<std::int64_t>(i / columns * size_of(dtype));
                spread.insert(spread.end(), at,
                              at + static_cast<std::int64_t>(size_of(dtype)));
              }
              const std::string where =
                  std::string(name_of(dtype)) + " " +
                  std::string(info_of(op).name) + " " + std::to_string(rows) +
                  " x " + std::to_string(columns) + ", strides " +
                  std::to_string(lie.row) + (is_compiled ? ", compiled" : "");
              ASSERT_EQ(difference(dtype, got[output++], result), "") << where;
              ASSERT_EQ(difference(dtype, got[output++], spread), "")
                  << where << ", used";
            }
          }
        }
      }
    }
  }
}

// The order also holds for a program that was called before.
TEST_P(ProgramOrder, IsThatOfARuntimeThatBecomesDeterministicLater) {
  const Program program = row_reduction(Op::Sum, DType::Float32);
  const std::int64_t rows = 3, columns = 20'000;
  const Bytes x = numbers(DType::Float32, rows * columns, false);
  const Lie lie = lies(rows, columns)[0];
  const Array array(runtime(), DType::Float32, x, rows, columns, lie);
  outputs_of(runtime(), program, {array.view});
  runtime().make_deterministic();
  EXPECT_EQ(difference(DType::Float32,
                       outputs_of(runtime(), program, {array.view})[0],
                       wanted(Op::Sum, DType::Float32, x, rows, columns)),
            "");
}

TEST_P(ProgramOrder, RowsOfNothingAreWhatAReductionBeginsWith) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 2);
  builder.output(ProgramBuilder::reduce(Op::Sum, x, {{1}}));
  builder.output(ProgramBuilder::reduce(Op::Prod, x, {{1}}));
  const Program program = builder.build();
  const auto runtime = runtime_with(2);
  for (const bool is_compiled : {false, true}) {
    if (is_compiled) {
      ASSERT_TRUE(runtime->compile(program, std::chrono::seconds(120)));
    }
    for (const Lie& lie : {Lie{0, 1, 0, 0}, Lie{1, 5, 0, 0}}) {
      const Array array(*runtime, DType::Float32, {}, 5, 0, lie);
      const auto got = outputs_of(*runtime, program, {array.view});
      EXPECT_EQ(as<float>(got[0]), std::vector<float>(5, 0.0f));
      EXPECT_EQ(as<float>(got[1]), std::vector<float>(5, 1.0f));
    }
  }
}

// More columns than all slices have at 64 for each lane: they take several.
TEST_P(ProgramOrder, IsThatOfTheColumnsAloneForRowsOfMillions) {
  const Program program = row_reduction(Op::Sum, DType::Float32);
  const std::int64_t rows = 2, columns = 2'200'001;
  const Bytes x = numbers(DType::Float32, rows * columns, false);
  const Bytes result = wanted(Op::Sum, DType::Float32, x, rows, columns);
  for (const std::uint32_t workers : {1, 0}) {
    const auto runtime = runtime_with(workers);
    for (const bool is_compiled : {false, true}) {
      if (is_compiled) {
        ASSERT_TRUE(runtime->compile(program, std::chrono::seconds(120)));
      }
      for (const Lie& lie : {lies(rows, columns)[0], lies(rows, columns)[1]}) {
        const Array array(*runtime, DType::Float32, x, rows, columns, lie);
        ASSERT_EQ(
            difference(DType::Float32,
                       outputs_of(*runtime, program, {array.view})[0], result),
            "")
            << workers << " workers, strides " << lie.row << ", " << lie.column
            << (is_compiled ? ", compiled" : "");
      }
    }
  }
}

// With this many live values, the interpreter has no space for all lanes of a
// row. The reduction is a separate pass.
TEST_P(ProgramOrder, IsTheSameForProgramsOfManyValues) {
  const Program program = sum_of_many_values();
  for (const std::uint32_t workers : {1, 3}) {
    const auto runtime = runtime_with(workers);
    for (const bool is_compiled : {false, true}) {
      if (is_compiled) {
        ASSERT_TRUE(runtime->compile(program, std::chrono::seconds(120)));
      }
      for (const auto& [rows, columns] : kSizes) {
        const auto count = static_cast<std::size_t>(rows * columns);
        const Bytes in = numbers(DType::Float64, count, false);
        const Lie lie = lies(rows, columns)[0];
        const Array array(*runtime, DType::Float64, in, rows, columns, lie);
        ASSERT_EQ(
            difference(DType::Float64,
                       outputs_of(*runtime, program, {array.view})[0],
                       wanted(Op::Sum, DType::Float64, in, rows, columns)),
            "")
            << rows << " x " << columns << ", " << workers << " workers"
            << (is_compiled ? ", compiled" : "");
      }
    }
  }
}

}  // namespace
}  // namespace gpuos
