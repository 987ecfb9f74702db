// Tests the order of additions for large rows and large programs.
#include "program_order_support.h"

namespace gpuos {
namespace {

class ProgramLongOrder : public OrderContract {};

GPUOS_INSTANTIATE_CONTRACT(ProgramLongOrder);

// More columns than all slices have at 64 for each lane: they take several.
TEST_P(ProgramLongOrder, IsThatOfTheColumnsAloneForRowsOfMillions) {
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
        ASSERT_EQ(difference(DType::Float32,
                             call(*runtime, program, {array.view})[0], result),
                  "")
            << workers << " workers, strides " << lie.row << ", " << lie.column
            << (is_compiled ? ", compiled" : "");
      }
    }
  }
}

// With this many live values, the interpreter has no space for all lanes of a
// row. The reduction is a separate pass.
TEST_P(ProgramLongOrder, IsTheSameForProgramsOfManyValues) {
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
            difference(DType::Float64, call(*runtime, program, {array.view})[0],
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
