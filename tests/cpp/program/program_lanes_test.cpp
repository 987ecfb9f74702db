// Reductions where not all lanes of a worker can take part.
#include <numeric>

#include "contract.h"

namespace gpuos {
namespace {

class ProgramLanes : public Contract {};
GPUOS_INSTANTIATE_CONTRACT(ProgramLanes);

TEST_P(ProgramLanes, ReducesWithManyCellsAndOddWorkers) {
  RuntimeOptions wanted = options();
  wanted.threads_per_worker = 96;
  wanted.compile_programs_after = 0;
  restart(wanted);
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float64, 2);
  std::vector<Value> values{x};
  for (int i = 0; i < 60; ++i)
    values.push_back(
        ProgramBuilder::apply(Op::Add, {values.back(), builder.literal(1.0)}));
  Value total = values.front();
  for (std::size_t i = 1; i < values.size(); ++i)
    total = ProgramBuilder::apply(Op::Subtract, {values[i], total});
  builder.output(ProgramBuilder::reduce(Op::Sum, total, {{1}}));
  const Program program = builder.build();
  const std::int64_t rows = 5, columns = 700;
  std::vector<double> a(static_cast<std::size_t>(rows * columns));
  std::iota(a.begin(), a.end(), 0.0);
  const DeviceArray<double> x_array(runtime(), a);
  const DeviceArray<double> sums(runtime(), rows);
  TensorView view(x_array.data(), rows);
  view.dims = 2;
  view.shape[1] = columns;
  const std::vector<TensorView> inputs{view}, outputs{sums.view()};
  runtime().submit(program, inputs, outputs);
  const auto result = sums.read();
  for (std::int64_t i = 0; i < rows; ++i) {
    double expected = 0;
    for (std::int64_t k = 0; k < columns; ++k)
      expected += a[static_cast<std::size_t>(i * columns + k)] + 30;
    ASSERT_EQ(result[static_cast<std::size_t>(i)], expected);
  }
}

}  // namespace
}  // namespace gpuos
