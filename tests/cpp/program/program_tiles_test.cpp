// Compiled programs with matrices along columns and others along rows.
#include <numeric>

#include "contract.h"

namespace gpuos {
namespace {

class ProgramTiles : public Contract {
 protected:
  template <typename T>
  static TensorView matrix(DType dtype, const DeviceArray<T>& array,
                           std::int64_t rows, std::int64_t columns) {
    return shaped({array.data(), 1, dtype}, {rows, columns});
  }

  void run(const Program& program, const std::vector<TensorView>& inputs,
           const std::vector<TensorView>& outputs,
           const std::vector<Scalar>& scalars = {}) {
    ASSERT_TRUE(runtime().compile(program, kCompileDeadline));
    runtime().submit(program, inputs, outputs, scalars);
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
    run(program, inputs, outputs);
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

// A scalar, an input of one element, one row and one column are added.
TEST_P(ProgramTiles, TakeWhatIsSmaller) {
  constexpr std::int64_t kRows = 450, kColumns = 701;
  ProgramBuilder builder;
  const DType dtype = DType::Int32;
  const Value x = transpose(builder.input(dtype, 2));
  const Value one = builder.input(dtype, 0);
  const Value row = builder.input(dtype, 2);
  const Value column = builder.input(dtype, 2);
  builder.output(x * builder.scalar(dtype) + one - row + column * column);
  const Program program = builder.build();
  const auto count = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  std::vector<std::int32_t> a(count(kRows * kColumns)), b(count(kColumns)),
      c(count(kRows));
  std::iota(a.begin(), a.end(), 0);
  std::iota(b.begin(), b.end(), 1000);
  std::iota(c.begin(), c.end(), -17);
  const DeviceArray<std::int32_t> x_array(runtime(), a),
      one_array(runtime(), 1, 5), row_array(runtime(), b),
      column_array(runtime(), c), out(runtime(), a.size());
  const TensorView single = shaped(one_array.view(), {});
  const std::vector<TensorView> inputs{matrix(dtype, x_array, kColumns, kRows),
                                       single,
                                       matrix(dtype, row_array, 1, kColumns),
                                       matrix(dtype, column_array, kRows, 1)};
  const std::vector<TensorView> outputs{matrix(dtype, out, kRows, kColumns)};
  run(program, inputs, outputs, {3});
  const auto got = out.read();
  for (std::int64_t i = 0; i < kRows; ++i)
    for (std::int64_t k = 0; k < kColumns; ++k)
      ASSERT_EQ(got[count(i * kColumns + k)], a[count(k * kRows + i)] * 3 + 5 -
                                                  b[count(k)] +
                                                  c[count(i)] * c[count(i)])
          << i << ", " << k;
}

TEST_P(ProgramTiles, AreRightForLongPrograms) {
  constexpr std::size_t kRows = 450, kColumns = 701;
  ProgramBuilder builder;
  const DType dtype = DType::UInt32;
  const Value x = transpose(builder.input(dtype, 2));
  const Value y = builder.input(dtype, 2);
  Value value = x;
  for (int round = 0; round < 40; ++round) value = value * y + x;
  builder.output(value);
  const Program program = builder.build();
  std::vector<std::uint32_t> a(kRows * kColumns), b(kRows * kColumns);
  std::iota(a.begin(), a.end(), 7u);
  std::iota(b.begin(), b.end(), 13u);
  const DeviceArray<std::uint32_t> x_array(runtime(), a), y_array(runtime(), b),
      out(runtime(), a.size());
  const std::vector<TensorView> inputs{matrix(dtype, x_array, kColumns, kRows),
                                       matrix(dtype, y_array, kRows, kColumns)};
  const std::vector<TensorView> outputs{matrix(dtype, out, kRows, kColumns)};
  run(program, inputs, outputs);
  const auto got = out.read();
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t k = 0; k < kColumns; ++k) {
      const std::uint32_t turned = a[k * kRows + i];
      std::uint32_t expected = turned;
      for (int round = 0; round < 40; ++round)
        expected = expected * b[i * kColumns + k] + turned;
      ASSERT_EQ(got[i * kColumns + k], expected) << i << ", " << k;
    }
}

}  // namespace
}  // namespace gpuos
