// Compiled programs of matrices that lie along columns beside others that lie
// along rows.
#include <chrono>
#include <numeric>

#include "contract.h"

namespace gpuos {
namespace {

class ProgramTiles : public Contract {
 protected:
  template <typename T>
  static TensorView matrix(DType dtype, const DeviceArray<T>& array,
                           std::int64_t rows, std::int64_t columns) {
    TensorView view;
    view.data = array.data();
    view.dtype = dtype;
    view.dims = 2;
    view.shape[0] = rows;
    view.shape[1] = columns;
    return view;
  }

  /// x.T + y and x.T - z.T, for `rows` by `columns` results.
  template <typename T>
  void check(DType dtype, std::int64_t rows, std::int64_t columns) {
    ProgramBuilder builder;
    const Value x = transpose(builder.input(dtype, 2));
    const Value y = builder.input(dtype, 2);
    const Value z = transpose(builder.input(dtype, 2));
    builder.output(x + y);
    builder.output(x - z);
    const Program program = builder.build();
    const auto count = static_cast<std::size_t>(rows * columns);
    std::vector<T> a(count), b(count), c(count);
    for (std::size_t i = 0; i < count; ++i) {
      a[i] = static_cast<T>(i % 61);
      b[i] = static_cast<T>(i % 7);
      c[i] = static_cast<T>(i % 59);
    }
    const DeviceArray<T> x_array(runtime(), a), y_array(runtime(), b),
        z_array(runtime(), c), sums(runtime(), count),
        differences(runtime(), count);
    const std::vector<TensorView> inputs{matrix(dtype, x_array, columns, rows),
                                         matrix(dtype, y_array, rows, columns),
                                         matrix(dtype, z_array, columns, rows)};
    const std::vector<TensorView> outputs{
        matrix(dtype, sums, rows, columns),
        matrix(dtype, differences, rows, columns)};
    ASSERT_TRUE(runtime().compile(program, std::chrono::seconds(120)));
    runtime().submit(program, inputs, outputs);
    const auto got_sums = sums.read();
    const auto got_differences = differences.read();
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t k = 0; k < columns; ++k) {
        const auto at = static_cast<std::size_t>(i * columns + k);
        const auto turned = static_cast<std::size_t>(k * rows + i);
        ASSERT_EQ(got_sums[at], static_cast<T>(a[turned] + b[at]))
            << i << ", " << k;
        ASSERT_EQ(got_differences[at], static_cast<T>(a[turned] - c[turned]))
            << i << ", " << k;
      }
  }
};
GPUOS_INSTANTIATE_CONTRACT(ProgramTiles);

TEST_P(ProgramTiles, AreRightForSmallAndLargeMatrices) {
  for (const std::int64_t rows : {33, 450, 1500})
    for (const std::int64_t columns : {32, 701, 1536})
      check<float>(DType::Float32, rows, columns);
}

TEST_P(ProgramTiles, AreRightForElementsOfEverySize) {
  check<std::int8_t>(DType::Int8, 1500, 1471);
  check<std::int16_t>(DType::Int16, 1500, 1471);
  check<double>(DType::Float64, 1500, 1471);
}

}  // namespace
}  // namespace gpuos
